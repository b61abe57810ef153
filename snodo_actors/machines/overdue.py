"""Which of several things have taken too long: all have the same time, from when each began.

Knows times; knows nothing of the things, such as calls of the user's code.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Overdue(Generic[T]):
    """The things under way, each of which may take *limit* seconds."""

    __slots__ = ("_began", "_limit")

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._began: dict[T, float] = {}  # in the order of their ends, as all have the same time

    def began(self, thing: T, now: float) -> None:
        """Take note of a *thing* that began."""
        self._began[thing] = now

    def ended(self, thing: T) -> bool:
        """Take note of its end; False: it was too late for that."""
        return self._began.pop(thing, None) is not None

    def due(self, now: float) -> list[T]:
        """Give up those whose time is over, and say which."""
        late = [thing for thing, began in self._began.items() if began + self._limit <= now]
        for thing in late:
            del self._began[thing]
        return late

    def next_at(self) -> float | None:
        """Say when the time of the next is over; None: nothing is under way."""
        return next((began + self._limit for began in self._began.values()), None)
