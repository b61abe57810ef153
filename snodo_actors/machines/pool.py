"""Which call goes to which connection, and which one waits.

Knows slots, turns and times; knows nothing of sockets, workers or HTTP. A slot is one connection
and the worker that owns it. A slot that was stopped, detached or reported down is free at once, so
nothing waits while there is room; waiting calls are served in the order they came.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sized
from dataclasses import dataclass
from math import inf
from typing import Generic, Literal, TypeAlias, TypeVar

from snodo_actors.machines.schedule import Schedule

C = TypeVar("C", bound=Hashable)

Why = Literal["timeout", "closed", "full", "worker_down"]


@dataclass(frozen=True, slots=True)
class Open(Generic[C]):
    """Start a worker for the new *slot* and give it *call* as its first."""

    slot: int
    call: C


@dataclass(slots=True)  # frozen takes twice the time, and nearly every call makes one
class Hand(Generic[C]):
    """Give *call* to the worker of *slot*, whose connection is open."""

    slot: int
    call: C


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the worker of *slot*; the pool has already forgotten it."""

    slot: int


@dataclass(frozen=True, slots=True)
class Refuse(Generic[C]):
    """Fail *call*: it waited too long, there was no room to wait, or its worker is gone."""

    call: C
    why: Why


Deed: TypeAlias = Open[C] | Hand[C] | Stop | Refuse[C]


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many of each there are now."""

    idle: int
    busy: int
    waiting: int


class Pool(Generic[C]):
    """At most *size* connections and *max_waiting* calls that wait for one.

    Calls are told apart as dictionary keys are. After `close` every new call is refused, for good.
    """

    __slots__ = (
        "_busy",
        "_closed",
        "_idle",
        "_idle_ends",
        "_last_slot",
        "_max_requests",
        "_max_waiting",
        "_patience",
        "_size",
        "_uses",
        "_waiting",
        "idle_timeout",
    )

    def __init__(
        self, *, size: int, idle_timeout: float | None, max_requests: int, max_waiting: int
    ) -> None:
        self._size = size
        self.idle_timeout = inf if idle_timeout is None else idle_timeout
        """Seconds a connection may be idle; infinity: as long as it likes."""
        self._max_requests = max_requests
        self._max_waiting = max_waiting
        self._idle: dict[int, None] = {}  # the last one was used last
        self._busy: dict[int, C] = {}
        self._uses: dict[int, int] = {}
        self._waiting: OrderedDict[C, None] = OrderedDict()
        self._patience: Schedule[C] = Schedule()
        self._idle_ends: Schedule[int] = Schedule()
        self._last_slot = 0
        self._closed = False

    def request(self, call: C, expires_at: float, now: float) -> list[Deed[C]]:
        """Find a connection for *call*, or let it wait until *expires_at*."""
        if self._closed:
            return [Refuse(call, "closed")]
        if expires_at <= now:
            return [Refuse(call, "timeout")]
        if self._idle:
            slot, _ = self._idle.popitem()
            self._idle_ends.drop(slot)
            self._busy[slot] = call
            return [Hand(slot, call)]
        if len(self._busy) < self._size:
            return [self._open(call)]
        if len(self._waiting) >= self._max_waiting:
            return [Refuse(call, "full")]
        self._waiting[call] = None
        self._patience.set(call, expires_at)
        return []

    def finished(self, slot: int, *, reusable: bool, now: float) -> list[Deed[C]]:
        """Take *slot* back: its call is answered, its connection *reusable* or not."""
        if self._busy.pop(slot, None) is None:
            return []
        self._uses[slot] += 1
        if not reusable or self._closed or self._uses[slot] >= self._max_requests:
            del self._uses[slot]
            return [Stop(slot), *self._serve()]
        if self._waiting:
            self._busy[slot] = call = self._first_waiting()
            return [Hand(slot, call)]
        self._idle[slot] = None
        self._idle_ends.set(slot, now + self.idle_timeout)
        return []

    def detached(self, slot: int) -> list[Deed[C]]:
        """Let *slot* go: its answer is a stream, which has the connection to itself."""
        if self._busy.pop(slot, None) is None:
            return []
        del self._uses[slot]
        return self._serve()

    def down(self, slot: int, *, untouched: bool = False) -> list[Deed[C]]:
        """Free *slot*, whose worker is gone.

        *untouched*: no byte of its call can have been processed, so the call gets a fresh
        connection instead of an error.
        """
        if slot in self._idle:
            self._forget_idle(slot)
            return []  # nothing waits while a connection is idle
        call = self._busy.pop(slot, None)
        if call is None:
            return []
        del self._uses[slot]
        if untouched and not self._closed:
            return [self._open(call)]
        return [Refuse(call, "closed" if untouched else "worker_down"), *self._serve()]

    def cancelled(self, call: C) -> list[Deed[C]]:
        """Drop *call*, whose caller is gone, wherever it is."""
        if call in self._waiting:
            del self._waiting[call]
            self._patience.drop(call)
            return []
        for slot, busy_with in self._busy.items():
            if busy_with == call:
                del self._busy[slot], self._uses[slot]
                return [Stop(slot), *self._serve()]
        return []

    def due(self, now: float) -> list[Deed[C]]:
        """Do what time asks for at *now*: refuse calls that waited too long, stop idle slots."""
        deeds: list[Deed[C]] = []
        for call in self._patience.take_due(now):
            del self._waiting[call]
            deeds.append(Refuse(call, "timeout"))
        for slot in self._idle_ends.take_due(now):
            self._forget_idle(slot)
            deeds.append(Stop(slot))
        return deeds

    def next_at(self) -> float | None:
        """Tell when `due` has something to do."""
        patience = self._patience.next_at()
        # While a call waits, no connection is idle.
        return self._idle_ends.next_at() if patience is None else patience

    def close(self) -> list[Deed[C]]:
        """Stop what is idle, refuse what waits; what is busy finishes first."""
        self._closed = True
        deeds: list[Deed[C]] = [Refuse(call, "closed") for call in self._waiting]
        deeds.extend(Stop(slot) for slot in self._idle)
        self._waiting.clear()
        self._patience.clear()
        for slot in tuple(self._idle):
            self._forget_idle(slot)
        return deeds

    def busy_with(self, slot: int) -> C | None:
        """Tell which call has *slot*."""
        return self._busy.get(slot)

    def waiting(self) -> list[C]:
        """Tell which calls wait, in their order."""
        return list(self._waiting)

    def busy(self) -> list[C]:
        """Tell which calls have a connection."""
        return list(self._busy.values())

    @property
    def under_way(self) -> Sized:
        """The calls that have a connection."""
        return self._busy

    def statistics(self) -> Statistics:
        """Count slots and waiting calls."""
        return Statistics(len(self._idle), len(self._busy), len(self._waiting))

    def _serve(self) -> list[Deed[C]]:
        """Let the first waiting call have the slot that was just freed."""
        return [self._open(self._first_waiting())] if self._waiting else []

    def _first_waiting(self) -> C:
        call, _ = self._waiting.popitem(last=False)
        self._patience.drop(call)
        return call

    def _open(self, call: C) -> Open[C]:
        self._last_slot += 1
        self._uses[self._last_slot] = 0
        self._busy[self._last_slot] = call
        return Open(self._last_slot, call)

    def _forget_idle(self, slot: int) -> None:
        del self._idle[slot], self._uses[slot]
        self._idle_ends.drop(slot)
