"""What an exit signal does: the whole table of OTP, row by row."""

from __future__ import annotations

import pytest

from supervisors.machines.exits import Fate, fate
from supervisors.words.reasons import (
    KILL,
    KILLED,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    Custom,
    Error,
    Shutdown,
)

BOOM = Custom("boom")
CRASH = Error(ValueError("oops"))
IGNORE, MESSAGE, DIE = Fate.IGNORE, Fate.MESSAGE, Fate.DIE

# What is sent, then what becomes of a plain receiver, a trapping one, a plain one that sent it to
# itself, and a trapping one that did.
SENT_ON_PURPOSE = [
    (NORMAL, (IGNORE, NORMAL), (MESSAGE, NORMAL), (DIE, NORMAL), (MESSAGE, NORMAL)),
    *(
        (reason, (DIE, reason), (MESSAGE, reason), (DIE, reason), (MESSAGE, reason))
        for reason in (SHUTDOWN, Shutdown("why"), BOOM, CRASH, KILLED, NOPROC)
    ),
    (KILL, (DIE, KILLED), (DIE, KILLED), (DIE, KILLED), (DIE, KILLED)),
]


@pytest.mark.parametrize(
    ("reason", "plain", "trapping", "plain_self", "trapping_self"), SENT_ON_PURPOSE
)
def test_a_signal_sent_on_purpose(reason, plain, trapping, plain_self, trapping_self) -> None:
    assert (plain, trapping, plain_self, trapping_self) == tuple(
        fate(reason, trapping=traps, from_self=from_self, linked=False)
        for from_self in (False, True)
        for traps in (False, True)
    )


# What the linked process ended with, then what becomes of a plain and of a trapping receiver.
TOLD_BY_A_LINK = [
    (NORMAL, (IGNORE, NORMAL), (MESSAGE, NORMAL)),
    *(
        (reason, (DIE, reason), (MESSAGE, reason))
        for reason in (SHUTDOWN, Shutdown("why"), BOOM, CRASH, KILLED, NOPROC)
    ),
    (KILL, (DIE, KILL), (MESSAGE, KILL)),  # its own choice of a word, not the signal
]


@pytest.mark.parametrize(("reason", "plain", "trapping"), TOLD_BY_A_LINK)
def test_the_end_of_a_linked_process(reason, plain, trapping) -> None:
    assert (plain, trapping) == tuple(
        fate(reason, trapping=traps, from_self=False, linked=True) for traps in (False, True)
    )
