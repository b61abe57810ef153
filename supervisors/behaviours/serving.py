"""What follows from what a server's callbacks return or raise.

One item of the mailbox at a time. An exception ends the server: its supervisor decides what comes
next, its callers are told at once.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any, ClassVar

from pykka.messages import (
    ProxyCall,
    ProxyGetAttr,
    ProxySetAttr,
    _ActorStop,  # pyright: ignore[reportPrivateUsage]  # pykka's own way to say stop
)

from supervisors.behaviours.endings import Ending, Endings
from supervisors.runtime.actor_process import Work
from supervisors.runtime.requests import Ask, Call, Cast, Told
from supervisors.runtime.states import RUNNING
from supervisors.runtime.system import System
from supervisors.runtime.tasks import report_crash
from supervisors.runtime.tracing import tell_tracer
from supervisors.words.directives import UNSET, Directive, Ignore, NoReply, Ok, Reply, Stop
from supervisors.words.errors import ExitProcess
from supervisors.words.reasons import NORMAL, BadReturn, ExitReason, as_reason
from supervisors.words.signals import TIMEOUT, Exit

_PROXY = frozenset((ProxyCall, ProxyGetAttr, ProxySetAttr))


class _Continue:
    __slots__ = ("term",)

    def __init__(self, term: Any) -> None:
        self.term = term


class _Marker:
    __slots__ = ()


INIT = _Marker()
_IDLE = _Marker()
_NO_PLAIN_MESSAGES = frozenset(
    (Call, Ask, Cast, Told, _Continue, System, Exit, _Marker, _ActorStop)
)


class Serving(Endings):
    """The part of a server that runs its callbacks."""

    urgent_signals: ClassVar[bool] = False  # in OTP they wait for their turn

    _otp_args: tuple[Any, ...] = ()
    _otp_kwargs: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed

    # ---- what the process asks of the actor

    def _otp_first(self) -> Work | None:
        try:
            args, kwargs = self._otp_args, self._otp_kwargs
            # What it begins with may be large, and it lives for long.
            self._otp_args, self._otp_kwargs = Serving._otp_args, Serving._otp_kwargs
            value = self.init(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  # the edge of the server: every failure is its own
            return self._otp_fail(INIT, error)
        if value.__class__ is CoroutineType:
            return value, INIT
        return self._otp_resume(INIT, value)

    def _otp_handle(self, item: Any) -> Work | None:  # noqa: C901  # every message comes here: no calls but those it needs
        process = self._otp_process
        if process.idle_timer is not None:
            process.idle_timer.cancel()
            process.idle_timer = None
        kind = item.__class__
        try:
            if kind not in _NO_PLAIN_MESSAGES:
                value: Any = self.handle_info(item)
            elif kind is Call or kind is Ask:
                message = item.message
                if message.__class__ is _ActorStop:
                    return self._otp_end(NORMAL, None, item, None)
                if message.__class__ in _PROXY:
                    value = self._handle_receive(message)
                else:
                    value = self.handle_call(message, item)
                if value.__class__ is not CoroutineType and not isinstance(value, Directive):
                    item.reply(value)
                    if process.tracer is not None:
                        tell_tracer(process, ("out", value, self._otp_status()))
                    return None
            elif kind is Cast:
                value = self.handle_cast(item.request)
            elif kind is _Continue:
                value = self.handle_continue(item.term)
            elif kind is System:
                return self._otp_handle_system(item)
            elif kind is Exit and process.parent is not None and item.process is process.parent.ref:
                return self._otp_end(item.reason, item, None, UNSET)
            else:
                if kind is Told:
                    item = item.message
                elif kind is _Marker:
                    item = TIMEOUT
                elif kind is _ActorStop:
                    return self._otp_end(NORMAL, None, None, UNSET)
                value = self.handle_info(item)
        except BaseException as error:  # noqa: BLE001  # the edge of the server: every failure is its own
            return self._otp_fail(item, error)
        if value is None:
            if process.tracer is not None:
                tell_tracer(process, ("noreply", self._otp_status()))
            return None
        if value.__class__ is CoroutineType:
            if kind is Call or kind is Ask:
                self._otp_owe(item)
            return value, item  # pyright: ignore[reportReturnType]  # a coroutine, as its class says
        return self._otp_resume(item, value)

    def _otp_resume(self, item: Any, value: Any) -> Work | None:
        process = self._otp_process
        if item.__class__ is Ending:
            self._otp_ended(item)
            return None
        if item is INIT:
            return self._otp_initialised(value)
        if isinstance(item, Ask):
            return self._otp_called(item, value)
        match value:
            case None:
                if process.tracer is not None:
                    tell_tracer(process, ("noreply", self._otp_status()))
                return None
            case NoReply(timeout, then):
                return self._otp_go_on(timeout, then)
            case Stop(reason) if value.reply is UNSET:
                return self._otp_end(as_reason(reason), item, None, UNSET)
            case _:
                return self._otp_end(BadReturn(value), item, None, UNSET)

    def _otp_called(self, item: Ask, value: Any) -> Work | None:
        match value:
            case Reply(answer, timeout, then):
                self._otp_answer(item, answer)
                return self._otp_go_on(timeout, then)
            case NoReply(timeout, then):
                self._otp_owe(item)
                return self._otp_go_on(timeout, then)
            case Stop(reason, reply):
                # The reply is sent when terminate() is through, as in OTP.
                return self._otp_end(
                    as_reason(reason), item, None if reply is UNSET else item, reply
                )
            case Directive():
                return self._otp_end(BadReturn(value), item, None, UNSET)
            case _:
                self._otp_answer(item, value)
                return None

    def _otp_initialised(self, value: Any) -> Work | None:
        process = self._otp_process
        match value:
            case None | Ok():
                process.state = RUNNING
                ack, process.ack = process.ack, None
                if ack is not None:
                    ack.try_set(process.ref)
                return None if value is None else self._otp_go_on(value.timeout, value.then)
            case Ignore():
                process.ignored = True
                process.die(NORMAL)
                return None
            case Stop(reason):
                return self._otp_not_started(as_reason(reason))
            case _:
                return self._otp_not_started(BadReturn(value))

    def _otp_not_started(self, reason: ExitReason) -> Work | None:
        process = self._otp_process
        if not reason.is_calm:
            report_crash(process, reason)
        process.die(reason)
        return None

    def _otp_fail(self, item: Any, error: BaseException) -> Work | None:
        reason = as_reason(error)
        if isinstance(error, ExitProcess) and error.signalled:
            self._otp_process.die(reason)
            return None
        if item.__class__ is Ending:
            item.reason = reason
            self._otp_ended(item)
            return None
        if item is INIT:
            return self._otp_not_started(reason)
        return self._otp_end(reason, item, None, UNSET)

    def _otp_handle_system(self, system: System) -> Work | None:
        try:
            value = system.deed(self)
        except Exception as error:  # noqa: BLE001  # it is the requester's failure, not the server's
            system.done.try_fail(error)
            return None
        if isinstance(value, Stop):
            return self._otp_end(as_reason(value.reason), None, system.done, None)
        system.done.try_set(value)
        return None

    # ---- what follows

    def _otp_go_on(self, timeout: float | None, then: Any) -> Work | None:
        process = self._otp_process
        if process.tracer is not None:
            tell_tracer(process, ("noreply", self._otp_status()))
        if then is not UNSET:
            process.normal.appendleft(_Continue(then))
            if not process.scheduled:
                process.schedule()
        elif timeout is not None and not process.normal:
            process.idle_timer = process.node.after(timeout, self._otp_idle)
        return None

    def _otp_idle(self) -> None:
        process = self._otp_process
        process.idle_timer = None
        if not process.normal and process.state == RUNNING:
            process.put(_IDLE)

    def _otp_answer(self, item: Ask, value: Any) -> None:
        if self._otp_unanswered is not None:
            self._otp_unanswered.pop(item, None)
        item.reply(value)
        if self._otp_process.tracer is not None:
            tell_tracer(self._otp_process, ("out", value, self._otp_status()))
