"""The children of a supervisor, and what follows when one of them ends.

Keeps them in start order, found by id and by ref in constant time. Decides what to stop and what to
start; its owner does that and tells what came of it. A ref may be anything hashable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from supervisors.machines.backoff import Pace
from supervisors.machines.restarts import After, Intensity, after, is_reported
from supervisors.words.errors import (
    AlreadyPresent,
    AlreadyStarted,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
)
from supervisors.words.reasons import ExitReason
from supervisors.words.specs import AutoShutdown as AutoShutdownFlag
from supervisors.words.specs import Child, ChildSpec, Count, Flags

R = TypeVar("R")

Place: TypeAlias = Any
"""Where a report says a child is: its ref, ("restarting", the ref it last had), or None."""


class Entry(Generic[R]):
    """One child: its spec and what has become of it."""

    __slots__ = ("args", "pace", "ref", "restarting", "spec", "ticket")

    def __init__(self, spec: ChildSpec, args: tuple[Any, ...] | None = None) -> None:
        self.spec = spec
        self.args = spec.args if args is None else args
        """What its start function is called with."""
        self.ref: R | None = None
        """The process that runs, or, while it is being restarted, the last one that ran."""
        self.restarting = False
        self.ticket = 0
        """Tells the latest try to restart it from earlier ones."""
        self.pace = None if spec.restart_delay is None else Pace(spec.restart_delay)

    @property
    def running(self) -> bool:
        """True while it has a process, as far as is known."""
        return self.ref is not None and not self.restarting

    @property
    def place(self) -> Place:
        """Where a report says it is."""
        return ("restarting", self.ref) if self.restarting else self.ref

    @property
    def line(self) -> Child:
        """Its line in `which_children()`."""
        ref = "restarting" if self.restarting else self.ref
        return Child(self.spec.id, ref, self.spec.type)

    def postpone(self, now: float, random: float) -> tuple[int, float]:
        """Await another try: its ticket, and the seconds until then."""
        self.restarting = True
        self.ticket += 1
        return self.ticket, 0.0 if self.pace is None else self.pace.next(now, random)

    def run(self, ref: R, now: float) -> None:
        """It runs as *ref* since *now*."""
        self.ref = ref
        self.restarting = False
        if self.pace is not None:
            self.pace.up(now)


@dataclass(frozen=True, slots=True)
class Restart(Generic[R]):
    """Stop *stop*, in this order, each after the other; then start *start* likewise.

    The first start that fails ends it. *place* is where a report of that sees the child.
    """

    stop: tuple[Entry[R], ...]
    start: tuple[Entry[R], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Retry(Generic[R]):
    """Stop *stop*, in this order; after *seconds* ask `retry(entry, ticket)`."""

    entry: Entry[R]
    ticket: int
    seconds: float
    stop: tuple[Entry[R], ...] = ()


@dataclass(frozen=True, slots=True)
class GiveUp(Generic[R]):
    """There were too many restarts: end the supervisor; *entry* is the child that was too much."""

    entry: Entry[R]
    place: Place


@dataclass(frozen=True, slots=True)
class AutoShutdown:
    """The significant children have ended: end the supervisor."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[R]):
    """A child ended by itself; *reported* says whether that is worth a report."""

    entry: Entry[R]
    ref: R
    reported: bool
    then: Restart[R] | Retry[R] | GiveUp[R] | AutoShutdown | None


class Children(Generic[R]):
    """The children of a static supervisor."""

    def __init__(self, specs: Iterable[ChildSpec], flags: Flags) -> None:
        self._flags = flags
        self._intensity = Intensity(flags.max_restarts, flags.max_seconds)
        self._entries: dict[Any, Entry[R]] = {spec.id: Entry(spec) for spec in specs}
        self._by_ref: dict[R, Entry[R]] = {}
        self._significant = 0
        """How many significant children are not down."""

    def __iter__(self) -> Iterator[Entry[R]]:
        """The children in start order."""
        return iter(self._entries.values())

    # ---- what happened, and what follows

    def exited(
        self, ref: R, reason: ExitReason, now: float, random: float = 0.5
    ) -> Ended[R] | None:
        """Decide what follows when *ref* has ended; None if that is no child.

        *random* is a number from 0 up to 1, for the jitter of a delay.
        """
        entry = self._by_ref.get(ref)
        if entry is None:
            return None
        then: Restart[R] | Retry[R] | GiveUp[R] | AutoShutdown | None
        if after(entry.spec, reason) is not After.RESTART:
            self.stopped(entry)
            then = self._auto_shutdown(entry.spec)
        elif entry.pace is None:
            then = self._restart(entry, now)
        else:
            del self._by_ref[ref]
            ticket, seconds = entry.postpone(now, random)
            then = Retry(entry, ticket, seconds, self._stop_with(entry))
        return Ended(entry, ref, is_reported(entry.spec, reason), then)

    def retry(self, entry: Entry[R], ticket: int, now: float) -> Restart[R] | GiveUp[R] | None:
        """Decide what to do at another try to restart *entry*; None if it is obsolete."""
        if not entry.restarting or entry.ticket != ticket:
            return None
        return self._restart(entry, now)

    def started(self, entry: Entry[R], ref: R | None, now: float) -> None:
        """A start went well: *entry* runs as *ref*, or, with None, chose not to run."""
        if ref is None:
            self.stopped(entry)
            return
        self._down(entry)
        entry.run(ref, now)
        self._by_ref[ref] = entry
        self._significant += entry.spec.significant

    def failed(self, entry: Entry[R], now: float, random: float = 0.5) -> Retry[R]:
        """A restart failed: *entry* is to be tried again."""
        if not entry.restarting:
            self._significant += entry.spec.significant
        return Retry(entry, *entry.postpone(now, random))

    def stopped(self, entry: Entry[R]) -> None:
        """*entry* is down and stays so; a temporary child is forgotten."""
        self._down(entry)
        if entry.spec.restart == "temporary":
            del self._entries[entry.spec.id]

    def add(self, entry: Entry[R], ref: R | None, now: float) -> None:
        """A new child was started: it runs as *ref*, or, with None, chose not to run."""
        self._entries[entry.spec.id] = entry
        self.started(entry, ref, now)

    # ---- what may be done

    @property
    def auto_shutdown(self) -> AutoShutdownFlag:
        """The flag of the supervisor."""
        return self._flags.auto_shutdown

    def check_new(self, id: Any) -> None:
        """Check that a child *id* may be added.

        Raises:
            AlreadyStarted: There is one, and it runs.
            AlreadyPresent: There is one that does not run.
        """
        entry = self._entries.get(id)
        if entry is not None:
            raise AlreadyStarted(entry.ref) if entry.running else AlreadyPresent(id)

    def find(self, id: Any) -> Entry[R]:
        """The child *id*.

        Raises:
            ChildNotFound: There is none.
        """
        try:
            return self._entries[id]
        except (KeyError, TypeError):  # unknown, or nothing that can be an id
            raise ChildNotFound(id) from None

    def find_down(self, id: Any) -> Entry[R]:
        """The child *id*, which must be down.

        Raises:
            ChildNotFound: There is none.
            ChildRunning: It runs.
            ChildRestarting: It is being restarted.
        """
        entry = self.find(id)
        if entry.restarting:
            raise ChildRestarting(id)
        if entry.ref is not None:
            raise ChildRunning(id)
        return entry

    def delete(self, id: Any) -> None:
        """Forget the child *id*, which must be down; raises as `find_down`."""
        self.find_down(id)
        del self._entries[id]

    # ---- looking

    def stop_order(self) -> list[Entry[R]]:
        """The children that run, the last started first."""
        return [entry for entry in reversed(self._entries.values()) if entry.running]

    def which(self) -> list[Child]:
        """The lines of `which_children()`, the last started first."""
        return [entry.line for entry in reversed(self._entries.values())]

    def count(self, is_alive: Callable[[R], bool]) -> Count:
        """Count the children; `is_alive` says whether a ref is alive at this moment."""
        specs = len(self._entries)
        active = sum(map(is_alive, self._by_ref))
        supervisors = sum(entry.spec.type == "supervisor" for entry in self)
        return Count(specs, active, supervisors, specs - supervisors)

    # ---- rules

    def _restart(self, entry: Entry[R], now: float) -> Restart[R] | GiveUp[R]:
        place = entry.place
        if not self._intensity.allow(now):
            self._down(entry)
            return GiveUp(entry, place)
        if entry.ref is not None:
            self._by_ref.pop(entry.ref, None)
        entry.restarting = True
        if self._flags.strategy == "one_for_one":
            return Restart((), (entry,), place)
        stop = self._stop_with(entry)
        start = (other for other in self._group(entry) if other.spec.restart != "temporary")
        return Restart(stop, tuple(start), None)

    def _stop_with(self, entry: Entry[R]) -> tuple[Entry[R], ...]:
        """Who has to stop when *entry* is restarted.

        Those that are down need no stopping; those being restarted are no longer tried alone.
        """
        stop: list[Entry[R]] = []
        for other in reversed(self._group(entry)):
            if other.running:
                stop.append(other)
            elif other is not entry:
                self._down(other)
        return tuple(stop)

    def _group(self, entry: Entry[R]) -> list[Entry[R]]:
        """Who is restarted together with *entry*, in start order, *entry* included."""
        if self._flags.strategy == "one_for_one":
            return [entry]
        entries = list(self)
        if self._flags.strategy == "rest_for_one":
            return entries[entries.index(entry) :]
        return entries

    def _down(self, entry: Entry[R]) -> None:
        if entry.ref is None and not entry.restarting:
            return
        if entry.ref is not None and not entry.restarting:
            del self._by_ref[entry.ref]
        entry.ref = None
        entry.restarting = False
        self._significant -= entry.spec.significant

    def _auto_shutdown(self, spec: ChildSpec) -> AutoShutdown | None:
        flag = self._flags.auto_shutdown
        if not spec.significant or flag == "never":
            return None
        return None if flag == "all_significant" and self._significant else AutoShutdown()
