"""How long a child waits before it is started again.

Knows neither clock nor chance: the time and a random number come in.
"""

from __future__ import annotations

from supervisors.words.specs import Backoff


def delay(backoff: Backoff, tries: int, random: float) -> float:
    """The seconds to wait when *tries* restarts went before; *random* is from 0 up to 1."""
    try:
        base = min(backoff.initial * backoff.factor**tries, backoff.maximum)
    except OverflowError:
        base = backoff.maximum
    return base * (1.0 + backoff.jitter * (2.0 * random - 1.0))


class Pace:
    """How often in a row one child was restarted."""

    __slots__ = ("_backoff", "_since", "_tries")

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._tries = 0
        self._since: float | None = None

    def up(self, now: float) -> None:
        """The child runs since *now*."""
        self._since = now

    def next(self, now: float, random: float) -> float:
        """The seconds to wait before the restart that became necessary at *now*."""
        if self._since is not None and now - self._since >= self._backoff.maximum:
            self._tries = 0
        self._since = None
        self._tries += 1
        return delay(self._backoff, self._tries - 1, random)
