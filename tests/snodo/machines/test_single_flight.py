from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from snodo_actors.machines.single_flight import SingleFlight


def test_the_first_leads_and_all_get_what_it_brings():
    flights = SingleFlight[str, str](limit=9)
    assert [flights.join(*who) for who in ("ka", "kb", "jc")] == ["lead", "wait", "lead"]
    assert (flights.finish("k"), flights.finish("k")) == (["a", "b"], [])
    assert flights.join("k", "d") == "lead"


def test_a_leader_that_leaves_hands_the_work_on():
    flights = SingleFlight[str, str](limit=9)
    for waiter in "abc":
        flights.join("k", waiter)
    assert (
        flights.leave("k", "b"),
        flights.leave("k", "a"),
        flights.leave("k", "c"),
    ) == (None, "c", None)
    assert (flights.leave("k", "c"), flights.leave("j", "a")) == (None, None)
    assert (flights.join("k", "d"), len(flights)) == ("lead", 1)


def test_there_is_a_limit():
    flights = SingleFlight[str, str](limit=2)
    assert [flights.join(*who) for who in ("ka", "jb", "kc")] == ["lead", "lead", "full"]
    flights.finish("j")
    assert flights.join("k", "c") == "wait"


class Flights(RuleBasedStateMachine):
    """However they come and go: one leader for each key, and the first who is still there."""

    def __init__(self):
        super().__init__()
        self.flights = SingleFlight[int, int](limit=5)
        self.model = {}
        self.last = 0

    keys = st.integers(0, 2)

    @rule(key=keys)
    def join(self, key):
        self.last += 1
        role = self.flights.join(key, self.last)
        if sum(map(len, self.model.values())) >= 5:
            assert role == "full"
            return
        assert role == ("wait" if self.model.get(key) else "lead")
        self.model.setdefault(key, []).append(self.last)

    @rule(key=keys)
    def finish(self, key):
        assert self.flights.finish(key) == self.model.pop(key, [])

    @rule(key=keys, back=st.integers(0, 6))
    def leave(self, key, back):
        waiter, waiters = self.last - back, self.model.get(key, [])
        led = waiters[:1] == [waiter]
        if waiter in waiters:
            waiters.remove(waiter)
        assert self.flights.leave(key, waiter) == (waiters[0] if led and waiters else None)

    @invariant()
    def counts(self):
        assert len(self.flights) == sum(map(len, self.model.values())) <= 5


TestFlights = Flights.TestCase
TestFlights.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
