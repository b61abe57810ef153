"""What a node needs of an event loop, on asyncio or uvloop."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable, Coroutine
from typing import Any

from supervisors.runtime.loop import Task


class AsyncioLoop:
    """The loop that runs in this thread, asyncio's own or uvloop's."""

    backend = "asyncio"
    cancelled: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._context = contextvars.Context()
        self.now = time.monotonic

    def soon(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the next turn."""
        self._loop.call_soon(callback, context=self._context)

    def soon_from_thread(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the next turn; RuntimeError if the loop is over."""
        self._loop.call_soon_threadsafe(callback, context=self._context)

    def alarm(self, when: float | None, callback: Callable[[], object]) -> None:
        """Call *callback* at the moment *when*, in place of what was set before."""
        if when is not None and self._alarm_at is not None and self._alarm_at <= when:
            return  # it rings too early, finds nothing due and sets the next: less than a change
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._alarm_at = when
        if when is not None:

            def ring() -> None:
                self._alarm = self._alarm_at = None
                callback()

            delay = max(0.0, when - self.now())
            self._alarm = self._loop.call_later(delay, ring, context=self._context)

    def spawn(self, coroutine: Coroutine[Any, Any, object], name: str) -> Task:
        """Run *coroutine* as a task, in a context of its own."""
        task = self._loop.create_task(coroutine, name=name, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def current_task(self) -> Any:
        """The task that runs right now."""
        return asyncio.current_task()

    def cancel_all(self) -> int:
        """Cancel every task spawned here that still runs; says how many there were."""
        tasks = [task for task in self._tasks if not task.done()]
        for task in tasks:
            task.cancel()
        return len(tasks)

    def is_over(self) -> bool:
        """Whether the loop was closed."""
        return self._loop.is_closed()

    async def close(self) -> None:
        """Let go of the alarm."""
        self.alarm(None, lambda: None)
        self._tasks.clear()
