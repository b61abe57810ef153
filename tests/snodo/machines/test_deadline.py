from __future__ import annotations

from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.words.errors import RequestTimeout

ORDINARY = ("the request timed out after {} s", "timeout")
TOTAL = ("Maximum total timeout exceeded", "max_total_timeout")

# what is meant, timeouts, progress at, deadline after that, who is to blame, data
CONVERSATIONS = [
    ("a plain timeout", Timeouts(4.0), [], 104.0, "timeout", {"timeoutMs": 4000}),
    ("progress without the flag", Timeouts(4.0), [101, 102], 104.0, "timeout", {"timeoutMs": 4000}),
    (
        "a part of a millisecond",
        Timeouts(0.0005),
        [],
        100.0005,
        "timeout",
        {"timeoutMs": 0.5},
    ),
    (
        "progress moves it",
        Timeouts(4.0, reset_timeout_on_progress=True),
        [101.0, 104.5],
        108.5,
        "timeout",
        {"timeoutMs": 4000},
    ),
    (
        "up to the limit of all resets",
        Timeouts(4.0, reset_timeout_on_progress=True, max_total_timeout=10.0),
        [103.0, 106.0, 109.0],
        110.0,
        "max_total_timeout",
        {"maxTotalTimeoutMs": 10_000},
    ),
    (
        "the limit holds for a silent server too",
        Timeouts(2.0, reset_timeout_on_progress=True, max_total_timeout=0.3),
        [],
        100.3,
        "max_total_timeout",
        {"maxTotalTimeoutMs": 300},
    ),
    (
        "the limit does nothing without the flag",
        Timeouts(2.0, max_total_timeout=0.3),
        [100.1],
        102.0,
        "timeout",
        {"timeoutMs": 2000},
    ),
    (
        "a limit that falls together with the timeout is not to blame",
        Timeouts(2.0, reset_timeout_on_progress=True, max_total_timeout=2.0),
        [],
        102.0,
        "timeout",
        {"timeoutMs": 2000},
    ),
    (
        "what has passed stays passed",
        Timeouts(4.0, reset_timeout_on_progress=True),
        [104.0, 105.0],
        104.0,
        "timeout",
        {"timeoutMs": 4000},
    ),
    (
        "a clock that stands still moves nothing",
        Timeouts(4.0, reset_timeout_on_progress=True),
        [100.0, 99.0],
        104.0,
        "timeout",
        {"timeoutMs": 4000},
    ),
]


@pytest.mark.parametrize(
    ("timeouts", "progress", "at", "cause", "data"),
    [row[1:] for row in CONVERSATIONS],
    ids=[row[0] for row in CONVERSATIONS],
)
def test_deadline(timeouts, progress, at, cause, data):
    deadline = Deadline(timeouts, 100.0)
    for now in progress:
        before = deadline.at
        assert deadline.progressed(now) == (deadline.at > before)

    error = deadline.error()
    assert (at, False, True) == (
        deadline.at,
        deadline.has_passed(at - 0.0001),
        deadline.has_passed(at),
    )
    assert (-32001, "transport", cause, data) == (error.code, error.kind, error.cause, error.data)
    assert isinstance(error, RequestTimeout)


RESETS = Timeouts(4.0, reset_timeout_on_progress=True, max_total_timeout=10.0)

# what is meant, timeouts, progress before, restart at, progress after, and then (deadline, blame)
ATTEMPTS = [
    ("the whole time again", Timeouts(4.0), [], 103.0, [], (107.0, "timeout")),
    ("also after it had passed", Timeouts(4.0), [], 150.0, [], (154.0, "timeout")),
    ("progress before counts no more", RESETS, [103.0], 104.0, [], (108.0, "timeout")),
    ("progress after moves it", RESETS, [], 104.0, [107.0], (111.0, "timeout")),
    (
        "the limit of all resets starts anew",
        RESETS,
        [103.0, 106.0, 109.0],
        109.5,
        [113.0, 116.0],
        (119.5, "max_total_timeout"),
    ),
    (
        "what the limit was to blame for is forgotten",
        RESETS,
        [103.0, 106.0, 109.0],
        109.5,
        [],
        (113.5, "timeout"),
    ),
    (
        "a small limit holds from the start of each attempt",
        Timeouts(4.0, reset_timeout_on_progress=True, max_total_timeout=1.0),
        [],
        100.5,
        [],
        (101.5, "max_total_timeout"),
    ),
]


@pytest.mark.parametrize(
    ("timeouts", "before", "again", "after", "then"),
    [row[1:] for row in ATTEMPTS],
    ids=[row[0] for row in ATTEMPTS],
)
def test_another_attempt_has_its_own_time(timeouts, before, again, after, then):
    deadline, fresh = Deadline(timeouts, 100.0), Deadline(timeouts, again)
    for now in before:
        deadline.progressed(now)
    deadline.restart(again)
    for now in after:
        assert deadline.progressed(now) == fresh.progressed(now)

    assert (deadline.at, deadline.error().cause) == then
    assert (deadline.has_passed(again), deadline.error().data) == (False, fresh.error().data)


def test_what_is_left_is_never_negative():
    deadline = Deadline(Timeouts(4.0), 100.0)
    assert (deadline.left(101.0), deadline.left(200.0)) == (3.0, 0.0)


def test_the_text_of_the_limit_is_the_one_people_look_for():
    timeouts = Timeouts(1.0, reset_timeout_on_progress=True, max_total_timeout=0.5)
    assert Deadline(timeouts, 0.0).error().message == "Maximum total timeout exceeded"


@pytest.mark.parametrize("reset", [False, True])
def test_for_ever_has_no_end_and_no_limit(reset):
    deadline = Deadline(Timeouts(inf, reset_timeout_on_progress=reset, max_total_timeout=1.0), 0.0)
    assert (deadline.progressed(5.0), deadline.has_passed(1e12)) == (False, False)
    assert (inf, inf) == (deadline.at, deadline.left(1e12))
    deadline.restart(7.0)
    assert (deadline.progressed(8.0), deadline.at) == (False, inf)


class Clock(RuleBasedStateMachine):
    """However progress falls: never earlier, never past the limit, never back from the dead."""

    @initialize(timeout=st.integers(1, 20), total=st.integers(1, 60), reset=st.booleans())
    def start(self, timeout, total, reset):
        self.timeouts = Timeouts(float(timeout), reset, float(total))
        self.now, self.start_at, self.last, self.passed = 0.0, 0.0, 0.0, False
        self.deadline = Deadline(self.timeouts, 0.0)
        self.at = self.deadline.at

    @rule(step=st.integers(0, 8))
    def progress(self, step):
        self.now += step
        moved = self.deadline.progressed(self.now)
        assert moved == (self.deadline.at > self.at)
        if not self.passed and self.now < self.at:
            self.last = self.now
        self.at = self.deadline.at

    @rule(step=st.integers(0, 8))
    def wait(self, step):
        self.now += step

    @rule()
    def restart(self):
        self.deadline.restart(self.now)
        self.start_at, self.last, self.passed = self.now, self.now, False
        self.at = self.deadline.at

    @invariant()
    def holds(self):
        self.passed = self.passed or self.deadline.has_passed(self.now)
        reset, timeout = self.timeouts.reset_timeout_on_progress, self.timeouts.timeout
        cap = self.start_at + self.timeouts.max_total_timeout if reset else inf
        uncapped = (self.last if reset else self.start_at) + timeout
        assert self.deadline.at == min(uncapped, cap)
        assert self.passed == self.deadline.has_passed(self.now)
        blame = "max_total_timeout" if uncapped > cap else "timeout"
        assert self.deadline.error().cause == blame


TestClock = Clock.TestCase
TestClock.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
