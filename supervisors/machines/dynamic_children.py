"""The children of a dynamic supervisor, and what follows when one of them ends.

Keeps them by ref alone, in no order that matters; each is restarted by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from supervisors.machines.children import AutoShutdown, Ended, Entry, GiveUp, Place, Restart, Retry
from supervisors.machines.restarts import After, Intensity, after, is_reported
from supervisors.words.errors import ChildNotFound, MaxChildren
from supervisors.words.reasons import ExitReason
from supervisors.words.specs import Child, ChildSpec, Count, Flags

R = TypeVar("R")


class DynamicChildren(Generic[R]):
    """Children without ids. With *template* all are made from that spec."""

    def __init__(
        self, flags: Flags, max_children: int | None = None, template: ChildSpec | None = None
    ) -> None:
        self._flags = flags
        self._intensity = Intensity(flags.max_restarts, flags.max_seconds)
        self._max_children = max_children
        self._template = template
        self._by_ref: dict[R, Entry[R]] = {}
        """A child that is being restarted stands under the last ref it had."""

    def __len__(self) -> int:
        return len(self._by_ref)

    # ---- what happened, and what follows

    def exited(
        self, ref: R, reason: ExitReason, now: float, random: float = 0.5
    ) -> Ended[R] | None:
        """Decide what follows when *ref* has ended; None if that is no child.

        *random* is a number from 0 up to 1, for the jitter of a delay.
        """
        entry = self._by_ref.get(ref)
        if entry is None or entry.restarting:
            return None
        then: Restart[R] | Retry[R] | GiveUp[R] | AutoShutdown | None
        if after(entry.spec, reason) is not After.RESTART:
            del self._by_ref[ref]
            then = self._auto_shutdown(entry.spec)
        elif entry.pace is None:
            then = self._restart(entry, now)
        else:
            then = Retry(entry, *entry.postpone(now, random))
        return Ended(entry, ref, is_reported(entry.spec, reason), then)

    def retry(self, entry: Entry[R], ticket: int, now: float) -> Restart[R] | GiveUp[R] | None:
        """Decide what to do at another try to restart *entry*; None if it is obsolete."""
        if not entry.restarting or entry.ticket != ticket:
            return None
        return self._restart(entry, now)

    def add(self, entry: Entry[R], ref: R, now: float) -> None:
        """A new child was started as *ref*."""
        entry.run(ref, now)
        self._by_ref[ref] = entry

    def started(self, entry: Entry[R], ref: R | None, now: float) -> None:
        """A restart went well: *entry* runs as *ref*, or, with None, chose not to run."""
        self.stopped(entry)
        if ref is not None:
            self.add(entry, ref, now)

    def failed(self, entry: Entry[R], now: float, random: float = 0.5) -> Retry[R]:
        """A restart failed: *entry* is to be tried again."""
        return Retry(entry, *entry.postpone(now, random))

    def stopped(self, entry: Entry[R]) -> None:
        """*entry* is down and forgotten."""
        assert entry.ref is not None
        del self._by_ref[entry.ref]
        entry.ref = None
        entry.restarting = False

    # ---- what may be done

    def check_room(self) -> None:
        """Check that one more child may be started.

        Raises:
            MaxChildren: There are as many as there may be.
        """
        if self._max_children is not None and len(self._by_ref) >= self._max_children:
            raise MaxChildren(self._max_children)

    def find(self, ref: R) -> Entry[R]:
        """The child that runs as *ref*, or last did and is being restarted.

        Raises:
            ChildNotFound: There is none.
        """
        entry = self._by_ref.get(ref)
        if entry is None:
            raise ChildNotFound(ref)
        return entry

    # ---- looking

    def running(self) -> list[Entry[R]]:
        """The children that run, the oldest first."""
        return [entry for entry in self._by_ref.values() if not entry.restarting]

    def which(self) -> list[Child]:
        """The lines of `which_children()`, the oldest first."""
        return [entry.line._replace(id=None) for entry in self._by_ref.values()]

    def count(self, is_alive: Callable[[R], bool]) -> Count:
        """Count the children; `is_alive` says whether a ref is alive at this moment."""
        entries = self._by_ref.values()
        active = sum(is_alive(ref) for ref, e in self._by_ref.items() if not e.restarting)
        supervisors = sum(entry.spec.type == "supervisor" for entry in entries)
        specs = len(entries) if self._template is None else 1
        return Count(specs, active, supervisors, len(entries) - supervisors)

    def report_id(self, entry: Entry[R]) -> Any:
        """The id a report gives *entry*: the template's, else None."""
        return None if self._template is None else entry.spec.id

    # ---- rules

    def _restart(self, entry: Entry[R], now: float) -> Restart[R] | GiveUp[R]:
        place: Place = entry.place
        if not self._intensity.allow(now):
            place = place if self._template else entry.ref  # as Elixir reports it
            self.stopped(entry)
            return GiveUp(entry, place)
        entry.restarting = True
        return Restart((), (entry,), place if self._template else entry.place)

    def _auto_shutdown(self, spec: ChildSpec) -> AutoShutdown | None:
        flag = self._flags.auto_shutdown
        if not spec.significant or flag == "never":
            return None
        return None if flag == "all_significant" and self._by_ref else AutoShutdown()
