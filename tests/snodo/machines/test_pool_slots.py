from __future__ import annotations

from math import inf

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snodo_actors.machines.pool import Hand, Open, Pool, Refuse, Statistics, Stop


class Slots(RuleBasedStateMachine):
    """Whatever happens: slots are conserved, turns kept, and nothing waits while a slot is free."""

    @initialize(
        size=st.integers(1, 3), max_requests=st.integers(1, 4), max_waiting=st.integers(0, 5)
    )
    def start(self, size, max_requests, max_waiting):
        self.pool = Pool[int](
            size=size, idle_timeout=3.0, max_requests=max_requests, max_waiting=max_waiting
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
        stale = {slot for slot, since in self.idle.items() if since + 3.0 <= self.now}
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
        assert sorted(self.pool.busy()) == sorted(self.busy.values())
        assert self.pool.waiting() == list(self.waiting)
        assert len(self.idle) + len(self.busy) <= self.size
        assert not self.waiting or (not self.idle and len(self.busy) == self.size)
        assert len(self.waiting) <= self.max_waiting
        assert not self.gone & (self.idle.keys() | self.busy.keys())
        assert len(self.told) == len(set(self.told))
        assert len(self.told) + len(self.waiting) + len(self.busy) == self.last_call
        assert self.pool._uses.keys() == self.idle.keys() | self.busy.keys()
        times = [until for until in self.waiting.values() if until < inf]
        times += [since + 3.0 for since in self.idle.values()]
        assert self.pool.next_at() == min(times, default=None)


TestSlots = Slots.TestCase
TestSlots.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
