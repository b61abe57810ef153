"""What every supervisor does with a child: starts it, ends it, and reports on it.

Carries out what the machines decide; which child, and why, it does not know.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable
from types import CoroutineType
from typing import Any, ClassVar, Literal, NamedTuple, cast

import pykka

from supervisors.behaviours.gen_server import GenServer
from supervisors.machines.children import (
    AutoShutdown,
    Ended,
    Entry,
    GiveUp,
    Place,
    Restart,
    Retry,
)
from supervisors.machines.restarts import is_expected
from supervisors.runtime.actor_process import Work
from supervisors.runtime.future import Future
from supervisors.runtime.node import TimerHandle
from supervisors.runtime.process import DEAD, STARTING, Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.reports import report, wanted
from supervisors.runtime.threads import process_of_foreign
from supervisors.words.directives import Ok, Stop
from supervisors.words.errors import (
    AlreadyStarted,
    ExitProcess,
    SpecError,
    StartFailed,
    StartIgnored,
)
from supervisors.words.reasons import (
    KILL,
    NOPROC,
    SHUTDOWN,
    BadReturn,
    Custom,
    ExitReason,
    as_reason,
)
from supervisors.words.reports import ProgressReport, SupervisorReport
from supervisors.words.signals import Exit
from supervisors.words.spec_lists import SpecTerm
from supervisors.words.specs import BRUTAL_KILL, Flags

TOO_MANY = Custom("reached_max_restart_intensity")

Follow = Restart[Ref] | Retry[Ref] | GiveUp[Ref] | AutoShutdown | None
Context = Literal["child_terminated", "start_error", "shutdown_error", "shutdown"]


class TryAgain:
    """A cast of a supervisor to itself: time for another try to restart a child.

    It waits its turn in the mailbox, so that requests are served between two tries.
    """

    __slots__ = ("entry", "ticket")

    def __init__(self, entry: Entry[Ref], ticket: int) -> None:
        self.entry = entry
        self.ticket = ticket


class Started(NamedTuple):
    """A start went well."""

    ref: Ref | None
    """The child; None if it chose not to run."""
    value: Any
    """What the start function returned."""


class NotStarted:
    """A child did not start."""

    __slots__ = ("cause", "reason")

    def __init__(self, reason: ExitReason, cause: BaseException | None = None) -> None:
        self.reason = reason
        self.cause = cause

    def error(self, child: Any = None) -> Exception:
        """The error for whoever asked for the start."""
        if isinstance(self.cause, AlreadyStarted):
            return self.cause
        error = StartFailed(self.reason, child)
        if self.cause is not None and error.__cause__ is None:
            error.__cause__ = self.cause.__cause__
        return error


class _Pending(NamedTuple):
    awaitable: Any


class Supervision(GenServer):
    """The base of all supervisors."""

    trap_exit: ClassVar[bool] = True
    _child_type: ClassVar[str] = "supervisor"
    _delayed: dict[Entry[Ref], TimerHandle]

    _children: Any = None
    """The machine that knows the children; None until `tree()` is called."""

    def _report_id(self, entry: Entry[Ref]) -> Any:
        """What a report calls *entry*."""
        return entry.spec.id

    # ---- starting the supervisor

    def _first(self) -> Work | None:
        self._delayed = {}
        work = super()._first()
        return None if work is None else (_whole(work[0]), work[1])

    def _initialised(self, value: Any) -> Work | None:
        if (value is None or isinstance(value, Ok)) and self._children is None:
            error = SpecError(
                f"{type(self).__name__}.init() returned {value!r}: there is nothing to supervise. "
                "Write `return self.tree(...)` as its last line.",
                value,
            )
            value = Stop(Custom(SpecTerm("bad_return", error)))
        return super()._initialised(value)

    def _fail(self, item: Any, error: BaseException) -> Work | None:
        if isinstance(error, SpecError) and self._process.state == STARTING:
            error = refusal("start_spec", error)
        return super()._fail(item, error)

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
        entry = request.entry
        self._delayed.pop(entry, None)
        return self._follow(self._children.retry(entry, request.ticket, self.node.now()))

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

    # ---- starting a child

    def _start_then(self, entry: Entry[Ref], then: Callable[[Started | NotStarted], Any]) -> Any:
        """Start a child and return `then(what came of it)`: at once if its init did not wait."""
        came = self._begin_start(entry)
        return self._finish_then(entry, came, then) if isinstance(came, _Pending) else then(came)

    async def _finish_then(
        self, entry: Entry[Ref], pending: _Pending, then: Callable[[Started | NotStarted], Any]
    ) -> Any:
        return then(await self._finish_start(entry, pending))

    async def _start(self, entry: Entry[Ref]) -> Started | NotStarted:
        """Start a child."""
        came = self._begin_start(entry)
        return await self._finish_start(entry, came) if isinstance(came, _Pending) else came

    def _begin_start(self, entry: Entry[Ref]) -> Started | NotStarted | _Pending:
        try:
            value: Any = entry.spec.start(*entry.args)
            if value.__class__ is Future and value.done():
                value = value.get()
            elif inspect.isawaitable(value):
                return _Pending(value)
        except Exception as error:  # noqa: BLE001  # whatever a start function raises is its reason
            return _start_failed(error)
        return self._started(entry, value)

    async def _finish_start(self, entry: Entry[Ref], pending: _Pending) -> Started | NotStarted:
        try:
            value: Any = await pending.awaitable
        except Exception as error:  # noqa: BLE001  # whatever a start function raises is its reason
            return _start_failed(error)
        return self._started(entry, value)

    def _started(self, entry: Entry[Ref], value: Any) -> Started | NotStarted:
        match value:
            case (started, _info):
                ref = self._adopt(started)
            case _:
                ref = self._adopt(value)
        if ref is None:
            return NotStarted(BadReturn(value))
        if wanted(ProgressReport):
            report(ProgressReport(self.ref, self._report_id(entry), ref))
        return Started(ref, value)

    def _adopt(self, started: Any) -> Ref | None:
        """The ref of what a start function returned, linked to this supervisor."""
        if isinstance(started, Ref):
            process = started.process
        elif isinstance(started, pykka.ActorRef):
            process = process_of_foreign(started, self.node)  # pyright: ignore[reportUnknownArgumentType]  # isinstance() cannot know what kind of actor
        else:
            return None
        me = self._process
        if process.parent is not me and (me.links is None or process not in me.links):
            me.link(process)
        return process.ref

    # ---- ending children

    async def _end_each(
        self, entries: Iterable[Entry[Ref]], stopped: Callable[[Entry[Ref]], object]
    ) -> None:
        """End children one after the other, each within its shutdown time."""
        entries = list(entries)
        gone = self._take_exits(entries)
        for entry in entries:
            await self._end_child(entry, gone)
            stopped(entry)

    async def _end_child(self, entry: Entry[Ref], gone: dict[Ref, ExitReason]) -> None:
        """End one child within its shutdown time; if it takes longer it is killed."""
        child = self._let_go(entry)
        if child is None:
            self._ended_before(entry, gone)
            return
        down, shutdown = child.node.when_down(child), entry.spec.shutdown
        timer: TimerHandle | None = None
        self._tell_to_end(child, shutdown)
        if isinstance(shutdown, int | float) and shutdown > 0:
            timer = self.node.after(shutdown, _kill, child, self._process)
        try:
            reason: ExitReason = await down
        finally:
            if timer is not None:
                timer.cancel()
        self._check_end(entry, reason)

    async def _end_all(self, entries: list[Entry[Ref]]) -> None:
        """End children all at once, each within its shutdown time."""
        gone = self._take_exits(entries)
        downs: list[tuple[Entry[Ref], Future[ExitReason]]] = []
        slow: dict[float, list[Process]] = {}
        for entry in entries:
            child = self._let_go(entry)
            if child is None:
                self._ended_before(entry, gone)
                continue
            shutdown = entry.spec.shutdown
            downs.append((entry, child.node.when_down(child)))
            self._tell_to_end(child, shutdown)
            if isinstance(shutdown, int | float) and shutdown > 0:
                slow.setdefault(shutdown, []).append(child)
        timers = [self.node.after(s, _kill_all, late, self._process) for s, late in slow.items()]
        try:
            for entry, down in downs:
                self._check_end(entry, await down)
        finally:
            for timer in timers:
                timer.cancel()

    def _let_go(self, entry: Entry[Ref]) -> Process | None:
        """Unlink a child, so that its end will not come as an `Exit` too; None if it is dead."""
        child = cast("Ref", entry.ref).process
        if child.state == DEAD:
            return None
        self._process.unlink(child)
        return child

    def _tell_to_end(self, child: Process, shutdown: Any) -> None:
        me = self._process
        if shutdown != BRUTAL_KILL:
            child.transmit(child.on_exit_signal, me, SHUTDOWN, False)
        if shutdown in (BRUTAL_KILL, 0):
            _kill(child, me)

    def _ended_before(self, entry: Entry[Ref], gone: dict[Ref, ExitReason]) -> None:
        """Look at the end of a child that was dead before it was told to end."""
        ref = cast("Ref", entry.ref)
        reason = gone.get(ref) or self._take_exits([entry]).get(ref)
        if reason is None:
            child, links = ref.process, self._process.links
            linked = links is not None and child in links  # then its Exit is still on its way
            reason = child.reason if linked and child.reason is not None else NOPROC
        self._check_end(entry, reason)

    def _check_end(self, entry: Entry[Ref], reason: ExitReason) -> None:
        if not is_expected(entry.spec, reason):
            self._report("shutdown_error", reason, entry, entry.ref)

    def _take_exits(self, entries: Iterable[Entry[Ref]]) -> dict[Ref, ExitReason]:
        """Take the `Exit` messages of those children that are dead out of the mailbox."""
        dead = {e.ref for e in entries if e.ref is not None and e.ref.process.state == DEAD}
        exits: dict[Ref, ExitReason] = {}

        def of_the_dead(message: Any) -> bool:
            return message.__class__ is Exit and message.process in dead

        while dead and (exit := self.take(of_the_dead)) is not None:
            dead.discard(exit.process)
            exits[exit.process] = exit.reason
        return exits

    # ---- reports

    def _report(
        self, context: Context, reason: ExitReason, entry: Entry[Ref], place: Place
    ) -> None:
        if wanted(SupervisorReport):
            spec = entry.spec
            report(
                SupervisorReport(
                    self.ref,
                    context,
                    reason,
                    self._report_id(entry),
                    place,
                    spec.restart,
                    spec.shutdown,
                    spec.type,
                    spec.significant,
                )
            )


def refusal(tag: str, error: SpecError) -> ExitProcess:
    """What a supervisor ends with that cannot start because of a wrong spec or flag."""
    return ExitProcess(Custom(SpecTerm(tag, error)))


def _start_failed(error: Exception) -> Started | NotStarted:
    match error:
        case StartIgnored():
            return Started(None, None)
        case StartFailed(reason=reason):
            return NotStarted(reason, error)
        case AlreadyStarted(ref=ref):
            return NotStarted(Custom(("already_started", ref)), error)
        case _:
            return NotStarted(as_reason(error))


def _kill(child: Process, me: Process) -> None:
    child.transmit(child.on_exit_signal, me, KILL, False)


def _kill_all(children: list[Process], me: Process) -> None:
    for child in children:
        _kill(child, me)


async def _whole(coroutine: Any) -> Any:
    """Await *coroutine*, and whatever awaitable it returned: `init` may return `self.tree(...)`."""
    value = await coroutine
    while value.__class__ is CoroutineType:
        value = await value
    return value
