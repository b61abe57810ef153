"""The server of OTP: state, requests one at a time, and an end that others can rely on.

Knows what the callbacks may return and what follows. An exception ends the server: its supervisor
decides what comes next, its callers are told at once.
"""

from __future__ import annotations

import threading
from types import CoroutineType
from typing import Any, ClassVar, Self, cast

import pykka
from pykka.messages import (
    ProxyCall,
    ProxyGetAttr,
    ProxySetAttr,
    _ActorStop,  # pyright: ignore[reportPrivateUsage]  # pykka's own way to say stop
)

from supervisors.runtime.actor import Actor
from supervisors.runtime.actor_process import System, Work, tell_tracer
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.node import Node, current_node
from supervisors.runtime.process import RUNNING, STOPPING, Ask, Process
from supervisors.runtime.ref import ActorRef, Call, Cast, ServerRef, Told
from supervisors.runtime.reports import report, wanted
from supervisors.runtime.tasks import report_crash
from supervisors.words.directives import UNSET, Directive, Ignore, NoReply, Ok, Reply, Stop
from supervisors.words.errors import AlreadyStarted, NameTaken, StartFailed
from supervisors.words.reasons import (
    KILL,
    NORMAL,
    BadReturn,
    ExitReason,
    TimedOut,
    as_reason,
)
from supervisors.words.reports import TerminateReport
from supervisors.words.signals import TIMEOUT, Exit
from supervisors.words.specs import ChildSpec

_PROXY = frozenset((ProxyCall, ProxyGetAttr, ProxySetAttr))


class _Continue:
    __slots__ = ("term",)

    def __init__(self, term: Any) -> None:
        self.term = term


class _Terminate:
    """Stands for what is being handled while terminate() runs."""

    __slots__ = ("asked", "last", "reason", "reply")

    def __init__(self, reason: ExitReason, last: Any, asked: Any, reply: Any) -> None:
        self.reason = reason
        self.last = last
        self.asked = asked
        self.reply = reply


class _Marker:
    __slots__ = ()


_INIT = _Marker()
_IDLE = _Marker()

Caller = Ask
"""Who waits for the reply of a request: `reply(value)` answers, `fail(exception)` refuses."""


class GenServer(Actor):
    """A server: subclass it, keep state on `self`, implement the callbacks you need.

    Callbacks may be plain or `async def`. While one awaits, the server's other messages wait.
    An exception that leaves a callback ends the server with `Error(exception)`.
    """

    urgent_signals: ClassVar[bool] = False  # in OTP they wait for their turn
    ref_class: ClassVar[type[ActorRef[Any]]] = ServerRef

    _args: tuple[Any, ...] = ()
    _kwargs: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed
    _unanswered: dict[Ask, None] | None = None
    _last_message: Any = None

    # ---- callbacks

    def init(self, *args: Any, **kwargs: Any) -> Any:
        """Set the server up. Return None or `Ok(...)`, `Ignore()`, or `Stop(reason)`."""

    def handle_call(self, request: Any, caller: Caller) -> Any:
        """Answer a request: return the reply, or `Reply`, `NoReply` or `Stop`.

        After `NO_REPLY`, `caller.reply(value)` or `caller.fail(error)` may come at any later time.
        """
        raise NotImplementedError(
            f"{type(self).__name__} got a call it does not handle: {request!r}. "
            "Implement handle_call(request, caller)."
        )

    def handle_cast(self, request: Any) -> Any:
        """Handle a request that is not answered. Return None, `NoReply` or `Stop`."""
        raise NotImplementedError(
            f"{type(self).__name__} got a cast it does not handle: {request!r}. "
            "Implement handle_cast(request)."
        )

    def handle_info(self, message: Any) -> Any:
        """Handle any other message: what was told, `Exit`, `Down`, `TIMEOUT`. Return as above."""
        self._log_unexpected(message)

    def handle_continue(self, term: Any) -> Any:
        """Go on with what a callback left with `then=term`, before any other message."""
        raise NotImplementedError(
            f"{type(self).__name__} returned then={term!r} but has no handle_continue(term)"
        )

    def terminate(self, reason: ExitReason) -> Any:
        """Clean up. Runs when the server stops by itself, fails, is stopped, or is told by its
        parent while it traps exits; not when it is killed."""

    def format_status(self) -> Any:
        """What reports and `get_state()` show of the server: by default its attributes."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    # ---- starting

    @classmethod
    def start_link(
        cls,
        *args: Any,
        name: Any = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> Future[ActorRef[Self]]:
        """Start a server, linked to the calling process, which is its parent.

        The future has the ref once `init(*args, **kwargs)` is through. *name* registers it before
        `init` runs; *start_timeout* is in seconds.

        The future fails with `StartFailed` (init stopped, raised or took too long), `StartIgnored`,
        or `AlreadyStarted` (somebody has the name).
        """
        return cls._launch(args, kwargs, name, start_timeout, self_process())

    @classmethod
    def start_unlinked(
        cls,
        *args: Any,
        name: Any = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> Future[ActorRef[Self]]:
        """Start a server without link and parent; otherwise as `start_link`."""
        return cls._launch(args, kwargs, name, start_timeout, None)

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> ActorRef[Self]:
        """Start a server as pykka does: at once, unlinked, without waiting for `init`."""
        return cls.start_on(current_node(), *args, **kwargs)

    @classmethod
    def start_on(cls, node: Node, *args: Any, **kwargs: Any) -> ActorRef[Self]:
        """As `start`, on the given node."""
        server = cls._new(args, kwargs)
        process = server._process
        process.node = node
        server._in_registry = True
        pykka.ActorRegistry.register(server.ref)
        _in_loop(node, lambda: _begin(server, None, None, None))
        return cast("ActorRef[Self]", process.ref)

    @classmethod
    def child_spec(
        cls,
        *args: Any,
        id: Any = None,  # noqa: A002  # the word of OTP
        restart: str = "permanent",
        shutdown: Any = UNSET,
        significant: bool = False,
        type: str | None = None,  # noqa: A002  # the word of OTP
        restart_delay: Any = None,
        name: Any = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> ChildSpec:
        """The spec that lets a supervisor start this server with the given arguments.

        *id* is by default the name, or the class.
        """

        def start(*extra: Any) -> Future[Any]:
            return cls.start_link(*extra, *args, name=name, start_timeout=start_timeout, **kwargs)

        options: dict[str, Any] = {} if shutdown is UNSET else {"shutdown": shutdown}
        return ChildSpec(
            id=id if id is not None else (name or cls),
            start=start,
            restart=cast("Any", restart),
            type=cast("Any", type or cls._child_type),
            significant=significant,
            restart_delay=restart_delay,
            **options,
        )

    _child_type: ClassVar[str] = "worker"

    @classmethod
    def _new(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Self:
        server = cls()
        server._args = args
        server._kwargs = kwargs
        return server

    @classmethod
    def _launch(
        cls,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: Any,
        start_timeout: float | None,
        parent: Process | None,
    ) -> Future[ActorRef[Self]]:
        server = cls._new(args, kwargs)
        process = server._process
        ack: Future[Any] = Future(process.node)
        process.ack = ack
        _in_loop(process.node, lambda: _begin(server, name, start_timeout, parent))
        return ack

    # ---- what the process asks of the actor

    def _first(self) -> Work | None:
        try:
            value = self.init(*self._args, **self._kwargs)
        except BaseException as error:  # the edge of the server: every failure is its own
            return self._fail(_INIT, error)
        if value.__class__ is CoroutineType:
            return value, _INIT
        return self._resume(_INIT, value)

    def _handle(self, item: Any) -> Work | None:
        process = self._process
        if process.idle_timer is not None:
            process.idle_timer.cancel()
            process.idle_timer = None
        kind = item.__class__
        try:
            if kind is Call or kind is Ask:
                message = item.message
                if message.__class__ in _PROXY:
                    value: Any = self._handle_receive(message)
                elif message.__class__ is _ActorStop:
                    return self._end(NORMAL, None, item, None)
                else:
                    value = self.handle_call(message, item)
                    if value.__class__ is not CoroutineType and not isinstance(value, Directive):
                        item.reply(value)
                        if process.tracer is not None:
                            tell_tracer(process, ("out", value, self.format_status()))
                        return None
            elif kind is Cast:
                value = self.handle_cast(item.request)
            elif kind is _Continue:
                value = self.handle_continue(item.term)
            elif kind is System:
                return self._handle_system(item)
            elif kind is Exit and process.parent is not None and item.process is process.parent.ref:
                return self._end(item.reason, item, None, UNSET)
            else:
                if kind is Told:
                    item = item.message
                elif kind is _Marker:
                    item = TIMEOUT
                elif kind is _ActorStop:
                    return self._end(NORMAL, None, None, UNSET)
                value = self.handle_info(item)
        except BaseException as error:  # the edge of the server: every failure is its own
            return self._fail(item, error)
        if value is None:
            if process.tracer is not None:
                tell_tracer(process, ("noreply", self.format_status()))
            return None
        if value.__class__ is CoroutineType:
            if isinstance(item, Ask):
                self._owe(item)
            return value, item
        return self._resume(item, value)

    def _resume(self, item: Any, value: Any) -> Work | None:
        process = self._process
        if item.__class__ is _Terminate:
            self._ended(item)
            return None
        if item is _INIT:
            return self._initialised(value)
        if isinstance(item, Ask):
            return self._called(item, value)
        match value:
            case None:
                if process.tracer is not None:
                    tell_tracer(process, ("noreply", self.format_status()))
                return None
            case NoReply(timeout, then):
                return self._go_on(timeout, then)
            case Stop(reason) if value.reply is UNSET:
                return self._end(as_reason(reason), item, None, UNSET)
            case _:
                return self._end(BadReturn(value), item, None, UNSET)

    def _called(self, item: Ask, value: Any) -> Work | None:
        match value:
            case Reply(answer, timeout, then):
                self._answer(item, answer)
                return self._go_on(timeout, then)
            case NoReply(timeout, then):
                self._owe(item)
                return self._go_on(timeout, then)
            case Stop(reason, reply):
                # The reply is sent when terminate() is through, as in OTP.
                return self._end(as_reason(reason), item, None if reply is UNSET else item, reply)
            case Directive():
                return self._end(BadReturn(value), item, None, UNSET)
            case _:
                self._answer(item, value)
                return None

    def _initialised(self, value: Any) -> Work | None:
        process = self._process
        match value:
            case None | Ok():
                process.state = RUNNING
                ack, process.ack = process.ack, None
                if ack is not None:
                    ack.try_set(process.ref)
                return None if value is None else self._go_on(value.timeout, value.then)
            case Ignore():
                process.ignored = True
                process.die(NORMAL)
                return None
            case Stop(reason):
                return self._not_started(as_reason(reason))
            case _:
                return self._not_started(BadReturn(value))

    def _not_started(self, reason: ExitReason) -> Work | None:
        process = self._process
        if not reason.is_calm:
            report_crash(process, reason)
        process.die(reason)
        return None

    def _fail(self, item: Any, error: BaseException) -> Work | None:
        reason = as_reason(error)
        if item.__class__ is _Terminate:
            item.reason = reason
            self._ended(item)
            return None
        if item is _INIT:
            return self._not_started(reason)
        return self._end(reason, item, None, UNSET)

    def _handle_system(self, system: System) -> Work | None:
        try:
            value = system.deed(self)
        except Exception as error:  # it is the requester's failure, not the server's
            system.done.try_fail(error)
            return None
        if isinstance(value, Stop):
            return self._end(as_reason(value.reason), None, system.done, None)
        system.done.try_set(value)
        return None

    # ---- what follows

    def _go_on(self, timeout: float | None, then: Any) -> Work | None:
        process = self._process
        if process.tracer is not None:
            tell_tracer(process, ("noreply", self.format_status()))
        if then is not UNSET:
            process.normal.appendleft(_Continue(then))
            if not process.scheduled:
                process.schedule()
        elif timeout is not None and not process.normal:
            process.idle_timer = process.node.after(timeout, self._idle)
        return None

    def _idle(self) -> None:
        process = self._process
        process.idle_timer = None
        if not process.normal and process.state == RUNNING:
            process.put(_IDLE)

    def _answer(self, item: Ask, value: Any) -> None:
        if self._unanswered is not None:
            self._unanswered.pop(item, None)
        item.reply(value)
        if self._process.tracer is not None:
            tell_tracer(self._process, ("out", value, self.format_status()))

    def _owe(self, item: Ask) -> None:
        """Remember a caller that waits, to tell it if the server ends first."""
        if self._unanswered is None:
            self._unanswered = {}
        unanswered = self._unanswered
        if item not in unanswered and not item.done():
            unanswered[item] = None
            Future.add_done_callback(item, lambda answered: unanswered.pop(answered, None))

    def _end(self, reason: ExitReason, last: Any, asked: Any, reply: Any) -> Work | None:
        """Run terminate(), then end with *reason*; *asked* then gets *reply*."""
        process = self._process
        process.state = STOPPING
        if isinstance(last, Ask) and last is not asked:
            self._owe(last)
        item = _Terminate(reason, last, asked, reply)
        try:
            value = self.terminate(reason)
        except BaseException as error:  # the edge of the server: every failure is its own
            item.reason = as_reason(error)
            value = None
        if value.__class__ is CoroutineType:
            return value, item
        self._ended(item)
        return None

    def _ended(self, item: _Terminate) -> None:
        process = self._process
        reason = item.reason
        if not reason.is_calm:
            if wanted(TerminateReport):
                last = getattr(item.last, "message", getattr(item.last, "request", item.last))
                report(
                    TerminateReport(process.ref, process.name, last, self.format_status(), reason)
                )
            report_crash(process, reason)
        if isinstance(item.asked, Ask):
            if self._unanswered is not None:
                self._unanswered.pop(item.asked, None)
            item.asked.reply(item.reply)
        process.die(reason)
        if isinstance(item.asked, Future):
            item.asked.try_set(item.reply)

    def _released(self, reason: ExitReason) -> None:
        super()._released(reason)
        unanswered, self._unanswered = self._unanswered, None
        if unanswered:
            for item in list(unanswered):
                item.server_ended(reason)

    def _log_unexpected(self, message: Any) -> None:
        super().on_receive(message)


def _in_loop(node: Node, deed: Any) -> None:
    if node.thread_id == threading.get_ident():
        deed()
    else:
        node.post(deed)


def _begin(
    server: GenServer, name: Any, start_timeout: float | None, parent: Process | None
) -> None:
    process = server._process  # noqa: SLF001  # its own module
    ack = process.ack
    try:
        process.node.adopt(process, name)
    except NameTaken as error:
        process.ack = None
        process.die(NORMAL)
        if ack is not None:
            ack.try_fail(AlreadyStarted(error.ref))
        return
    if parent is not None:
        process.parent = parent
        process.on_link(parent)
        parent.transmit(parent.on_link, process)
    if start_timeout is not None and ack is not None:
        timer = process.node.after(start_timeout, lambda: _too_slow(server))
        ack.add_done_callback(lambda _ack: timer.cancel())
    process.begin()


def _too_slow(server: GenServer) -> None:
    process = server._process  # noqa: SLF001  # its own module
    ack, process.ack = process.ack, None
    if ack is not None:
        down = process.node.when_down(process)
        down.add_done_callback(lambda _down: ack.try_fail(StartFailed(TimedOut())))
        process.transmit(process.on_exit_signal, None, KILL, False)
