"""What comes due next, of many keys that each have a time.

Knows keys and times; knows nothing of what they stand for. The heap keeps entries that are out of
date until they surface or outnumber the true ones, so setting and dropping a time cost next to
nothing, and one timer at `next_at` serves any number of keys.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_SLACK = 64


class Schedule(Generic[K]):
    """Times by key; holds no more than its user sets."""

    __slots__ = ("_heap", "_serial", "_times")

    def __init__(self) -> None:
        self._times: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._serial = 0

    def set(self, key: K, at: float) -> None:
        """Let *key* come due at *at*, whatever was said before; infinity never comes."""
        if at == inf:
            self.drop(key)
            return
        self._times[key] = at
        self._serial += 1
        heappush(self._heap, (at, self._serial, key))
        if len(self._heap) > 2 * len(self._times) + _SLACK:
            self._heap = [entry for entry in self._heap if self._times.get(entry[2]) == entry[0]]
            heapify(self._heap)

    def drop(self, key: K) -> None:
        """Forget *key*, if it is there."""
        self._times.pop(key, None)

    def clear(self) -> None:
        """Forget every key."""
        self._times.clear()
        self._heap.clear()

    def next_at(self) -> float | None:
        """Tell when the next key comes due."""
        heap, times = self._heap, self._times
        while heap:
            at, _, key = heap[0]
            if times.get(key) == at:
                return at
            heappop(heap)
        return None

    def take_due(self, now: float) -> list[K]:
        """Remove the keys that are due at *now*, earliest first, and return them."""
        due: list[K] = []
        while (at := self.next_at()) is not None and at <= now:
            key = heappop(self._heap)[2]
            del self._times[key]
            due.append(key)
        return due

    def __len__(self) -> int:
        return len(self._times)

    def __contains__(self, key: object) -> bool:
        return key in self._times
