"""Whether a child that ended is started again, and whether that happened too often.

The tables of OTP; knows nothing of who the child is.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto

from supervisors.words.reasons import ExitReason, Killed, Shutdown
from supervisors.words.specs import BRUTAL_KILL, ChildSpec


class After(Enum):
    """What becomes of a child that ended by itself."""

    RESTART = auto()
    """It is started again."""
    KEEP = auto()
    """It stays down; its spec is kept."""
    FORGET = auto()
    """It stays down, and its spec is forgotten."""


def after(spec: ChildSpec, reason: ExitReason) -> After:
    """Decide what becomes of a child that ended by itself with *reason*."""
    if spec.restart == "temporary":
        return After.FORGET
    if spec.restart == "transient" and reason.is_calm:
        return After.KEEP
    return After.RESTART


def is_reported(spec: ChildSpec, reason: ExitReason) -> bool:
    """Whether the end of a child by itself is worth a report."""
    return spec.restart == "permanent" or not reason.is_calm


def is_expected(spec: ChildSpec, reason: ExitReason) -> bool:
    """Whether *reason* is how a child ends that its supervisor stopped; else it is reported."""
    if spec.restart != "permanent" and reason.is_calm:
        return True
    if spec.shutdown == BRUTAL_KILL:
        return isinstance(reason, Killed)
    return reason == _SHUTDOWN


class Intensity:
    """Counts restarts within a sliding window of time."""

    def __init__(self, max_restarts: int, max_seconds: float) -> None:
        self._max_restarts = max_restarts
        self._max_seconds = max_seconds
        self._restarts: deque[float] = deque()

    def allow(self, now: float) -> bool:
        """Count a restart at *now*; False if it is one more than the window allows."""
        restarts = self._restarts
        restarts.append(now)
        since = now - self._max_seconds
        while restarts[0] < since:
            restarts.popleft()
        if len(restarts) <= self._max_restarts:
            return True
        restarts.popleft()  # the oldest can never matter again
        return False


_SHUTDOWN = Shutdown()
