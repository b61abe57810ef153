from __future__ import annotations

from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from snodo_actors.machines.correlation import (
    Correlation,
    Pending,
    Progressed,
    ServerAsked,
    ServerCancelled,
    StreamAnswered,
    StreamCancelled,
    StreamNotified,
)
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.words.errors import TransportError

EXITED = TransportError(-32000, "the server process exited", cause=("exit_status", 3))
STREAM = "io.modelcontextprotocol/subscriptionId"


def patient(seconds=30.0, now=0.0, **options):
    return Deadline(Timeouts(seconds, **options), now)


def connection():
    """Requests 1 and 2, of which only 2 wants progress, and the stream 5."""
    correlation = Correlation[str, str](limit=10)
    assert correlation.open(1, "one", patient()) is None
    assert correlation.open(2, "two", patient(), progress=True) is None
    assert correlation.open_stream(5, "five") is None
    return correlation


def notification(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def event(id, method="notifications/tools/list_changed"):
    return notification(method, _meta={STREAM: id})


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NULL_ID = {"jsonrpc": "2.0", "id": None, "method": "roots/list"}
PROGRESS = notification("notifications/progress", progressToken=2, progress=1)
META_LIST = {"method": "notifications/x", "params": {"_meta": []}}

# what comes, what it is; a string is the waiter it is an answer for
DISPATCHED = [
    ({"id": 1, "result": {}}, "one"),
    ({"id": 2, "error": {}, "jsonrpc": "1.0"}, "two"),
    ({"id": 1}, "one"),
    ({"id": 1, "method": 5}, "one"),
    ({"id": 3, "result": {}}, None),
    ({"id": "1", "result": {}}, None),
    ({"id": 1.0, "result": {}}, None),
    ({"id": True, "result": {}}, None),
    ({"id": [1], "result": {}}, None),
    ({"id": None, "error": {}}, None),
    ({}, None),
    ({"id": 5, "result": {}}, StreamAnswered("five")),
    ({"id": 5.0, "result": {}}, None),
    (PING, ServerAsked(PING)),
    (NULL_ID, ServerAsked(NULL_ID)),
    (event(5), StreamNotified("five", event(5)["method"], event(5)["params"])),
    (
        event(5, "notifications/progress"),
        StreamNotified("five", "notifications/progress", event(5)["params"]),
    ),
    (event(6), None),
    (event("5"), None),
    (event([5]), None),
    (META_LIST, None),
    (PROGRESS, Progressed("two", PROGRESS["params"])),
    (notification("notifications/progress", progressToken=1), None),
    (notification("notifications/progress", progressToken="2"), None),
    (notification("notifications/progress", progressToken=[]), None),
    (notification("notifications/progress"), None),
    (notification("notifications/cancelled", requestId=5), StreamCancelled("five")),
    (notification("notifications/cancelled", requestId="s1"), ServerCancelled("s1")),
    (notification("notifications/cancelled", requestId=[]), ServerCancelled([])),
    (notification("notifications/message", level="info", data="x"), None),
    ({"method": "notifications/tools/list_changed"}, None),
    ({"method": "notifications/progress", "params": []}, None),
]


@pytest.mark.parametrize(
    ("message", "expected"), DISPATCHED, ids=[str(row[0]) for row in DISPATCHED]
)
def test_dispatch(message, expected):
    deed = connection().dispatch(message, 1.0)
    assert expected == (deed.waiter if isinstance(deed, Pending) else deed)


def test_answers_find_their_requests_once():
    correlation = connection()
    answers = [correlation.dispatch({"id": id, "result": {}}, 1.0) for id in (2, 1, 2, 1)]
    assert [answer and answer.waiter for answer in answers] == ["two", "one", None, None]
    assert len(correlation) == 1


@pytest.mark.parametrize(
    "end",
    [{"id": 5, "result": {}}, notification("notifications/cancelled", requestId=5)],
)
def test_a_stream_ends_once_whichever_way_the_server_says_it(end):
    correlation = connection()
    assert correlation.dispatch(end, 1.0) is not None
    assert correlation.dispatch({"id": 5, "result": {}}, 1.0) is None
    assert correlation.dispatch(event(5), 1.0) is None
    assert correlation.close_stream(5) is None


def test_who_stops_waiting_gets_nothing_any_more():
    correlation = connection()
    assert (correlation.close(1).waiter, correlation.close_stream(5)) == ("one", "five")
    assert (correlation.close(1), correlation.close_stream(5)) == (None, None)
    assert correlation.dispatch({"id": 1, "result": {}}, 1.0) is None
    assert [pending.waiter for pending in correlation.take_due(99.0)] == ["two"]


def test_who_waited_too_long_is_taken_out_earliest_first():
    correlation = Correlation[str, str](limit=10)
    for id, seconds in ((1, 5.0), (2, 3.0), (3, inf), (4, 9.0)):
        correlation.open(id, str(id), patient(seconds))

    assert (correlation.next_at(), correlation.take_due(2.9)) == (3.0, [])
    assert [pending.waiter for pending in correlation.take_due(5.0)] == ["2", "1"]
    assert correlation.dispatch({"id": 2, "result": {}}, 5.0) is None
    assert correlation.next_at() == 9.0
    correlation.close(4)
    assert (correlation.next_at(), len(correlation)) == (None, 1)


def test_progress_moves_the_deadline_of_its_request_alone():
    correlation = Correlation[str, str](limit=10)
    resets = {"reset_timeout_on_progress": True, "max_total_timeout": 10.0}
    correlation.open(1, "moved", patient(4.0, **resets), progress=True)
    correlation.open(2, "not moved", patient(4.0), progress=True)

    for token in (1, 2):
        assert correlation.dispatch(
            notification("notifications/progress", progressToken=token), 3.0
        )
    assert [pending.waiter for pending in correlation.take_due(4.0)] == ["not moved"]
    assert correlation.next_at() == 7.0
    [moved] = correlation.take_due(7.0)
    assert (moved.waiter, moved.deadline.error().cause) == ("moved", "timeout")


def test_close_all_gives_back_everybody_and_refuses_whoever_comes_later_for_the_first_reason():
    correlation = connection()
    assert correlation.closed is None
    waiting, listening = correlation.close_all(EXITED)
    assert ([pending.waiter for pending in waiting], listening) == (["one", "two"], ["five"])
    assert correlation.close_all(TransportError(-32000, "closed")) == ([], [])

    refusals = [correlation.open(7, "late", patient()), correlation.open_stream(8, "late")]
    for refusal in refusals:
        assert (refusal.cause, refusal.delivery) == (("exit_status", 3), "never_sent")
        assert refusal is not EXITED
    assert (correlation.closed, correlation.next_at(), len(correlation)) == (EXITED, None, 0)


def test_no_more_than_the_limit_wait_and_listen_together():
    correlation = Correlation[str, str](limit=2)
    correlation.open(1, "one", patient())
    correlation.open_stream(2, "two")
    for refusal in (correlation.open(3, "three", patient()), correlation.open_stream(4, "four")):
        assert (
            refusal.code,
            refusal.cause,
            refusal.delivery,
        ) == (-32000, ("max_waiting", 2), "never_sent")
    correlation.close(1)
    assert correlation.open(3, "three", patient()) is None


class Conversation(RuleBasedStateMachine):
    """However requests, answers, streams and time fall: each waiter is told exactly once."""

    LIMIT = 8

    def __init__(self):
        super().__init__()
        self.correlation = Correlation[int, int](self.LIMIT)
        self.now, self.last_id = 0.0, 0
        self.waiting, self.listening = {}, set()
        self.told = []
        self.reason = None

    def next_id(self):
        self.last_id += 1
        return self.last_id

    @rule(seconds=st.integers(1, 10) | st.just(inf), progress=st.booleans(), reset=st.booleans())
    def open(self, seconds, progress, reset):
        id = self.next_id()
        deadline = Deadline(Timeouts(seconds, reset, 15.0), self.now)
        refusal = self.correlation.open(id, id, deadline, progress=progress)
        assert (refusal is not None) == self.full()
        if refusal is None:
            self.waiting[id] = (deadline, progress)

    @rule()
    def listen(self):
        id = self.next_id()
        refusal = self.correlation.open_stream(id, id)
        assert (refusal is not None) == self.full()
        if refusal is None:
            self.listening.add(id)

    def full(self):
        return self.reason is not None or len(self.waiting) + len(self.listening) >= self.LIMIT

    @rule(back=st.integers(0, 12), as_=st.sampled_from([int, float, str]))
    def answer(self, back, as_):
        id = self.last_id - back
        deed = self.correlation.dispatch({"id": as_(id), "result": {}}, self.now)
        if as_ is int and id in self.waiting:
            assert deed.waiter == id
            self.tell(id)
        elif as_ is int and id in self.listening:
            assert deed == StreamAnswered(id)
            self.listening.remove(id)
        else:
            assert deed is None

    @rule(back=st.integers(0, 12))
    def notify(self, back):
        id = self.last_id - back
        deed = self.correlation.dispatch(event(id), self.now)
        assert (deed is not None) == (id in self.listening)

    @rule(back=st.integers(0, 12))
    def progress(self, back):
        id = self.last_id - back
        message = notification("notifications/progress", progressToken=id)
        deed = self.correlation.dispatch(message, self.now)
        assert (deed is not None) == (id in self.waiting and self.waiting[id][1])

    @rule(back=st.integers(0, 12))
    def give_up(self, back):
        id = self.last_id - back
        pending = self.correlation.close(id)
        assert (pending is not None) == (id in self.waiting)
        if pending is not None:
            self.tell(id)
        assert (self.correlation.close_stream(id) is not None) == (id in self.listening)
        self.listening.discard(id)

    @rule(step=st.integers(0, 6))
    def time(self, step):
        self.now += step
        due = [pending.waiter for pending in self.correlation.take_due(self.now)]
        late = [id for id, (deadline, _) in self.waiting.items() if deadline.has_passed(self.now)]
        assert sorted(due) == sorted(late)
        for id in due:
            self.tell(id)

    @rule()
    def end(self):
        if self.last_id < 10:
            return
        waiting, listening = self.correlation.close_all(EXITED)
        assert [pending.waiter for pending in waiting] == list(self.waiting)
        assert set(listening) == self.listening
        for pending in waiting:
            self.tell(pending.waiter)
        self.listening.clear()
        self.reason = EXITED

    def tell(self, id):
        del self.waiting[id]
        self.told.append(id)

    @invariant()
    def holds(self):
        assert len(self.told) == len(set(self.told))
        assert len(self.correlation) == len(self.waiting) + len(self.listening) <= self.LIMIT
        times = [deadline.at for deadline, _ in self.waiting.values() if deadline.at < inf]
        assert self.correlation.next_at() == min(times, default=None)
        assert self.correlation.closed is self.reason


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
