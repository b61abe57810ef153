"""The messages the runtime itself puts into a mailbox."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from supervisors.words.reasons import ExitReason


class Exit(NamedTuple):
    """A linked process ended, or an exit signal came, and the receiver traps exits."""

    process: Any
    """The ref of the process that ended or sent the signal."""
    reason: ExitReason


class Down(NamedTuple):
    """A monitored process ended. Comes once for each monitor."""

    monitor: Any
    """The monitor, as `monitor()` returned it."""
    process: Any
    """The ref that was monitored, or the name when it was monitored by name."""
    reason: ExitReason


class TimerFired(NamedTuple):
    """A timer of `start_timer()` ran out; the timer in it tells a stale tick from a fresh one."""

    timer: Any
    message: Any


class IdleTimeout:
    """The one value `TIMEOUT`: a server waited as long as it was told to, and nothing came."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "TIMEOUT"

    def __reduce__(self) -> str:
        return "TIMEOUT"  # a copy is the value itself


TIMEOUT: Final = IdleTimeout()
