"""A pykka future that can be awaited on any event loop and waited for in any thread.

Knows how to wake who waits; knows nothing of actors. A node that is to produce the value is asked
for two things only: whether this thread is its loop, and to run what is ready before a task is
suspended, which answers most calls within one loop without a single trip through the loop.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import pykka

from supervisors.words.errors import WouldBlock

if TYPE_CHECKING:
    from types import TracebackType

_log = logging.getLogger("supervisors.future")

T = TypeVar("T")
M = TypeVar("M")
J = TypeVar("J")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)

_PENDING, _VALUE, _FAILED = 0, 1, 2
_get_running_loop = asyncio._get_running_loop  # noqa: SLF001  # the public one raises, at twice the cost
_get_ident = threading.get_ident
# One lock for all futures: it is held for a few bytecodes, and a lock each would cost more memory
# than the rest of the future.
_lock = threading.Lock()


class Home(Protocol):
    """What a future needs of the node that will produce its value."""

    thread_id: int | None

    def run_ready_inline(self) -> None:
        """Run what is ready now."""


class _Source(Protocol[T_co]):
    """A future of a list is one of an iterable too, where its value is only read."""

    def get(self, *, timeout: float | None = None) -> T_co:
        """Wait for the value."""
        ...


class Future(pykka.Future[T]):
    """A value that is there now or later.

    `await future` in async code (asyncio or trio, any loop); `future.get(timeout=...)` in a thread.
    """

    __slots__ = ("_callbacks", "_get_hook", "_home", "_state", "_value")

    _get_hook: Any
    _how_to_wait = "value = await future"
    _home: Home | None
    _state: int
    _value: Any
    _callbacks: list[Callable[[Any], object]] | None

    def __init__(self, home: Home | None = None) -> None:
        self._state = _PENDING
        self._callbacks = None
        self._get_hook = None
        self._home = home

    def __repr__(self) -> str:
        state = ("pending", "done", "failed")[self._state]
        return f"<{type(self).__name__} {state}>"

    # ---- producing

    def set(self, value: T | None = None) -> None:
        """Set the value.

        Raises:
            queue.Full: A value, an exception or a get hook is set already.
        """
        if not self.try_set(value):
            raise queue.Full

    def set_exception(
        self,
        exc_info: BaseException
        | tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
        | None = None,
    ) -> None:
        """Set an exception: one, or what `sys.exc_info()` gave; without it, the one being handled.

        Raises:
            queue.Full: A value, an exception or a get hook is set already.
        """
        if isinstance(exc_info, BaseException):
            exception: BaseException = exc_info
        else:
            kind, value, traceback = exc_info if exc_info is not None else sys.exc_info()
            if value is None:
                value = kind() if kind is not None else RuntimeError("no exception was given")
            exception = (
                value if value.__traceback__ is traceback else value.with_traceback(traceback)
            )
        if not self.try_fail(exception):
            raise queue.Full

    def try_set(self, value: Any) -> bool:
        """Set the value unless there is one; says whether it did."""
        return self._settle(_VALUE, value)

    def try_fail(self, exception: BaseException) -> bool:
        """Set an exception unless there is a value; says whether it did."""
        return self._settle(_FAILED, (exception, exception.__traceback__))

    def _settle(self, state: int, value: Any) -> bool:
        with _lock:
            if self._state or self._get_hook is not None:
                return False
            self._value = value
            self._state = state
            callbacks = self._callbacks
            self._callbacks = None
        if callbacks is not None:
            for callback in callbacks:
                try:
                    callback(self)
                except Exception:  # noqa: BLE001  # the other callbacks still have to know
                    _log.exception("a callback of %r failed", self)
        return True

    def set_get_hook(self, func: Callable[[float | None], T]) -> None:
        """Let *func* produce the value when it is asked for, as in pykka.

        Raises:
            queue.Full: A value or an exception is set already.
        """
        with _lock:
            if self._state:
                raise queue.Full
            self._get_hook = func

    # ---- consuming

    def done(self) -> bool:
        """True once there is a value or an exception."""
        return self._state != _PENDING

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Call `callback(future)` when it is done, where it is set; at once if it is done."""
        with _lock:
            if not self._state:
                if self._callbacks is None:
                    self._callbacks = [callback]
                else:
                    self._callbacks.append(callback)
                return
        callback(self)

    def remove_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Forget *callback*; nothing happens if it is not there."""
        with _lock:
            if self._callbacks is not None and callback in self._callbacks:
                self._callbacks.remove(callback)

    def get(self, *, timeout: float | None = None) -> T:
        """Wait in this thread for the value, at most *timeout* seconds.

        Raises:
            pykka.Timeout: It took longer than *timeout*.
            WouldBlock: This thread is the event loop that has to produce the value.
            Exception: What the future failed with.
        """
        if self._state == _PENDING:
            if self._get_hook is not None:
                return self._from_hook(timeout)
            self._wait(timeout)
        return self._result()

    def exception(self) -> BaseException | None:
        """The exception it failed with; None if it has a value, or is not done."""
        return self._value[0] if self._state == _FAILED else None

    def _result(self) -> T:
        if self._state == _VALUE:
            value: T = self._value
            return value
        exception, traceback = self._value
        if exception.__traceback__ is not traceback:
            raise exception.with_traceback(traceback)
        raise exception

    def _from_hook(self, timeout: float | None) -> T:
        value = self._get_hook(timeout)
        with _lock:
            if not self._state:
                self._value = value
                self._state = _VALUE
        return self._result()

    def _wait(self, timeout: float | None) -> None:
        home = self._home
        if home is not None and home.thread_id == _get_ident():
            raise WouldBlock(self._how_to_wait)
        gate = threading.Lock()
        gate.acquire()

        def open_gate(_future: Any) -> None:
            gate.release()

        self.add_done_callback(open_gate)
        if not gate.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            self.remove_done_callback(open_gate)
            if not self._state:
                self._expired(timeout)

    def _expired(self, timeout: float | None) -> None:
        raise pykka.Timeout(f"{timeout} seconds")

    def _withdrawn(self) -> None:
        """Called when the task that awaited the value was cancelled."""

    def __await__(self) -> Generator[Any, Any, T]:
        if not self._state:
            if self._get_hook is not None:
                return (yield from self._hook_in_thread())
            home = self._home
            if home is not None and home.thread_id == _get_ident():
                home.run_ready_inline()
            while not self._state:
                yield from self._suspend()
        return self._result()

    __iter__ = __await__

    def _suspend(self) -> Generator[Any, Any, None]:
        loop = _get_running_loop()
        if loop is None:
            return (yield from self._suspend_on_trio())
        waiter: asyncio.Future[None] = loop.create_future()
        thread_id = _get_ident()

        def wake(_future: Any) -> None:
            try:
                if thread_id == _get_ident():
                    _release(waiter)
                else:
                    loop.call_soon_threadsafe(_release, waiter)
            except RuntimeError:
                return  # the loop that waited has been closed; nobody waits there any more

        self.add_done_callback(wake)
        try:
            yield from waiter
        except BaseException:
            self.remove_done_callback(wake)
            self._withdrawn()
            raise

    def _suspend_on_trio(self) -> Generator[Any, Any, None]:
        trio = sys.modules.get("trio")
        if trio is None:
            raise RuntimeError("a future can only be awaited on asyncio or trio")
        task = trio.lowlevel.current_task()
        token = trio.lowlevel.current_trio_token()
        thread_id = _get_ident()
        waiting = True

        def resume() -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                trio.lowlevel.reschedule(task)

        def wake(_future: Any) -> None:
            if thread_id == _get_ident():
                resume()
            else:
                try:
                    token.run_sync_soon(resume)
                except trio.RunFinishedError:
                    return  # the loop that waited is over; nobody waits there any more

        def abort(_raise: Any) -> Any:
            nonlocal waiting
            waiting = False
            self.remove_done_callback(wake)
            self._withdrawn()
            return trio.lowlevel.Abort.SUCCEEDED

        self.add_done_callback(wake)
        yield from trio.lowlevel.wait_task_rescheduled(abort).__await__()

    def _hook_in_thread(self) -> Generator[Any, Any, T]:
        return (yield from _in_thread(self))

    # ---- deriving

    def map(self, func: Callable[[T], M]) -> Future[M]:
        """A future with *func* applied to this one's value, once, when it is asked for."""
        return _Derived((self,), lambda values: func(values[0]))

    def filter(self: _Source[Iterable[J]], func: Callable[[J], bool]) -> Future[Iterable[J]]:
        """A future with the items of this one's value that pass *func*."""
        source = cast("Future[Any]", self)
        return _Derived((source,), lambda values: [item for item in values[0] if func(item)])

    def join(self, *futures: pykka.Future[Any]) -> Future[Iterable[Any]]:
        """A future with the list of the values of this one and *futures*."""
        return _Derived((self, *futures), list)

    def reduce(self: _Source[Iterable[J]], func: Callable[[R, J], R], *args: R) -> Future[R]:
        """A future with *func* applied cumulatively to the items of this one's value."""
        source = cast("Future[Any]", self)
        return _Derived((source,), lambda values: functools.reduce(func, values[0], *args))


class _Derived(Future[M]):
    """A value made of other futures' values, when it is asked for, and kept."""

    __slots__ = ("_make", "_sources")

    def __init__(
        self, sources: tuple[pykka.Future[Any], ...], make: Callable[[list[Any]], M]
    ) -> None:
        super().__init__()
        self._sources = sources
        self._make = make
        self._get_hook = self._compute

    def _compute(self, timeout: float | None) -> M:
        deadline = None if timeout is None else time.monotonic() + timeout
        values: list[Any] = []
        for source in self._sources:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            values.append(source.get(timeout=left))
        return self._make(values)

    def __await__(self) -> Generator[Any, Any, M]:
        if not self._state:
            for source in self._sources:
                if isinstance(source, Future):
                    yield from source.__await__()
                else:  # pykka's own futures block the loop when they are awaited
                    yield from _in_thread(source)
        return self.get(timeout=0)

    __iter__ = __await__


def _in_thread(future: pykka.Future[T]) -> Generator[Any, Any, T]:
    import anyio.to_thread  # noqa: PLC0415  # only those who await a foreign value pay for it

    get: Callable[[], T] = functools.partial(future.get, timeout=None)
    return (yield from anyio.to_thread.run_sync(get, abandon_on_cancel=True).__await__())


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def completed(value: T) -> Future[T]:
    """A future that has *value* already."""
    future: Future[T] = Future()
    future.try_set(value)
    return future


def failed(exception: BaseException) -> Future[Any]:
    """A future that has failed already."""
    future: Future[Any] = Future()
    future.try_fail(exception)
    return future
