"""The few things a node needs of an event loop, for asyncio and for trio.

Knows callbacks, one alarm and tasks; knows nothing of actors. Callbacks and tasks given to it must
not raise: their makers catch everything.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

_get_ident = threading.get_ident


class Task(Protocol):
    """A running task that can be told to stop at its next checkpoint."""

    def cancel(self) -> object: ...


class Loop(Protocol):
    """What a node asks of its event loop."""

    backend: str
    cancelled: tuple[type[BaseException], ...]

    def now(self) -> float: ...

    def soon(self, callback: Callable[[], object]) -> None: ...

    def soon_from_thread(self, callback: Callable[[], object]) -> None: ...

    def alarm(self, when: float | None, callback: Callable[[], object]) -> None: ...

    def spawn(self, coroutine: Coroutine[Any, Any, object], name: str) -> Task: ...

    def current_task(self) -> Any: ...

    def cancel_all(self) -> int: ...

    async def close(self) -> None: ...


class AsyncioLoop:
    """The loop that runs in this thread, asyncio's own or uvloop's."""

    backend = "asyncio"
    cancelled = (asyncio.CancelledError,)

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._context = contextvars.Context()
        self.now = time.monotonic

    def soon(self, callback: Callable[[], object]) -> None:
        self._loop.call_soon(callback, context=self._context)

    def soon_from_thread(self, callback: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(callback, context=self._context)

    def alarm(self, when: float | None, callback: Callable[[], object]) -> None:
        if when == self._alarm_at:
            return
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
        task = self._loop.create_task(coroutine, name=name, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def current_task(self) -> Any:
        return asyncio.current_task()

    def cancel_all(self) -> int:
        """Cancel every task spawned here that still runs; says how many there were."""
        tasks = [task for task in self._tasks if not task.done()]
        for task in tasks:
            task.cancel()
        return len(tasks)

    async def close(self) -> None:
        """Let go of the alarm."""
        self.alarm(None, lambda: None)


class _TrioTask:
    def __init__(self, scope: Any) -> None:
        self._scope = scope

    def cancel(self) -> None:
        self._scope.cancel()


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
        self._token.run_sync_soon(callback)

    def soon_from_thread(self, callback: Callable[[], object]) -> None:
        try:
            self._token.run_sync_soon(callback)
        except self._trio.RunFinishedError as error:
            raise RuntimeError("the trio loop is over") from error

    def alarm(self, when: float | None, callback: Callable[[], object]) -> None:
        if when == self._alarm_at:
            return
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

    def current_task(self) -> Any:
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
    """ "asyncio" or "trio" if that loop runs in this thread, else None."""
    if asyncio._get_running_loop() is not None:  # noqa: SLF001  # get_running_loop() raises without one
        return "asyncio"
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return "trio"
    return None
