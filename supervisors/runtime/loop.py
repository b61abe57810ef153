"""The few things the kernel needs of an event loop, whichever that is.

Knows callbacks, one alarm and tasks; knows nothing of actors. Callbacks and tasks given to a loop
must not raise: their makers catch everything.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Task(Protocol):
    """A running task that can be told to stop at its next checkpoint."""

    def cancel(self) -> object:
        """Tell it to stop."""


class Loop(Protocol):
    """What a node asks of its event loop."""

    backend: str
    cancelled: tuple[type[BaseException], ...]

    def now(self) -> float:
        """The time its alarm goes by."""
        ...

    def soon(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the next turn; only in the loop's own thread."""

    def soon_from_thread(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the next turn; from any thread.

        Raises:
            RuntimeError: The loop is over.
        """

    def alarm(self, when: float | None, callback: Callable[[], object]) -> None:
        """Call *callback* at the moment *when*, in place of what was set before; None sets none."""

    def spawn(self, coroutine: Coroutine[Any, Any, object], name: str) -> Task:
        """Run *coroutine* as a task."""
        ...

    def current_task(self) -> Any:
        """The task that runs right now; None outside of tasks."""

    def cancel_all(self) -> int:
        """Cancel every task spawned here that still runs; says how many there were."""
        ...

    def is_over(self) -> bool:
        """Whether the loop was closed, so that nothing runs on it any more."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""


def any_current_task() -> Any:
    """The task that runs in this thread right now, on whatever loop; None outside of tasks."""
    if asyncio._get_running_loop() is not None:  # noqa: SLF001  # current_task() raises without a loop
        return asyncio.current_task()
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return trio.lowlevel.current_task()
        except RuntimeError:
            return None
    return None


def running_backend() -> str | None:
    """Which loop runs in this thread: "asyncio", "trio", or None."""
    if asyncio._get_running_loop() is not None:  # noqa: SLF001  # get_running_loop() raises without one
        return "asyncio"
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return "trio"
    return None
