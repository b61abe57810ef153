"""How long a child waits before it is started again."""

from __future__ import annotations

import pytest

from supervisors.machines.backoff import Pace, delay
from supervisors.words.specs import Backoff

DELAYS = [
    ("the first", Backoff(1.0, 60.0), 0, 0.5, 1.0),
    ("doubles", Backoff(1.0, 60.0), 3, 0.5, 8.0),
    ("by its factor", Backoff(0.5, 60.0, factor=3.0), 2, 0.5, 4.5),
    ("up to the maximum", Backoff(1.0, 60.0), 9, 0.5, 60.0),
    ("also after a great many tries", Backoff(1.0, 60.0), 10_000, 0.5, 60.0),
    ("a constant one", Backoff(2.0, 60.0, factor=1.0), 5, 0.5, 2.0),
    ("less by jitter", Backoff(1.0, 60.0, jitter=0.1), 0, 0.0, 0.9),
    ("more by jitter", Backoff(1.0, 60.0, jitter=0.25), 0, 1.0, 1.25),
    ("without jitter", Backoff(1.0, 60.0, jitter=0.0), 0, 0.9, 1.0),
    ("none", Backoff(0.0, 0.0), 7, 0.3, 0.0),
]


@pytest.mark.parametrize(("said", "backoff", "tries", "random", "seconds"), DELAYS)
def test_delay(said, backoff, tries, random, seconds) -> None:
    assert pytest.approx(seconds) == delay(backoff, tries, random)


def test_a_child_that_stayed_up_long_enough_starts_from_the_initial_delay() -> None:
    pace = Pace(Backoff(1.0, 10.0, jitter=0.0))

    waits = [pace.next(0.0, 0.5), pace.next(1.0, 0.5)]
    pace.up(3.0)
    waits.append(pace.next(12.9, 0.5))
    pace.up(20.0)
    waits.append(pace.next(30.0, 0.5))

    assert waits == [1.0, 2.0, 4.0, 1.0]


def test_a_try_that_failed_is_not_time_spent_running() -> None:
    pace = Pace(Backoff(1.0, 10.0, jitter=0.0))
    pace.up(0.0)

    assert [pace.next(1.0, 0.5), pace.next(100.0, 0.5)] == [1.0, 2.0]
