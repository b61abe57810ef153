"""Work that several ask for at the same time and one does for all.

Knows who asked for what and whose turn it is to do it; knows nothing of the work, such as a token's
refresh. Who came first leads; a leader that leaves hands the work to the next.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, Literal, TypeVar

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Hashable)

Role = Literal["lead", "wait", "full"]


class SingleFlight(Generic[K, W]):
    """What is being done now, by key, for at most *limit* waiters together."""

    __slots__ = ("_count", "_flights", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._flights: dict[K, dict[W, None]] = {}
        self._count = 0

    def join(self, key: K, waiter: W) -> Role:
        """Let *waiter* ask for *key*: it does the work, waits for it, or there is no room."""
        if self._count >= self._limit:
            return "full"
        leads = key not in self._flights
        self._flights.setdefault(key, {})[waiter] = None
        self._count += 1
        return "lead" if leads else "wait"

    def finish(self, key: K) -> list[W]:
        """End the work on *key*, and return all who asked, the leader first."""
        waiters = list(self._flights.pop(key, {}))
        self._count -= len(waiters)
        return waiters

    def leave(self, key: K, waiter: W) -> W | None:
        """Let *waiter* go before the end, and return who leads now if it was the leader."""
        waiters = self._flights.get(key, {})
        if waiter not in waiters:
            return None
        led = waiter == next(iter(waiters))
        del waiters[waiter]
        self._count -= 1
        if not waiters:
            del self._flights[key]
            return None
        return next(iter(waiters)) if led else None

    def __len__(self) -> int:
        return self._count
