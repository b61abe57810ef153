"""The messages the runtime puts into a mailbox."""

from __future__ import annotations

import copy
import pickle

from supervisors.words.reasons import NORMAL, SHUTDOWN
from supervisors.words.signals import TIMEOUT, Down, Exit, TimerFired


def test_signals_are_tuples_with_names() -> None:
    exit, down, fired = Exit("p", NORMAL), Down("m", "p", SHUTDOWN), TimerFired("t", "tick")

    assert (exit, down, fired) == (("p", NORMAL), ("m", "p", SHUTDOWN), ("t", "tick"))
    assert (exit.process, exit.reason) == ("p", NORMAL)
    assert (down.monitor, down.process, down.reason) == ("m", "p", SHUTDOWN)
    assert (fired.timer, fired.message) == ("t", "tick")


def test_signals_can_be_matched_by_shape() -> None:
    match Exit("p", NORMAL):
        case Exit(process, reason):
            found = (process, reason)

    assert found == ("p", NORMAL)


def test_the_idle_timeout_is_one_value_that_says_its_name() -> None:
    assert repr(TIMEOUT) == "TIMEOUT"
    assert TIMEOUT is copy.copy(TIMEOUT) is copy.deepcopy(TIMEOUT)
    assert TIMEOUT is pickle.loads(pickle.dumps(TIMEOUT))
