"""When one request runs out of time.

Knows a timeout, its reset on progress and the limit of all resets; knows nothing of requests. The
limit holds from the start, so a silent server does not escape it and a talkative one does not move
it; a deadline that has passed stays passed. A time without end is infinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from snodo_actors.words.errors import RequestTimeout
from snodo_actors.words.failures import timed_out, total_timed_out


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds a request may take; None is no limit.

    *max_total_timeout* counts only together with *reset_timeout_on_progress*.
    """

    timeout: float | None
    reset_timeout_on_progress: bool = False
    max_total_timeout: float | None = 600.0


class Deadline:
    """The end of one request's time, which runs from *now*."""

    __slots__ = ("_cap", "_capped", "_resets", "_timeout", "_timeouts", "_total", "at")

    def __init__(self, timeouts: Timeouts, now: float) -> None:
        self._timeouts = timeouts
        self.restart(now)

    def restart(self, now: float) -> None:
        """Let the time run from *now*, as for another attempt."""
        timeouts = self._timeouts
        self._timeout = inf if timeouts.timeout is None else timeouts.timeout
        self._resets = timeouts.reset_timeout_on_progress
        self._capped = False
        self.at = now + self._timeout
        if self._resets:
            total, endless = timeouts.max_total_timeout, self._timeout == inf
            self._total = inf if total is None or endless else total
            self._cap = now + self._total
            self._move(self.at)

    def progressed(self, now: float) -> bool:
        """Take note of progress at *now*, and tell whether the deadline moved."""
        before, later = self.at, now + self._timeout
        if not self._resets or now >= before or later <= before:
            return False
        self._move(later)
        return self.at > before

    def has_passed(self, now: float) -> bool:
        """Tell whether the time is over at *now*."""
        return now >= self.at

    def left(self, now: float) -> float:
        """Tell how many seconds are left at *now*."""
        return max(0.0, self.at - now)

    def error(self) -> RequestTimeout:
        """Make the error of a request whose time is over."""
        return total_timed_out(self._total) if self._capped else timed_out(self._timeout)

    def _move(self, at: float) -> None:
        self._capped = at > self._cap
        self.at = min(at, self._cap)
