"""What an exit signal does to the process that receives it.

The whole table of OTP as one function; knows nothing of how signals travel.
"""

from __future__ import annotations

from enum import Enum, auto

from supervisors.words.reasons import KILLED, ExitReason, Kill


class Fate(Enum):
    """What becomes of the receiver."""

    IGNORE = auto()
    """Nothing: the signal is harmless to it."""
    MESSAGE = auto()
    """It gets an `Exit` message."""
    DIE = auto()
    """It ends."""


def fate(
    reason: ExitReason, *, trapping: bool, from_self: bool, linked: bool
) -> tuple[Fate, ExitReason]:
    """Decide what the exit signal *reason* does, and the reason the receiver then has.

    *linked*: the signal tells of the end of a linked process, so `Kill` in it is only the reason
    that process chose; otherwise it was sent on purpose and `Kill` cannot be trapped.
    """
    if isinstance(reason, Kill) and not linked:
        return Fate.DIE, KILLED
    if trapping:
        return Fate.MESSAGE, reason
    if reason.is_normal and not from_self:
        return Fate.IGNORE, reason
    return Fate.DIE, reason
