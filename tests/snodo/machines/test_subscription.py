from __future__ import annotations

import pytest
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

STREAM = "io.modelcontextprotocol/subscriptionId"
FILTER = {"toolsListChanged": True}
ACK = {"notifications": FILTER, "_meta": {STREAM: 7}}
METHOD = "notifications/tools/list_changed"
EXITED = TransportError(-32000, "exited", cause=("exit_status", 1))
CLOSED = TransportError(-32000, "closed", cause="closed")
REFUSED = ServerError(-32602, "no such filter")
RESPONSE = {"jsonrpc": "2.0", "id": 7, "result": {}}


def params(n, id=7):
    return {"n": n, "_meta": {STREAM: id}}


def event(n, id=7):
    return lambda it: it.notified(METHOD, params(n, id))


def got(*payloads):
    """Events by their number, other payloads as they are."""
    return Deliver([Numbered(item) if isinstance(item, int) else item for item in payloads])


class Numbered:
    """An event, told by its number."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return other[:2] == ("notification", METHOD) and other[2]["n"] == self.n

    __hash__ = None

    def __repr__(self):
        return f"Numbered({self.n})"


class Failing:
    """A refusal, told by code and cause."""

    def __init__(self, code, cause):
        self.code, self.cause = code, cause

    def __eq__(self, other):
        return isinstance(other, Refused) and (self.code, self.cause) == (
            other.error.code,
            other.error.cause,
        )

    __hash__ = None

    def __repr__(self):
        return f"Failing({self.code}, {self.cause!r})"


def ack(it):
    return it.notified(ACKNOWLEDGED, ACK)


def demand(n):
    return lambda it: it.demanded(n)


def answered(outcome):
    return lambda it: it.answered(outcome, RESPONSE)


def cancelled(it):
    return it.cancelled()


def lost(error):
    return lambda it: it.lost(error)


def aborted(it):
    return it.aborted(CLOSED)


def disconnected(it):
    return it.disconnected()


def closed(it):
    return it.closed()


def reopened(id):
    def step(it):
        it.reopen()
        it.use_id(id)
        return []

    return step


def due(now):
    return lambda it: it.due(now)


# what is meant, whether early events are kept, steps
CONVERSATIONS = [
    (
        "opened, then events for the demand",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (demand(2), [got(1)]),
            (event(2), [got(2)]),
            (event(3), []),
        ],
    ),
    (
        "early events are kept behind the acknowledgement",
        True,
        [(event(1), []), (demand(5), []), (ack, [Opened(FILTER)]), (demand(1), [got(1)])],
    ),
    (
        "or dropped",
        False,
        [(event(1), []), (ack, [Opened(FILTER)]), (demand(1), []), (event(2), [got(2)])],
    ),
    (
        "what names another stream is not for this one, what names none is",
        False,
        [
            (lambda it: it.notified(ACKNOWLEDGED, {**ACK, "_meta": {STREAM: 8}}), []),
            (lambda it: it.notified(ACKNOWLEDGED, {"notifications": {}}), [Opened({})]),
            (demand(9), []),
            (event(1, id=8), []),
            (event(1, id="7"), []),
            (event(1, id=7.0), []),
            (event(1, id=[7]), []),
            (
                lambda it: it.notified(METHOD, {}),
                [Deliver([("notification", METHOD, {})])],
            ),
        ],
    ),
    ("a second acknowledgement is ignored", True, [(ack, [Opened(FILTER)]), (ack, [])]),
    (
        "an acknowledgement without a filter",
        True,
        [
            (
                lambda it: it.notified(ACKNOWLEDGED, {"notifications": []}),
                [Failing(-32000, {"notifications": []}), Cancel(), Done()],
            ),
            (ack, []),
            (event(1), []),
            (closed, []),
        ],
    ),
    (
        "an acknowledgement that is not even an object",
        True,
        [
            (
                lambda it: it.acknowledged(None, "message"),
                [Failing(-32000, "message"), Cancel(), Done()],
            )
        ],
    ),
    (
        "no acknowledgement in time",
        True,
        [
            (due(9.0), []),
            (due(10.0), [Failing(-32001, "timeout"), Cancel(), Done()]),
            (ack, []),
            (due(11.0), []),
        ],
    ),
    (
        "the deadline is over with the acknowledgement",
        True,
        [(ack, [Opened(FILTER)]), (due(99.0), []), (demand(1), []), (event(1), [got(1)])],
    ),
    ("refused", True, [(answered(REFUSED), [Refused(REFUSED), Done()]), (ack, [])]),
    (
        "ended before the acknowledgement",
        True,
        [(answered({}), [Failing(-32000, RESPONSE), Done()])],
    ),
    (
        "a wish for input before the acknowledgement",
        True,
        [(answered(InputRequired({})), [Failing(-32000, RESPONSE), Done()])],
    ),
    (
        "cancelled by the server before the acknowledgement",
        True,
        [(cancelled, [Failing(-32000, "ended"), Done()])],
    ),
    (
        "the connection closed before the acknowledgement",
        False,
        [(disconnected, [Failing(-32000, "ended"), Done()])],
    ),
    ("lost before the acknowledgement", True, [(lost(EXITED), [Refused(EXITED), Done()])]),
    ("aborted before the acknowledgement", True, [(aborted, [Refused(CLOSED), Done()])]),
    ("closed before the acknowledgement", True, [(closed, [Cancel(), Done()]), (ack, [])]),
    (
        "a graceful end behind what is queued",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (answered({}), []),
            (event(2), []),
            (lost(EXITED), []),
            (demand(1), [got(1, ("closed", "complete")), Done()]),
            (demand(1), []),
            (answered({}), []),
        ],
    ),
    (
        "an end with nothing queued needs no demand",
        True,
        [(ack, [Opened(FILTER)]), (cancelled, [got(("closed", "complete")), Done()])],
    ),
    (
        "an error as the end",
        True,
        [(ack, [Opened(FILTER)]), (answered(REFUSED), [got(("closed", REFUSED)), Done()])],
    ),
    (
        "the end of the connection behind what is queued",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (lost(EXITED), []),
            (demand(1), [got(1, ("closed", EXITED)), Done()]),
        ],
    ),
    (
        "our own close throws away what is queued",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (aborted, [got(("closed", CLOSED)), Done()]),
            (aborted, []),
            (closed, []),
        ],
    ),
    (
        "our own close while it ends",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (answered({}), []),
            (aborted, [got(("closed", CLOSED)), Done()]),
        ],
    ),
    (
        "the owner closes: the server is told, the owner nothing",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (closed, [Cancel(), Done()]),
            (demand(9), []),
            (event(2), []),
            (aborted, []),
            (closed, []),
        ],
    ),
    (
        "reopened: what is queued and asked for stays, and the new id counts",
        False,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (reopened(8), []),
            (event(2), []),
            (event(2, id=8), []),
            (lambda it: it.notified(ACKNOWLEDGED, {"notifications": {}}), [Opened({})]),
            (event(3, id=8), []),
            (demand(2), [got(1, 3)]),
        ],
    ),
    (
        "reopened with an acknowledgement that has no filter: the owner is told behind the queue",
        True,
        [
            (ack, [Opened(FILTER)]),
            (event(1), []),
            (reopened(8), []),
            (event(2, id=8), []),
            (lambda it: it.notified(ACKNOWLEDGED, {}), [Cancel()]),
            (demand(1), [got(1)]),
        ],
    ),
    (
        "closed while it reopens",
        True,
        [(ack, [Opened(FILTER)]), (reopened(8), []), (closed, [Cancel(), Done()])],
    ),
    (
        "only an open stream can be reopened",
        True,
        [(reopened(7), []), (due(10.0), [Failing(-32001, "timeout"), Cancel(), Done()])],
    ),
    (
        "the owner closes while it ends: the server has ended it already",
        True,
        [(ack, [Opened(FILTER)]), (event(1), []), (answered({}), []), (closed, [Done()])],
    ),
]


def subscription(keep_early=True, max_buffer=10, seconds=10.0):
    return Subscription(
        7,
        max_buffer=max_buffer,
        overflow="drop_oldest",
        deadline=Deadline(Timeouts(seconds), 0.0),
        keep_early=keep_early,
    )


@pytest.mark.parametrize(
    ("keep_early", "steps"),
    [row[1:] for row in CONVERSATIONS],
    ids=[row[0] for row in CONVERSATIONS],
)
def test_subscription(keep_early, steps):
    it = subscription(keep_early)
    for number, (step, expected) in enumerate(steps):
        deeds = step(it)
        assert (number, expected) == (number, deeds)
        assert not any(isinstance(deed, Done) for deed in deeds) or it.done


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (disconnected, "closed"),
        (
            answered(InputRequired({"resultType": "input_required"})),
            {"resultType": "input_required"},
        ),
    ],
)
def test_an_end_that_is_an_error_says_what_it_was(end, cause):
    it = subscription()
    ack(it)
    [deliver, done] = end(it)
    [(what, error)] = deliver.payloads
    assert ("closed", -32000, cause, Done()) == (what, error.code, error.cause, done)


def test_next_at_is_the_deadline_while_it_opens():
    it = subscription()
    assert (it.next_at(), subscription(seconds=float("inf")).next_at()) == (10.0, None)
    ack(it)
    assert it.next_at() is None


class Stream(RuleBasedStateMachine):
    """Whatever happens: one answer to the caller, one end to the owner, one end of the machine."""

    @initialize(keep_early=st.booleans(), life=st.integers(0, 20))
    def start(self, keep_early, life):
        self.life = life
        self.it = subscription(keep_early, max_buffer=2)
        self.deeds, self.sent, self.ended_by_server, self.closed = [], 0, False, False

    @rule()
    def acknowledge(self):
        self.deeds += ack(self.it)

    @rule()
    def event(self):
        self.sent += 1
        self.deeds += event(self.sent)(self.it)

    @rule(n=st.integers(1, 3))
    def demand(self, n):
        self.deeds += self.it.demanded(n)

    @precondition(lambda self: self.sent >= self.life)
    @rule(outcome=st.sampled_from([{}, REFUSED, InputRequired({})]))
    def answer(self, outcome):
        self.ended_by_server = True
        self.deeds += answered(outcome)(self.it)

    @precondition(lambda self: self.sent >= self.life)
    @rule(how=st.sampled_from([cancelled, disconnected, lost(EXITED), aborted]))
    def end(self, how):
        self.ended_by_server = True
        self.deeds += how(self.it)

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
