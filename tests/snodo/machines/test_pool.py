from __future__ import annotations

from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snodo_actors.machines.pool import Hand, Open, Pool, Refuse, Statistics, Stop


def pool(size=2, idle_timeout=30.0, max_requests=100, max_waiting=10):
    return Pool[str](
        size=size, idle_timeout=idle_timeout, max_requests=max_requests, max_waiting=max_waiting
    )


class Script:
    """What can happen to a pool, as steps for a table."""

    def __init__(self, pool):
        self.pool, self.now = pool, 0.0

    def ask(self, *calls, until=inf):
        return [deed for call in calls for deed in self.pool.request(call, until, self.now)]

    def done(self, slot, reusable=True):
        return self.pool.finished(slot, reusable=reusable, now=self.now)

    def detach(self, slot):
        return self.pool.detached(slot)

    def down(self, slot, untouched=False):
        return self.pool.down(slot, untouched=untouched)

    def cancel(self, call):
        return self.pool.cancelled(call)

    def wait(self, seconds):
        self.now += seconds
        return self.pool.due(self.now)

    def close(self):
        return self.pool.close()


def ask(*calls, until=inf):
    return lambda script: script.ask(*calls, until=until)


def done(slot, reusable=True):
    return lambda script: script.done(slot, reusable)


def detach(slot):
    return lambda script: script.detach(slot)


def down(slot, untouched=False):
    return lambda script: script.down(slot, untouched)


def cancel(call):
    return lambda script: script.cancel(call)


def wait(seconds):
    return lambda script: script.wait(seconds)


def close():
    return lambda script: script.close()


# what is meant, options of the pool, steps
CONVERSATIONS = [
    (
        "connections are opened up to the size, then calls wait in their order",
        {},
        [
            (ask("a", "b", "c", "d"), [Open(1, "a"), Open(2, "b")]),
            (done(2), [Hand(2, "c")]),
            (done(1), [Hand(1, "d")]),
        ],
    ),
    (
        "the connection used last is used first",
        {},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(2), []),
            (done(1), []),
            (ask("c"), [Hand(1, "c")]),
        ],
    ),
    (
        "what cannot be used again is stopped, and its slot opened anew",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (done(1, reusable=False), [Stop(1), Open(2, "b")]),
            (done(2, reusable=False), [Stop(2)]),
        ],
    ),
    (
        "a connection is retired after its last request",
        {"size": 1, "max_requests": 2},
        [
            (ask("a", "b", "c"), [Open(1, "a")]),
            (done(1), [Hand(1, "b")]),
            (done(1), [Stop(1), Open(2, "c")]),
        ],
    ),
    (
        "a stream leaves the pool with its connection",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (detach(1), [Open(2, "b")]),
            (detach(1), []),
            (done(1), []),
            (down(1), []),
        ],
    ),
    (
        "a worker that dies frees its slot and fails its call",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (down(1), [Refuse("a", "worker_down"), Open(2, "b")]),
            (down(2), [Refuse("b", "worker_down")]),
        ],
    ),
    (
        "a call no byte of which was sent gets a fresh connection before those that wait",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (done(1), [Hand(1, "b")]),
            (ask("c"), []),
            (down(1, untouched=True), [Open(2, "b")]),
            (done(2), [Hand(2, "c")]),
        ],
    ),
    (
        "a fresh one even if another is idle, which may be as stale",
        {},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(1), []),
            (done(2), []),
            (ask("c"), [Hand(2, "c")]),
            (down(2, untouched=True), [Open(3, "c")]),
            (ask("d"), [Hand(1, "d")]),
        ],
    ),
    (
        "an idle connection that dies is forgotten",
        {},
        [
            (ask("a"), [Open(1, "a")]),
            (done(1), []),
            (down(1), []),
            (wait(99), []),
            (ask("b"), [Open(2, "b")]),
        ],
    ),
    (
        "an idle connection is stopped after its time",
        {"idle_timeout": 5.0},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(1), []),
            (wait(4), []),
            (done(2), []),
            (wait(1), [Stop(1)]),
            (ask("c"), [Hand(2, "c")]),
            (wait(9), []),
        ],
    ),
    (
        "a call waits no longer than its deadline, wherever it stands",
        {"size": 1},
        [
            (ask("a"), [Open(1, "a")]),
            (ask("b", until=9.0), []),
            (ask("c", until=3.0), []),
            (ask("d"), []),
            (wait(2), []),
            (wait(1), [Refuse("c", "timeout")]),
            (done(1), [Hand(1, "b")]),
            (wait(50), []),
            (ask("late", until=53.0), [Refuse("late", "timeout")]),
        ],
    ),
    (
        "there is a limit to waiting",
        {"size": 1, "max_waiting": 1},
        [(ask("a", "b", "c"), [Open(1, "a"), Refuse("c", "full")])],
    ),
    (
        "a caller that goes away leaves no trace while it waits",
        {"size": 1},
        [
            (ask("a", "b", "c", until=5.0), [Open(1, "a")]),
            (cancel("b"), []),
            (cancel("nobody"), []),
            (done(1), [Hand(1, "c")]),
            (wait(9), []),
        ],
    ),
    (
        "and costs its connection while it is served",
        {},
        [
            (ask("a", "b", "c"), [Open(1, "a"), Open(2, "b")]),
            (cancel("b"), [Stop(2), Open(3, "c")]),
            (cancel("b"), []),
            (done(2), []),
            (cancel("a"), [Stop(1)]),
        ],
    ),
    (
        "after the close what is busy finishes, and nothing else ever starts",
        {},
        [
            (ask("a", "b", "c"), [Open(1, "a"), Open(2, "b")]),
            (done(1), [Hand(1, "c")]),
            (done(2), []),
            (ask("d"), [Hand(2, "d")]),
            (ask("e", "f"), []),
            (done(1), [Hand(1, "e")]),
            (close(), [Refuse("f", "closed")]),
            (done(1), [Stop(1)]),
            (down(2, untouched=True), [Refuse("d", "closed")]),
            (ask("g"), [Refuse("g", "closed")]),
            (close(), []),
            (wait(99), []),
        ],
    ),
    (
        "the close stops what is idle",
        {},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(1), []),
            (close(), [Stop(1)]),
            (down(1), []),
            (down(2), [Refuse("b", "worker_down")]),
            (wait(99), []),
        ],
    ),
]


@pytest.mark.parametrize(
    ("options", "steps"), [row[1:] for row in CONVERSATIONS], ids=[row[0] for row in CONVERSATIONS]
)
def test_pool(options, steps):
    script = Script(pool(**options))
    for number, (step, expected) in enumerate(steps):
        assert (number, expected) == (number, step(script))


def test_statistics_count_and_next_at_tells_the_next_deadline():
    it = pool(size=2, idle_timeout=30.0)
    assert (Statistics(0, 0, 0), None) == (it.statistics(), it.next_at())
    it.request("a", 5.0, 0.0)
    it.request("b", 5.0, 0.0)
    it.request("c", 7.0, 0.0)
    assert (Statistics(0, 2, 1), 7.0) == (it.statistics(), it.next_at())
    it.finished(1, reusable=True, now=1.0)
    it.finished(2, reusable=True, now=2.0)
    assert (Statistics(1, 1, 0), 32.0) == (it.statistics(), it.next_at())


class Slots(RuleBasedStateMachine):
    """Whatever happens: slots are conserved, turns kept, and nothing waits while a slot is free."""

    @initialize(
        size=st.integers(1, 3), max_requests=st.integers(1, 4), max_waiting=st.integers(0, 5)
    )
    def start(self, size, max_requests, max_waiting):
        self.pool = Pool[int](
            size=size, idle_timeout=10.0, max_requests=max_requests, max_waiting=max_waiting
        )
        self.size, self.max_requests, self.max_waiting = size, max_requests, max_waiting
        self.now, self.last_call = 0.0, 0
        self.waiting = {}  # call -> deadline, in order
        self.busy, self.idle, self.served = {}, {}, {}  # slot -> call, slot -> since, slot -> count
        self.gone = set()
        self.told = []
        self.closed = False

    def carry_out(self, deeds):
        for deed in deeds:
            match deed:
                case Open(slot, call) | Hand(slot, call):
                    assert not self.closed
                    if isinstance(deed, Open):
                        assert slot not in self.served
                        self.served[slot] = 0
                    else:
                        del self.idle[slot]
                    if call in self.waiting:
                        assert call == next(iter(self.waiting))
                        del self.waiting[call]
                    self.busy[slot] = call
                case Stop(slot):
                    self.idle.pop(slot, None)
                    self.busy.pop(slot, None)
                    self.gone.add(slot)
                case Refuse(call, _):
                    self.waiting.pop(call, None)
                    self.told.append(call)

    @rule(patience=st.integers(0, 8) | st.just(inf))
    def request(self, patience):
        self.last_call += 1
        call = self.last_call
        deeds = self.pool.request(call, self.now + patience, self.now)
        if not deeds:
            self.waiting[call] = self.now + patience
        self.carry_out(deeds)

    def pick(self, data, slots):
        return data.draw(st.sampled_from(sorted(slots)))

    @precondition(lambda self: self.busy)
    @rule(data=st.data(), reusable=st.booleans())
    def finish(self, data, reusable):
        slot = self.pick(data, self.busy)
        self.told.append(self.busy.pop(slot))
        self.served[slot] += 1
        self.idle[slot] = self.now
        deeds = self.pool.finished(slot, reusable=reusable, now=self.now)
        if self.closed or not reusable or self.served[slot] >= self.max_requests:
            assert deeds[0] == Stop(slot)
        self.carry_out(deeds)

    @precondition(lambda self: self.busy)
    @rule(data=st.data())
    def detach(self, data):
        slot = self.pick(data, self.busy)
        self.told.append(self.busy.pop(slot))
        self.gone.add(slot)
        self.carry_out(self.pool.detached(slot))

    @precondition(lambda self: self.busy or self.idle)
    @rule(data=st.data(), untouched=st.booleans())
    def die(self, data, untouched):
        slot = self.pick(data, {**self.busy, **self.idle})
        call = self.busy.pop(slot, None)
        self.idle.pop(slot, None)
        self.gone.add(slot)
        deeds = self.pool.down(slot, untouched=untouched)
        if call is not None:
            assert deeds[0].call == call
            assert isinstance(deeds[0], Open) == (untouched and not self.closed)
        self.carry_out(deeds)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def hear_of_what_is_gone(self, data):
        slot = self.pick(data, self.gone)
        assert self.pool.finished(slot, reusable=True, now=self.now) == []
        assert self.pool.detached(slot) == self.pool.down(slot) == []

    @rule(back=st.integers(0, 9))
    def cancel(self, back):
        call = self.last_call - back
        if call in self.waiting:
            del self.waiting[call]
            self.told.append(call)
        elif call in self.busy.values():
            self.told.append(call)
        self.carry_out(self.pool.cancelled(call))
        assert call not in self.busy.values()

    @rule(step=st.integers(0, 6))
    def time(self, step):
        self.now += step
        late = {call for call, until in self.waiting.items() if until <= self.now}
        stale = {slot for slot, since in self.idle.items() if since + 10.0 <= self.now}
        deeds = self.pool.due(self.now)
        assert {deed.call for deed in deeds if isinstance(deed, Refuse)} == late
        assert {deed.slot for deed in deeds if isinstance(deed, Stop)} == stale
        self.carry_out(deeds)

    @precondition(lambda self: self.last_call > 6)
    @rule()
    def close(self):
        waiting = set(self.waiting)
        deeds = self.pool.close()
        self.closed = True
        assert {deed.call for deed in deeds if isinstance(deed, Refuse)} == waiting
        self.carry_out(deeds)
        assert not self.idle

    @invariant()
    def holds(self):
        assert self.pool.statistics() == Statistics(
            len(self.idle), len(self.busy), len(self.waiting)
        )
        assert len(self.idle) + len(self.busy) <= self.size
        assert not self.waiting or (not self.idle and len(self.busy) == self.size)
        assert len(self.waiting) <= self.max_waiting
        assert not self.gone & (self.idle.keys() | self.busy.keys())
        assert len(self.told) == len(set(self.told))
        assert len(self.told) + len(self.waiting) + len(self.busy) == self.last_call
        assert self.pool._uses.keys() == self.idle.keys() | self.busy.keys()
        times = [until for until in self.waiting.values() if until < inf]
        times += [since + 10.0 for since in self.idle.values()]
        assert self.pool.next_at() == min(times, default=None)


TestSlots = Slots.TestCase
TestSlots.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
