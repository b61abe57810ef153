from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snodo_actors.machines.buffer import EventBuffer
from snodo_actors.words.errors import TransportError

LOST = TransportError(-32000, "lost")
CLOSED = TransportError(-32000, "closed")

# what is meant, max_buffer, overflow, steps; a step is (what happens, what the owner gets)
CONVERSATIONS = [
    (
        "events wait for demand",
        3,
        "drop_oldest",
        [
            ("a", []),
            ("b", []),
            (1, ["a"]),
            (1, ["b"]),
            (1, []),
            ("c", ["c"]),
            ("d", []),
            (1, ["d"]),
        ],
    ),
    (
        "demand adds up and is used up",
        3,
        "drop_oldest",
        [(1, []), (1, []), ("a", ["a"]), ("b", ["b"]), ("c", []), (1, ["c"])],
    ),
    (
        "the oldest go, and the gap is told once before what follows it",
        2,
        "drop_oldest",
        [
            *[(event, []) for event in "abcd"],
            (1, [("dropped", 2), "c"]),
            ("e", []),
            (2, ["d", "e"]),
        ],
    ),
    (
        "the newest go",
        2,
        "drop_newest",
        [*[(event, []) for event in "abcd"], (9, [("dropped", 2), "a", "b"]), ("e", ["e"])],
    ),
    (
        "a report of a gap costs no demand, and the count begins anew",
        1,
        "drop_oldest",
        [
            ("a", []),
            ("b", []),
            (1, [("dropped", 1), "b"]),
            ("c", []),
            ("d", []),
            ("e", []),
            (1, [("dropped", 2), "e"]),
        ],
    ),
    ("the end needs no demand", 3, "drop_oldest", [("complete", [("closed", "complete")])]),
    (
        "the end waits behind the queue and nothing follows it",
        3,
        "drop_oldest",
        [
            ("a", []),
            ("b", []),
            (LOST, []),
            ("c", []),
            ("complete", []),
            (1, ["a"]),
            (1, ["b", ("closed", LOST)]),
            ("d", []),
            (1, []),
            ("complete", []),
        ],
    ),
    (
        "an abort throws away what is queued and the count of the gap",
        1,
        "drop_oldest",
        [("a", []), ("b", []), (("abort", CLOSED), [("closed", CLOSED)]), (1, []), ("c", [])],
    ),
    (
        "an abort overtakes an end that waits",
        3,
        "drop_oldest",
        [("a", []), ("complete", []), (("abort", CLOSED), [("closed", CLOSED)])],
    ),
    (
        "an abort after the end is nothing",
        3,
        "drop_oldest",
        [("complete", [("closed", "complete")]), (("abort", CLOSED), [])],
    ),
    (
        "wrong demand is no demand",
        3,
        "drop_oldest",
        [("a", []), (0, []), (-1, []), (True, []), (1.0, []), (None, []), (1, ["a"])],
    ),
]


@pytest.mark.parametrize(
    ("max_buffer", "overflow", "steps"),
    [row[1:] for row in CONVERSATIONS],
    ids=[row[0] for row in CONVERSATIONS],
)
def test_buffer(max_buffer, overflow, steps):
    buffer = EventBuffer[str](max_buffer, overflow)
    for step, expected in steps:
        match step:
            case "complete" | TransportError():
                got = buffer.close(step)
            case ("abort", reason):
                got = buffer.abort(reason)
            case str():
                got = buffer.event(step)
            case _:
                got = buffer.demand(step)
        assert expected == got, step


class Owner(RuleBasedStateMachine):
    """Whatever happens: order is kept, nothing is lost untold, and the end is told once, last."""

    @initialize(
        max_buffer=st.integers(1, 4),
        overflow=st.sampled_from(["drop_oldest", "drop_newest"]),
        life=st.integers(0, 30),
    )
    def start(self, max_buffer, overflow, life):
        self.life = life
        self.buffer = EventBuffer[int](max_buffer, overflow)
        self.max_buffer, self.overflow = max_buffer, overflow
        self.sent = self.asked = 0
        self.got = []
        self.reason = None
        self.aborted = False

    @rule()
    def event(self):
        if self.reason is None:
            self.sent += 1
        self.got += self.buffer.event(self.sent)

    @rule(count=st.integers(1, 5))
    def demand(self, count):
        self.asked += count
        self.got += self.buffer.demand(count)

    @precondition(lambda self: self.sent >= self.life)
    @rule(reason=st.sampled_from(["complete", LOST]))
    def close(self, reason):
        self.reason = self.reason or reason
        self.got += self.buffer.close(reason)

    @precondition(lambda self: self.sent >= self.life)
    @rule()
    def abort(self):
        if not self.buffer.ended:
            self.reason, self.aborted = CLOSED, True
        self.got += self.buffer.abort(CLOSED)

    @invariant()
    def holds(self):
        events = [payload for payload in self.got if isinstance(payload, int)]
        told = [payload for payload in self.got if not isinstance(payload, int)]
        gaps = [count for what, count in told if what == "dropped"]
        ends = [payload for payload in told if payload[0] == "closed"]
        accounted = len(events) + sum(gaps) + len(self.buffer) + self.buffer._dropped

        assert events == sorted(set(events))
        assert len(events) <= self.asked
        assert len(self.buffer) <= self.max_buffer
        assert len(self.buffer) == 0 or len(events) == self.asked
        assert accounted == self.sent or (self.aborted and accounted < self.sent)
        assert all(count > 0 for count in gaps)
        assert all(
            isinstance(after, int)
            for payload, after in pairwise(self.got)
            if payload in told and payload[0] == "dropped"
        )
        assert ends == ([("closed", self.reason)] if self.buffer.ended else [])
        assert not ends or self.got[-1] == ends[0]
        assert self.reason is None or len(self.buffer) > 0 or self.buffer.ended


TestOwner = Owner.TestCase
TestOwner.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
