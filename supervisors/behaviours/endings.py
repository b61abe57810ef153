"""How a server ends, and what those get who still wait for it."""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from supervisors.behaviours.callbacks import Callbacks
from supervisors.runtime.actor_process import Work
from supervisors.runtime.future import Future
from supervisors.runtime.reports import report, wanted
from supervisors.runtime.requests import Ask
from supervisors.runtime.states import STOPPING
from supervisors.runtime.tasks import report_crash
from supervisors.words.reasons import ExitReason, as_reason
from supervisors.words.reports import TerminateReport
from supervisors.words.said import said

_when_done = Future[Any].add_done_callback  # not a call's own, which would also set its timer


class Ending:
    """Stands for what is being handled while terminate() runs."""

    __slots__ = ("asked", "last", "reason", "reply")

    def __init__(
        self, reason: ExitReason, last: Any, asked: Future[Any] | None, reply: Any
    ) -> None:
        self.reason = reason
        self.last = last
        self.asked = asked
        self.reply = reply

    def server_ended(self, reason: ExitReason) -> None:
        """Called when the server is killed meanwhile."""
        asked = self.asked
        if isinstance(asked, Ask):
            asked.server_ended(reason)
        elif asked is not None:
            asked.try_set(self.reply)


class Endings(Callbacks):
    """The part of a server that ends it."""

    _otp_unanswered: dict[Ask, None] | None = None

    def _otp_end(
        self, reason: ExitReason, last: Any, asked: Future[Any] | None, reply: Any
    ) -> Work | None:
        """Run terminate(), then end with *reason*; *asked* then gets *reply*."""
        process = self._otp_process
        process.state = STOPPING
        if isinstance(last, Ask) and last is not asked:
            self._otp_owe(last)
        item = Ending(reason, last, asked, reply)
        try:
            value = self.terminate(reason)
        except BaseException as error:  # noqa: BLE001  # the edge of the server: every failure is its own
            item.reason = as_reason(error)
            value = None
        if value.__class__ is CoroutineType:
            return value, item  # pyright: ignore[reportReturnType]  # a coroutine, as its class says
        self._otp_ended(item)
        return None

    def _otp_ended(self, item: Ending) -> None:
        process = self._otp_process
        reason = item.reason
        if not reason.is_calm:
            if wanted(TerminateReport):
                last = getattr(item.last, "message", getattr(item.last, "request", item.last))
                state = self._otp_status()
                report(TerminateReport(process.ref, process.name, last, state, reason))
            report_crash(process, reason)
        if isinstance(item.asked, Ask):
            if self._otp_unanswered is not None:
                self._otp_unanswered.pop(item.asked, None)
            item.asked.reply(item.reply)
        process.die(reason)
        if isinstance(item.asked, Future):
            item.asked.try_set(item.reply)

    def _otp_status(self) -> Any:
        try:
            return self.format_status()
        except Exception as error:  # noqa: BLE001  # a look at the server must not do it harm
            return f"format_status() failed: {said(error)}"

    def _otp_owe(self, item: Ask) -> None:
        """Remember a caller that waits, to tell it if the server ends first."""
        if self._otp_unanswered is None:
            self._otp_unanswered = {}
        unanswered = self._otp_unanswered
        if item not in unanswered and not item.done():
            unanswered[item] = None
            _when_done(item, lambda answered: unanswered.pop(answered, None))

    def _otp_released(self, reason: ExitReason) -> None:
        super()._otp_released(reason)
        unanswered, self._otp_unanswered = self._otp_unanswered, None
        if unanswered:
            for item in list(unanswered):
                item.server_ended(reason)
