"""What lies in a mailbox besides plain messages: requests, with an answer and without."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from supervisors.runtime.future import Future
from supervisors.words.errors import CallExit, CallTimeout, MailboxFull, ProcessDead
from supervisors.words.reasons import ExitReason

if TYPE_CHECKING:
    from supervisors.runtime.process import Process
    from supervisors.runtime.timers import TimerHandle


class Ask(Future[Any]):
    """A request in a mailbox, and the future of its answer: who handles it replies through it."""

    __slots__ = ("message", "server")

    _how_to_wait = "value = await ref.ask(message, block=False)"

    def __init__(self, server: Process, message: Any) -> None:
        super().__init__(server.node)
        self.server = server
        self.message = message

    def reply(self, value: Any = None) -> bool:
        """Answer the caller; False if it has an answer already or no longer waits."""
        return self._settle(1, value)

    def fail(self, exception: BaseException) -> bool:
        """Refuse: the caller gets *exception* raised; False if it has an answer already."""
        return self.try_fail(exception)

    def server_ended(self, reason: ExitReason) -> None:
        """Called when the server ends with this request unanswered."""
        self.try_fail(
            ProcessDead(f"{self.server.ref} stopped before handling the message: {reason}", reason)
        )


class Call(Ask):
    """A request with a deadline, as of `GenServer.call`.

    The deadline counts from the call; the timer for it is only set when somebody has to wait.
    """

    __slots__ = ("deadline", "timeout", "timer")

    _how_to_wait = "value = await ref.call(request)"

    def __init__(self, server: Process, message: Any, timeout: float | None) -> None:
        self._state = 0
        self._callbacks = None
        self._get_hook = None
        self._home = node = server.node
        self.server = server
        self.message = message
        self.timeout = timeout
        self.deadline = None if timeout is None else node.now() + timeout
        self.timer: TimerHandle | None = None

    def server_ended(self, reason: ExitReason) -> None:
        """Called when the server ends with this request unanswered."""
        self.try_fail(CallExit(reason, self.server.ref, self.message))

    def give_up(self) -> None:
        """Fail because the time is over; the server is not told."""
        self.try_fail(CallTimeout(self.server.ref, self.message, self.timeout))

    def _suspend(self) -> Generator[Any, Any, None]:
        self._arm()
        return super()._suspend()

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Call `callback(call)` when there is a reply, or the deadline has passed."""
        self._arm()
        super().add_done_callback(callback)

    def _arm(self) -> None:
        if self.deadline is not None and self.timer is None and not self._state:
            node = self.server.node
            self.timer = timer = node.after(self.deadline - node.now(), self.give_up)
            super().add_done_callback(lambda _call: timer.cancel())

    def _wait(self, timeout: float | None) -> None:
        if timeout is None and self.deadline is not None and not self.server.node.virtual:
            super()._wait(max(0.0, self.deadline - self.server.node.now()))
        else:
            super()._wait(timeout)

    def _expired(self, timeout: float | None) -> None:
        if self.deadline is not None and self.server.node.now() >= self.deadline:
            self.give_up()
        else:
            super()._expired(timeout)


class Cast:
    """A request in a mailbox that nobody waits for."""

    __slots__ = ("request",)

    def __init__(self, request: Any) -> None:
        self.request = request


class Told:
    """A message in a mailbox that would be taken for something else without this box."""

    __slots__ = ("message",)

    def __init__(self, message: Any) -> None:
        self.message = message


REQUESTS = frozenset((Ask, Call, Cast))
"""The classes that a message must not have, where it is not to be taken for a request."""


def unboxed(item: Any) -> Any:
    """What was sent: *item*, or the message in its box."""
    return item.message if item.__class__ is Told else item


def refuse(item: Any, text: str) -> None:
    """Refuse an item there is no room for: an ask fails, a message raises."""
    error = MailboxFull(text)
    if isinstance(item, Ask):
        item.try_fail(error)
    else:
        raise error
