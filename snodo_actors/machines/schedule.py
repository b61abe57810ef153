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

    __slots__ = ("_entries", "_heap", "_serial")

    def __init__(self) -> None:
        self._entries: dict[K, tuple[float, int, K]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._serial = 0

    def set(self, key: K, at: float) -> None:
        """Let *key* come due at *at*, whatever was said before; infinity never comes."""
        if at == inf:
            self.drop(key)
            return
        self._serial += 1
        entry = self._entries[key] = (at, self._serial, key)
        heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + _SLACK:
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def drop(self, key: K) -> None:
        """Forget *key*, if it is there."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget every key."""
        self._entries.clear()
        self._heap.clear()

    def next_at(self) -> float | None:
        """Tell when the next key comes due."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heap[0]
            if entries.get(entry[2]) is entry:
                return entry[0]
            heappop(heap)
        return None

    def take_due(self, now: float) -> list[K]:
        """Remove the keys that are due at *now*, earliest first, and return them."""
        due: list[K] = []
        while (at := self.next_at()) is not None and at <= now:
            key = heappop(self._heap)[2]
            del self._entries[key]
            due.append(key)
        return due

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries
