"""How often more scopes were asked for in vain.

A server may go on refusing whatever is granted. So each want has a number of attempts, after which
it counts as refused for good; an hour later it may be tried anew, for people do change rights.
"""

from __future__ import annotations

from collections.abc import Iterable

FORGOTTEN_AFTER = 3600.0
"""Seconds after its last attempt that a want counts as new."""
MAX_WANTS = 1000


class Attempts:
    """The attempts for each server and its wants, at most *limit* for one."""

    __slots__ = ("_limit", "_made")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._made: dict[tuple[str, frozenset[str]], tuple[int, float]] = {}

    def allow(self, resource: str, scopes: Iterable[str], now: float) -> bool:
        """Count one more attempt to get *scopes* at *now*, unless there were enough of them."""
        want = (resource, frozenset(scopes))
        count, last = self._made.pop(want, (0, now))
        if now - last > FORGOTTEN_AFTER:
            count = 0
        if count < self._limit:
            self._made[want] = (count + 1, now)
            while len(self._made) > MAX_WANTS:
                del self._made[next(iter(self._made))]
            return True
        self._made[want] = (count, last)
        return False
