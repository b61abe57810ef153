"""Calls of functions, plain or async, one after another, where they are carried out.

A flow is a generator that yields what to call and is sent what came of it. While every function is
plain, no event loop is needed; from the first async one on there is an awaitable.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")

Step: TypeAlias = Callable[[], Any]
"""Calls a function, which may return an awaitable."""

Flow: TypeAlias = Generator[Step, Any, T]
"""Yields steps, is sent what each came to or thrown what it raised, and returns the result."""

CLEANUP_TIMEOUT: Final = 5.0
"""Seconds each step may take that a flow still wants after it was cancelled."""


class Rest(Generic[T]):
    """The rest of a flow, from its first awaitable on; it is awaited once, or closed."""

    __slots__ = ("_flow", "_value")

    def __init__(self, flow: Flow[T], value: Any) -> None:
        self._flow = flow
        self._value = value

    def __await__(self) -> Generator[Any, Any, T]:
        return _wait(self._flow, self._value).__await__()

    def close(self) -> None:
        """Let it be, as nobody waits for it."""
        close = getattr(self._value, "close", None)
        if close is not None:
            close()
        _abandon(self._flow)


def carry_out(flow: Flow[T]) -> T | Rest[T]:
    """Carry *flow* out here: its result, or the rest of it, which is to be awaited."""
    done, value = _carry_on(flow, flow.send, None)
    return value if done else Rest(flow, value)


def _carry_on(flow: Flow[Any], go: Callable[[Any], Step], value: Any) -> tuple[bool, Any]:
    """Take steps to the end, which is the result, or to the first awaitable."""
    while True:
        try:
            step = go(value)
        except StopIteration as end:
            return True, end.value
        try:
            go, value = flow.send, step()
        except BaseException as error:  # noqa: BLE001  # the flow decides what follows
            go, value = flow.throw, error
        if inspect.isawaitable(value):
            return False, value


async def _wait(flow: Flow[T], value: Any) -> T:
    done, cancelled = False, False
    while not done:
        go: Callable[[Any], Step] = flow.send
        try:
            value = await (_shielded(value) if cancelled else value)
        except GeneratorExit:
            _abandon(flow)
            raise
        except BaseException as error:  # noqa: BLE001  # the flow decides what follows
            go, value = flow.throw, error
            cancelled = cancelled or not isinstance(error, Exception)
        done, value = _carry_on(flow, go, value)
    return value  # type: ignore[no-any-return]  # what the flow returned


async def _shielded(value: Awaitable[Any]) -> Any:
    """Wait though the task is cancelled, but not for long."""
    import anyio  # noqa: PLC0415  # costs as much as all that most calls need

    with anyio.move_on_after(CLEANUP_TIMEOUT, shield=True):
        return await value
    return None


def _abandon(flow: Flow[Any]) -> None:
    """End a flow whose event loop is gone: what it still wants cannot be waited for."""
    try:
        flow.close()
    except RuntimeError:
        return
