"""A task in the hands of its owner, who waits for it, gives up waiting, or stops it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, Generic, Literal, TypeVar

from supervisors.behaviours.task_channel import Channel
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.ref import DEFAULT_CALL_TIMEOUT, Ref
from supervisors.runtime.timers import TimerHandle
from supervisors.runtime.watches import Monitor
from supervisors.words.errors import CallTimeout
from supervisors.words.reasons import KILL, KILLED, SHUTDOWN, ExitReason
from supervisors.words.specs import BRUTAL_KILL
from supervisors.words.tasks import Exited, NotOwner, Outcome

T = TypeVar("T")


class Task(Generic[T]):
    """A running function; `await task` gives its value, within 5 seconds, as `result()` does.

    Only its owner, the process that started it, may wait for it. If the owner does not wait, it
    gets the message `TaskReply(task.monitor, value)` and then a `Down`, or, when the task fails,
    only the `Down`.
    """

    __slots__ = ("_channel",)

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __repr__(self) -> str:
        return f"<Task {self.ref} {'done' if self._channel.done.done() else 'running'}>"

    @property
    def ref(self) -> Ref:
        """The ref of the task's process."""
        return self._channel.ref

    @property
    def owner(self) -> Ref:
        """The ref of the process that started the task."""
        return self._channel.owner.ref

    @property
    def monitor(self) -> Monitor | None:
        """What the messages about the task carry."""
        return self._channel.monitor

    def __await__(self) -> Generator[Any, Any, T]:
        return self.result().__await__()

    def result(self, timeout: float | None = DEFAULT_CALL_TIMEOUT) -> Future[T]:
        """The future of the task's value; *timeout* in seconds, None for no limit.

        The future fails with `CallExit` when the task ends without a value, with `MaxChildren`,
        `NoProcess` or `CallExit` when its supervisor did not start it, and with `CallTimeout`
        after *timeout* seconds: the task then goes on, but its outcome is dropped.

        Raises:
            NotOwner: Another process than the owner asks.
        """
        return _Result(self._owned(), timeout)

    def yield_(self, timeout: float | None = DEFAULT_CALL_TIMEOUT) -> Future[Outcome | None]:
        """The future of how the task came out: `Done(value)`, `Exited(reason)`, or None.

        It is None after *timeout* seconds, and may then be asked for again.

        Raises:
            NotOwner: Another process than the owner asks.
        """
        return _Yield(self._owned(), timeout)

    def shutdown(
        self, timeout: float | Literal["brutal_kill"] | None = DEFAULT_CALL_TIMEOUT
    ) -> Future[Outcome | None]:
        """Stop the task: the future has `Done(value)` if it was through, else None once it ended.

        It is told to end and killed after *timeout* seconds (None: never; `BRUTAL_KILL`: at once).
        `Exited(reason)` if it ended in another way than it was told to.

        Raises:
            NotOwner: Another process than the owner asks.
        """
        channel = self._owned()
        kill = timeout == BRUTAL_KILL
        ending = _Ending(channel, KILLED if kill else SHUTDOWN)
        if not ending.done():
            channel.owner.unlink(channel.process)
            channel.signal(KILL if kill else SHUTDOWN)
            if isinstance(timeout, int | float):
                ending.kill_after(timeout)
        return ending

    def _owned(self) -> Channel:
        if self_process() is not self._channel.owner:
            raise NotOwner(
                f"{self} belongs to {self.owner}, which alone may wait for it. "
                "Let the owner send the value: `send(ref, await task)`."
            )
        return self._channel


def yield_many(
    tasks: Iterable[Task[Any]], timeout: float | None = DEFAULT_CALL_TIMEOUT
) -> Future[list[tuple[Task[Any], Outcome | None]]]:
    """The future of how *tasks* came out within *timeout* seconds: a list of (task, outcome).

    An outcome is `Done(value)`, `Exited(reason)`, or None if the task is not through by then.

    Raises:
        NotOwner: Another process than the owner of them all asks.
    """
    owned = list(tasks)
    waits = [task.yield_(timeout) for task in owned]
    together: Future[list[tuple[Task[Any], Outcome | None]]] = Future()
    through: list[None] = []  # grows in one step from whatever thread

    def came(_wait: Any) -> None:
        through.append(None)
        if len(through) < len(waits):
            return
        try:
            together.try_set([(t, wait.get()) for t, wait in zip(owned, waits, strict=True)])
        except Exception as error:  # noqa: BLE001  # what kept a task from starting
            together.try_fail(error)

    for wait in waits:
        wait.add_done_callback(came)
    if not waits:
        together.try_set([])
    return together


class _Wait(Future[Any]):
    """A wait of the owner for the outcome of its task."""

    __slots__ = ("_channel", "_timeout", "_timer")

    def __init__(self, channel: Channel, timeout: float | None) -> None:
        super().__init__(channel.process.node)
        self._channel = channel
        self._timeout = timeout
        self._timer: TimerHandle | None = None
        channel.done.add_done_callback(self._came)
        if timeout is not None and not self.done():
            self._timer = channel.process.node.after(timeout, self._expire)

    def _came(self, _done: Future[Any]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self.done():
            self._channel.let_go()
            self._take()

    def _take(self) -> None:
        outcome = self._channel.outcome()
        if isinstance(outcome, BaseException):
            self.try_fail(outcome)
        else:
            self.try_set(outcome)

    def _expire(self) -> None:
        self._channel.done.remove_done_callback(self._came)
        if not self.done():
            self._give_up()

    def _give_up(self) -> None:
        """Called when it has taken too long."""

    def _withdrawn(self) -> None:
        self._channel.done.remove_done_callback(self._came)
        if self._timer is not None:
            self._timer.cancel()


class _Result(_Wait):
    """A wait for the value."""

    __slots__ = ()

    def _take(self) -> None:
        error = self._channel.done.exception()
        if error is None:
            self.try_set(self._channel.done.get())
        else:
            self.try_fail(error)

    def _give_up(self) -> None:
        self._channel.let_go()
        self.try_fail(CallTimeout(self._channel.ref, "a task's value", self._timeout))


class _Yield(_Wait):
    """A wait that may be repeated."""

    __slots__ = ()

    def _give_up(self) -> None:
        self.try_set(None)


class _Ending(_Wait):
    """A wait for the end of a task that was told to end."""

    __slots__ = ("_expected",)

    def __init__(self, channel: Channel, expected: ExitReason) -> None:
        self._expected = expected
        super().__init__(channel, None)

    def kill_after(self, seconds: float) -> None:
        """Kill the task if it still runs in *seconds*."""
        self._timer = self._channel.process.node.after(seconds, self._channel.signal, KILL)

    def _take(self) -> None:
        if self._channel.outcome() == Exited(self._expected):
            self.try_set(None)
        else:
            super()._take()
