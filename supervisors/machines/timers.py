"""Which timer is due, and when the next one will be.

A heap whose cancelled entries are left in place until they are half of it; knows no clock.
"""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

T = TypeVar("T")


class Timer(Generic[T]):
    """One timer: when it is due, and what it carries until it fires or is cancelled."""

    __slots__ = ("item", "when")

    def __init__(self, when: float, item: T) -> None:
        self.when = when
        self.item: T | None = item

    @property
    def pending(self) -> bool:
        """True until it fires or is cancelled: whoever empties `item` cancels it, in any thread."""
        return self.item is not None


class TimerQueue(Generic[T]):
    """Timers in the order they are due; those due at the same time, in the order they were set."""

    _FEW = 64

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer[T]]] = []
        self._count = 0
        self._cancelled = 0

    def __len__(self) -> int:
        return sum(entry[2].item is not None for entry in self._heap)

    def add(self, when: float, item: T) -> Timer[T]:
        """Set a timer for the moment *when*."""
        timer = Timer(when, item)
        self.push(timer)
        return timer

    def push(self, timer: Timer[T]) -> None:
        """Take in a timer that was made elsewhere."""
        self._count += 1
        heapq.heappush(self._heap, (timer.when, self._count, timer))

    def cancel(self, timer: Timer[T]) -> bool:
        """Cancel *timer*; False if it had fired or been cancelled already."""
        if timer.item is None:
            return False
        timer.item = None
        self._cancelled += 1
        if self._cancelled > self._FEW and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].item is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0
        return True

    def next_due(self) -> float | None:
        """The moment the next timer is due, or None without timers."""
        self._drop_cancelled()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> T | None:
        """Take out what the next timer due at *now* carries; None when none is due."""
        self._drop_cancelled()
        if not self._heap or self._heap[0][0] > now:
            return None
        timer = heapq.heappop(self._heap)[2]
        item, timer.item = timer.item, None
        return item

    def _drop_cancelled(self) -> None:
        heap = self._heap
        while heap and heap[0][2].item is None:
            heapq.heappop(heap)
            self._cancelled = max(0, self._cancelled - 1)  # others may just have emptied the timer
