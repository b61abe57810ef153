"""How a supervisor ends its children: told, waited for, and killed when they take too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from supervisors.behaviours.child_reports import ChildReports
from supervisors.machines.children import Entry
from supervisors.machines.restarts import is_expected
from supervisors.runtime.future import Future
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import DEAD
from supervisors.runtime.timers import TimerHandle
from supervisors.words.reasons import KILL, NOPROC, SHUTDOWN, ExitReason
from supervisors.words.signals import Exit
from supervisors.words.specs import BRUTAL_KILL


class ChildEnds(ChildReports):
    """The part of a supervisor that ends children."""

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
            timer = self.node.after(shutdown, _kill, child, self._otp_process)
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
        timers = [
            self.node.after(s, _kill_all, late, self._otp_process) for s, late in slow.items()
        ]
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
        self._otp_process.unlink(child)
        return child

    def _tell_to_end(self, child: Process, shutdown: Any) -> None:
        me = self._otp_process
        if shutdown != BRUTAL_KILL:
            child.transmit(child.on_exit_signal, me, SHUTDOWN, False)
        if shutdown in (BRUTAL_KILL, 0):
            _kill(child, me)

    def _ended_before(self, entry: Entry[Ref], gone: dict[Ref, ExitReason]) -> None:
        """Look at the end of a child that was dead before it was told to end."""
        ref = cast("Ref", entry.ref)
        reason = gone.get(ref) or self._take_exits([entry]).get(ref)
        if reason is None:
            child, links = ref.process, self._otp_process.links
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


def _kill(child: Process, me: Process) -> None:
    child.transmit(child.on_exit_signal, me, KILL, False)


def _kill_all(children: list[Process], me: Process) -> None:
    for child in children:
        _kill(child, me)
