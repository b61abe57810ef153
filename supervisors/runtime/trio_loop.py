"""What a node needs of an event loop, on trio."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any

from supervisors.runtime.loop import Task


class _TrioTask:
    def __init__(self, scope: Any) -> None:
        self._scope = scope

    def cancel(self) -> None:
        self._scope.cancel()


_FAREWELL = 1.0
"""Seconds the tasks of a node get to end once they were cancelled."""


class TrioLoop:
    """The trio loop that runs in this thread.

    The tasks live in a nursery in a system task, so no cancel scope of whoever opened the node, and
    none of the node, reaches the other.
    """

    backend = "trio"

    @classmethod
    async def open(cls) -> TrioLoop:
        """Open the nursery and wait for it."""
        import trio  # noqa: PLC0415  # an optional dependency

        opened: list[Any] = []
        ready, closed = trio.Event(), trio.Event()

        async def hold() -> None:
            try:
                async with trio.open_nursery() as nursery:
                    opened.append(nursery)
                    ready.set()
                    await trio.sleep_forever()
            finally:
                closed.set()

        trio.lowlevel.spawn_system_task(hold, name="supervisors nursery")
        await ready.wait()
        return cls(opened[0], closed)

    async def close(self) -> None:
        """End the nursery and wait for its end."""
        self._nursery.cancel_scope.cancel()
        with self._trio.move_on_after(_FAREWELL):  # what swallows cancellation is left behind
            await self._closed.wait()

    def __init__(self, nursery: Any, closed: Any) -> None:
        import trio  # noqa: PLC0415  # an optional dependency

        self._trio = trio
        self.cancelled: tuple[type[BaseException], ...] = (trio.Cancelled,)
        self._token = trio.lowlevel.current_trio_token()
        self._nursery = nursery
        self._closed = closed
        self._alarm_at: float | None = None
        self._alarm_callback: Callable[[], object] = lambda: None
        self._alarm_scope: Any = None
        self._scopes: set[Any] = set()
        self.now = time.monotonic
        nursery.start_soon(self._ring, name="supervisors timers")

    def soon(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the next turn."""
        self._token.run_sync_soon(callback)

    def soon_from_thread(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the next turn; RuntimeError if the loop is over."""
        try:
            self._token.run_sync_soon(callback)
        except self._trio.RunFinishedError as error:
            raise RuntimeError("the trio loop is over") from error

    def alarm(self, when: float | None, callback: Callable[[], object]) -> None:
        """Call *callback* at the moment *when*, in place of what was set before."""
        if when is not None and self._alarm_at is not None and self._alarm_at <= when:
            return  # it rings too early, finds nothing due and sets the next: less than a change
        self._alarm_at = when
        self._alarm_callback = callback
        if self._alarm_scope is not None:
            self._alarm_scope.cancel()

    async def _ring(self) -> None:
        while True:
            with self._trio.CancelScope() as self._alarm_scope:
                when = self._alarm_at
                if when is None:
                    await self._trio.sleep_forever()
                await self._trio.sleep(max(0.0, when - self.now()))
                self._alarm_at = None
                self._alarm_callback()

    def spawn(self, coroutine: Coroutine[Any, Any, object], name: str) -> Task:
        """Run *coroutine* as a task, in a cancel scope of its own."""
        scope = self._trio.CancelScope()
        self._scopes.add(scope)

        async def run() -> None:
            try:
                with scope:
                    await coroutine
            finally:
                self._scopes.discard(scope)

        self._nursery.start_soon(run, name=name)
        return _TrioTask(scope)

    def is_over(self) -> bool:
        """Whether the run ended, and the system tasks with it."""
        return bool(self._closed.is_set())

    def current_task(self) -> Any:
        """The task that runs right now; None outside of tasks."""
        try:
            return self._trio.lowlevel.current_task()
        except RuntimeError:
            return None

    def cancel_all(self) -> int:
        """Cancel every task spawned here that still runs; says how many there were."""
        scopes = list(self._scopes)
        for scope in scopes:
            scope.cancel()
        return len(scopes)
