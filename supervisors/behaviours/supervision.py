"""What every supervisor does when a child ends, and how it starts itself.

Carries out what the machines decide; which children there are, and why, it does not know.
"""

from __future__ import annotations

import random
from types import CoroutineType
from typing import Any, ClassVar

from supervisors.behaviours.child_ends import ChildEnds
from supervisors.behaviours.child_starts import ChildStarts, NotStarted, Started
from supervisors.behaviours.serving import INIT
from supervisors.machines.children import (
    AutoShutdown,
    Ended,
    Entry,
    GiveUp,
    Place,
    Restart,
    Retry,
)
from supervisors.runtime.actor_process import Work
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import STARTING
from supervisors.runtime.timers import TimerHandle
from supervisors.words.directives import Ok, Stop
from supervisors.words.errors import ExitProcess, SpecError
from supervisors.words.reasons import SHUTDOWN, Custom
from supervisors.words.signals import Exit
from supervisors.words.spec_lists import SpecTerm
from supervisors.words.specs import ChildType, Flags

TOO_MANY = Custom("reached_max_restart_intensity")

Follow = Restart[Ref] | Retry[Ref] | GiveUp[Ref] | AutoShutdown | None


class TryAgain:
    """A cast of a supervisor to itself: time for another try to restart a child.

    It waits its turn in the mailbox, so that requests are served between two tries.
    """

    __slots__ = ("entry", "ticket")

    def __init__(self, entry: Entry[Ref], ticket: int) -> None:
        self.entry = entry
        self.ticket = ticket


class Supervision(ChildStarts, ChildEnds):
    """The base of all supervisors."""

    trap_exit: ClassVar[bool] = True
    _otp_child_type: ClassVar[ChildType] = "supervisor"
    _delayed: dict[Entry[Ref], TimerHandle]

    _children: Any = None
    """The machine that knows the children; None until `tree()` is called."""

    # ---- starting the supervisor

    def _otp_first(self) -> Work | None:
        self._delayed = {}
        return super()._otp_first()

    def _otp_initialised(self, value: Any) -> Work | None:
        if value.__class__ is CoroutineType:
            return value, INIT  # an async `init` returned `self.tree(...)`
        if (value is None or isinstance(value, Ok)) and self._children is None:
            error = SpecError(
                f"{type(self).__name__}.init() returned {value!r}: there is nothing to supervise. "
                "Write `return self.tree(...)` as its last line.",
                value,
            )
            value = Stop(Custom(SpecTerm("bad_return", error)))
        return super()._otp_initialised(value)

    def _otp_fail(self, item: Any, error: BaseException) -> Work | None:
        if isinstance(error, SpecError) and self._otp_process.state == STARTING:
            error = refusal("start_spec", error)
        return super()._otp_fail(item, error)

    @staticmethod
    def _flags(*flags: Any) -> Flags:
        try:
            return Flags(*flags)
        except SpecError as error:
            raise refusal("supervisor_data", error) from None

    # ---- messages

    def handle_info(self, message: Any) -> Any:
        """Decide what follows from the end of a child."""
        if not isinstance(message, Exit):
            return super().handle_info(message)
        ended: Ended[Ref] | None = self._children.exited(
            message.process, message.reason, self.node.now(), random.random()
        )
        if ended is None:
            return None  # a stranger's signal, or a child that was stopped meanwhile
        if ended.reported:
            self._report("child_terminated", message.reason, ended.entry, ended.ref)
        return self._follow(ended.then)

    def handle_cast(self, request: Any) -> Any:
        """Try once more to restart a child."""
        if not isinstance(request, TryAgain):
            return super().handle_cast(request)
        entry, ticket = request.entry, request.ticket
        if ticket == entry.ticket:
            self._delayed.pop(entry, None)
        return self._follow(self._children.retry(entry, ticket, self.node.now()))

    def _follow(self, then: Follow) -> Any:
        match then:
            case None:
                return None
            case Restart():
                return self._restart(then)
            case Retry() if not then.stop:
                return self._try_later(then)
            case Retry():
                return self._stop_then_try_later(then)
            case GiveUp(entry, place):
                self._report("shutdown", TOO_MANY, entry, place)
                return Stop(SHUTDOWN)
            case AutoShutdown():
                return Stop(SHUTDOWN)

    def _restart(self, restart: Restart[Ref]) -> Any:
        if restart.stop or len(restart.start) != 1:
            return self._restart_group(restart)
        entry = restart.start[0]

        def then(came: Started | NotStarted) -> None:
            self._restarted(entry, came, restart.place)

        return self._start_then(entry, then)

    async def _restart_group(self, restart: Restart[Ref]) -> None:
        await self._end_each(restart.stop, self._children.stopped)
        for entry in restart.start:
            if not self._restarted(entry, await self._start(entry), restart.place):
                return

    def _restarted(self, entry: Entry[Ref], came: Started | NotStarted, place: Place) -> bool:
        if isinstance(came, Started):
            self._children.started(entry, came.ref, self.node.now())
            return True
        self._report("start_error", came.reason, entry, place)
        self._try_later(self._children.failed(entry, self.node.now(), random.random()))
        return False

    async def _stop_then_try_later(self, retry: Retry[Ref]) -> None:
        self._try_later(retry)
        await self._end_each(retry.stop, self._children.stopped)

    def _try_later(self, retry: Retry[Ref]) -> None:
        again = TryAgain(retry.entry, retry.ticket)
        if retry.seconds > 0.0:
            self._try_no_more(retry.entry)
            self._delayed[retry.entry] = self.node.after(retry.seconds, self.ref.cast, again)
        else:
            self.ref.cast(again)

    def _try_no_more(self, *entries: Entry[Ref]) -> None:
        """Cancel the delayed tries to restart *entries*, or, without any, all of them."""
        for entry in entries or list(self._delayed):
            timer = self._delayed.pop(entry, None)
            if timer is not None:
                timer.cancel()


def refusal(tag: str, error: SpecError) -> ExitProcess:
    """What a supervisor ends with that cannot start because of a wrong spec or flag."""
    return ExitProcess(Custom(SpecTerm(tag, error)))
