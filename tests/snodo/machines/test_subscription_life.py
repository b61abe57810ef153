from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.machines.subscription import (
    ACKNOWLEDGED,
    Cancel,
    Deliver,
    Done,
    Opened,
    Refused,
    Subscription,
)
from snodo_actors.words.errors import ServerError, TransportError
from snodo_actors.words.types import InputRequired

EXITED = TransportError(-32000, "exited", cause=("exit_status", 1))
REFUSED = ServerError(-32602, "no such filter")
ENDS = {
    "cancelled": Subscription.cancelled,
    "disconnected": Subscription.disconnected,
    "lost": lambda it: it.lost(EXITED),
    "aborted": lambda it: it.aborted(EXITED),
}


class Stream(RuleBasedStateMachine):
    """Whatever happens: one answer to the caller, one end to the owner, one end of the machine."""

    @initialize(keep_early=st.booleans(), life=st.integers(0, 20))
    def start(self, keep_early, life):
        self.life = life
        self.it = Subscription(
            7,
            max_buffer=2,
            overflow="drop_oldest",
            deadline=Deadline(Timeouts(10.0), 0.0),
            keep_early=keep_early,
        )
        self.deeds, self.sent, self.ended_by_server, self.closed = [], 0, False, False

    @rule()
    def acknowledge(self):
        self.deeds += self.it.notified(ACKNOWLEDGED, {"notifications": {}})

    @rule()
    def event(self):
        self.sent += 1
        self.deeds += self.it.notified("notifications/x", {"n": self.sent})

    @rule(n=st.integers(1, 3))
    def demand(self, n):
        self.deeds += self.it.demanded(n)

    @precondition(lambda self: self.sent >= self.life)
    @rule(outcome=st.sampled_from([{}, REFUSED, InputRequired({})]))
    def answer(self, outcome):
        self.ended_by_server = True
        self.deeds += self.it.answered(outcome, {})

    @precondition(lambda self: self.sent >= self.life)
    @rule(how=st.sampled_from(list(ENDS)))
    def end(self, how):
        self.ended_by_server = True
        self.deeds += ENDS[how](self.it)

    @precondition(lambda self: self.sent >= self.life)
    @rule(now=st.sampled_from([5.0, 10.0]))
    def time(self, now):
        self.deeds += self.it.due(now)

    @precondition(lambda self: self.sent >= self.life)
    @rule()
    def close(self):
        self.closed = True
        self.deeds += self.it.closed()

    @invariant()
    def holds(self):
        kinds = [type(deed) for deed in self.deeds]
        payloads = [p for deed in self.deeds if isinstance(deed, Deliver) for p in deed.payloads]
        told = [payload[0] for payload in payloads]

        assert kinds.count(Opened) + kinds.count(Refused) <= 1
        assert Deliver not in kinds or kinds.index(Opened) < kinds.index(Deliver)
        assert kinds.count(Done) == self.it.done
        assert Done not in kinds or kinds[-1] is Done
        assert told.count("closed") <= 1
        assert "closed" not in told or told[-1] == "closed"
        assert Cancel not in kinds or "closed" not in told
        numbers = [payload[2]["n"] for payload in payloads if payload[0] == "notification"]
        assert numbers == sorted(set(numbers))
        if self.it.done and not self.closed:
            assert Refused in kinds or told[-1] == "closed"


TestStream = Stream.TestCase
TestStream.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
