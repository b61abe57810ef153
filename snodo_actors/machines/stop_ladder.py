"""How a server process is brought to its end: politely, then firmly, then by force.

Knows the order of the steps and how long each may take; knows nothing of processes or signals. The
way down always ends: after the last grace the process is given up.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class CloseInput:
    """Close the server's stdin, and go on reading what it writes: it may be blocked in a write."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Send the signal to the process and all it started."""

    name: Literal["SIGTERM", "SIGKILL"]


@dataclass(frozen=True, slots=True)
class Finished:
    """Stop waiting; *exited* is False when even force did not help within its grace."""

    exited: bool


Deed: TypeAlias = CloseInput | Signal | Finished


class StopLadder:
    """One way down, taken once; each grace is how many seconds to wait after its step."""

    __slots__ = ("_finished", "_next_at", "_steps")

    def __init__(
        self, *, input_grace: float = 2.0, term_grace: float = 1.0, kill_grace: float = 1.0
    ) -> None:
        self._steps: deque[tuple[Deed, float]] = deque(
            [
                (CloseInput(), input_grace),
                (Signal("SIGTERM"), term_grace),
                (Signal("SIGKILL"), kill_grace),
            ]
        )
        self._next_at: float | None = None
        self._finished = False

    def start(self, now: float) -> Deed | None:
        """Take the first step; later starts change nothing."""
        if self._finished or self._next_at is not None:
            return None
        return self._step(now)

    def due(self, now: float) -> Deed | None:
        """Take the next step if the grace of the last one is over at *now*."""
        if self._next_at is None or now < self._next_at:
            return None
        return self._step(now)

    def exited(self) -> Deed | None:
        """Take note that the process has ended; only the first time finishes."""
        return self._finish(exited=True)

    def next_at(self) -> float | None:
        """Tell when the next step is due; None before the start and after the end."""
        return self._next_at

    def _step(self, now: float) -> Deed | None:
        if not self._steps:
            return self._finish(exited=False)
        deed, grace = self._steps.popleft()
        self._next_at = now + grace
        return deed

    def _finish(self, *, exited: bool) -> Deed | None:
        if self._finished:
            return None
        self._finished = True
        self._next_at = None
        return Finished(exited)
