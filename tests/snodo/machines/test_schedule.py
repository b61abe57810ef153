from __future__ import annotations

from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from snodo_actors.machines.schedule import Schedule


def test_keys_come_due_in_the_order_of_their_times_then_of_their_setting():
    schedule = Schedule[str]()
    for key, at in (("late", 9.0), ("one", 1.0), ("another", 1.0), ("never", inf)):
        schedule.set(key, at)

    assert (schedule.next_at(), len(schedule)) == (1.0, 3)
    assert schedule.take_due(1.0) == ["one", "another"]
    assert schedule.take_due(1.0) == []
    assert schedule.next_at() == 9.0


def test_a_new_time_counts_and_the_old_one_does_not():
    schedule = Schedule[str]()
    schedule.set("a", 1.0)
    schedule.set("a", 5.0)
    assert schedule.take_due(4.0) == []
    schedule.set("a", 2.0)
    assert schedule.take_due(4.0) == ["a"]
    assert schedule.next_at() is None


def test_infinity_takes_a_key_out():
    schedule = Schedule[str]()
    schedule.set("a", 1.0)
    schedule.set("a", inf)
    assert ("a" in schedule, schedule.next_at()) == (False, None)


def test_a_dropped_key_does_not_come_and_may_be_dropped_again():
    schedule = Schedule[str]()
    schedule.set("a", 1.0)
    schedule.drop("a")
    schedule.drop("a")
    assert schedule.take_due(9.0) == []


def test_clear_forgets_every_key():
    schedule = Schedule[str]()
    schedule.set("a", 1.0)
    schedule.clear()
    assert (len(schedule), schedule.next_at(), schedule._heap) == (0, None, [])


@pytest.mark.parametrize("live", [0, 1, 100])
def test_what_is_out_of_date_does_not_pile_up_and_what_is_not_stays(live):
    times = {-key: 1e9 + key * 37 % 101 for key in range(live)}
    schedule = Schedule[int]()
    for key, at in times.items():
        schedule.set(key, at)
    for key in range(1, 10_000):
        schedule.set(key, float(key))
        schedule.drop(key)
        assert len(schedule._heap) <= 2 * (live + 1) + 65
    assert schedule.take_due(2e9) == sorted(times, key=times.__getitem__)


@pytest.mark.parametrize("at", [0.0, 5.0])
def test_the_same_time_again_and_again_does_not_pile_up(at):
    schedule = Schedule[str]()
    for _ in range(1000):
        schedule.set("a", at)
        schedule.drop("a")
        schedule.set("a", at)
        assert len(schedule._heap) <= 67
    assert schedule.take_due(5.0) == ["a"]
    assert len(schedule) == 0


class Times(RuleBasedStateMachine):
    """A schedule does what a dictionary of times does."""

    def __init__(self):
        super().__init__()
        self.schedule = Schedule[int]()
        self.model = {}
        self.now = 0.0

    keys = st.integers(0, 9)

    @rule(key=keys, wait=st.integers(0, 5) | st.just(inf))
    def set(self, key, wait):
        self.schedule.set(key, self.now + wait)
        self.model.pop(key, None)
        if wait < inf:
            self.model[key] = self.now + wait

    @rule(key=keys)
    def drop(self, key):
        self.schedule.drop(key)
        self.model.pop(key, None)

    @rule(step=st.integers(0, 4))
    def take_due(self, step):
        self.now += step
        due = self.schedule.take_due(self.now)
        assert sorted(due) == sorted(key for key, at in self.model.items() if at <= self.now)
        assert [self.model[key] for key in due] == sorted(self.model.pop(key) for key in due)

    @invariant()
    def agrees(self):
        assert self.schedule.next_at() == min(self.model.values(), default=None)
        assert len(self.schedule) == len(self.model)
        assert all(key in self.schedule for key in self.model)


TestTimes = Times.TestCase
TestTimes.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
