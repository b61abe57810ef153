from __future__ import annotations

from math import inf

import pytest

from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.machines.subscription import (
    ACKNOWLEDGED,
    Cancel,
    Deliver,
    Done,
    Opened,
    Subscription,
)
from snodo_actors.words.errors import ServerError, TransportError
from snodo_actors.words.types import InputRequired

STREAM = "io.modelcontextprotocol/subscriptionId"
METHOD = "notifications/tools/list_changed"
RESPONSE = {"jsonrpc": "2.0", "id": 7, "result": {}}
ASKS = {"resultType": "input_required"}
LOST = TransportError(-32000, "exited", cause="exit")
ABORTED = TransportError(-32000, "closed", cause="abort")
REFUSED = ServerError(-32602, "no such filter", cause="filter")


def ack(accepted, **meta):
    """What happens is the name of a method and its arguments."""
    return ("notified", ACKNOWLEDGED, {"notifications": accepted, **meta})


def event(n, id=7):
    return ("notified", METHOD, {"n": n, "_meta": {STREAM: id}})


def demand(n):
    return ("demanded", n)


def answer(outcome):
    return ("answered", outcome, RESPONSE)


def due(now):
    return ("due", now)


ACK = ack({}, _meta={STREAM: 7})
CANCELLED, DISCONNECTED, CLOSED = ("cancelled",), ("disconnected",), ("closed",)
LOSE, ABORT = ("lost", LOST), ("aborted", ABORTED)


def in_short(deed):
    """Events by their number, errors by code and cause."""
    match deed:
        case Opened(accepted):
            return ("opened", accepted)
        case Deliver(payloads):
            return [brief(payload) for payload in payloads]
        case Cancel():
            return "cancel"
        case Done():
            return "done"
    return ("refused", deed.error.code, deed.error.cause)


def brief(payload):
    match payload:
        case ("notification", _, params):
            return params.get("n")
        case ("closed", TransportError() | ServerError() as error):
            return ("closed", error.code, error.cause)
    return payload


OPENED = ("opened", {})
COMPLETE = ("closed", "complete")

# what is meant, whether early events are kept, steps
CONVERSATIONS = [
    (
        "opened in time, then events for the demand",
        True,
        [
            (ack({"toolsListChanged": True}), [("opened", {"toolsListChanged": True})]),
            (due(99.0), []),
            (event(1), []),
            (demand(2), [[1]]),
            (event(2), [[2]]),
            (event(3), []),
        ],
    ),
    (
        "early events are kept behind the acknowledgement",
        True,
        [(event(1), []), (demand(5), []), (ACK, [OPENED]), (demand(1), [[1]])],
    ),
    ("or dropped", False, [(event(1), []), (ACK, [OPENED]), (demand(1), []), (event(2), [[2]])]),
    (
        "what names another stream is not for this one, what names none is",
        False,
        [
            (ack({}, _meta={STREAM: 8}), []),
            (ack({}), [OPENED]),
            (demand(9), []),
            (event(1, id=8), []),
            (event(1, id="7"), []),
            (event(1, id=7.0), []),
            (event(1, id=[7]), []),
            (("notified", METHOD, {"n": 2}), [[2]]),
        ],
    ),
    ("a second acknowledgement is ignored", True, [(ACK, [OPENED]), (ack({"a": 1}), [])]),
    (
        "an acknowledgement without a filter",
        True,
        [
            (ack([]), [("refused", -32000, {"notifications": []}), "cancel", "done"]),
            (ACK, []),
            (event(1), []),
            (CLOSED, []),
        ],
    ),
    (
        "an acknowledgement that is not even an object",
        True,
        [(("acknowledged", None, "it"), [("refused", -32000, "it"), "cancel", "done"])],
    ),
    (
        "no acknowledgement in time",
        True,
        [
            (due(9.0), []),
            (due(10.0), [("refused", -32001, "timeout"), "cancel", "done"]),
            (ACK, []),
            (due(11.0), []),
        ],
    ),
    (
        "refused",
        True,
        [(answer(REFUSED), [("refused", -32602, "filter"), "done"]), (ACK, [])],
    ),
    (
        "a graceful end behind what is queued",
        True,
        [
            (ACK, [OPENED]),
            (event(1), []),
            (answer({}), []),
            (event(2), []),
            (LOSE, []),
            (demand(1), [[1, COMPLETE], "done"]),
            (demand(1), []),
            (answer({}), []),
        ],
    ),
    (
        "the end of the connection behind what is queued",
        True,
        [
            (ACK, [OPENED]),
            (event(1), []),
            (LOSE, []),
            (demand(1), [[1, ("closed", -32000, "exit")], "done"]),
        ],
    ),
    (
        "our own close throws away what is queued",
        True,
        [
            (ACK, [OPENED]),
            (event(1), []),
            (ABORT, [[("closed", -32000, "abort")], "done"]),
            (ABORT, []),
            (CLOSED, []),
        ],
    ),
    (
        "our own close while it ends",
        True,
        [
            (ACK, [OPENED]),
            (event(1), []),
            (answer({}), []),
            (ABORT, [[("closed", -32000, "abort")], "done"]),
        ],
    ),
    (
        "the owner closes: the server is told, the owner nothing",
        True,
        [
            (ACK, [OPENED]),
            (event(1), []),
            (CLOSED, ["cancel", "done"]),
            (demand(9), []),
            (event(2), []),
            (ABORT, []),
            (CLOSED, []),
        ],
    ),
    ("the owner closes while it opens", True, [(CLOSED, ["cancel", "done"]), (ACK, [])]),
    (
        "the owner closes while it ends: the server has ended it already",
        True,
        [(ACK, [OPENED]), (event(1), []), (answer({}), []), (CLOSED, ["done"])],
    ),
    (
        "reopened: what is queued and asked for stays, and the new id counts",
        False,
        [
            (ACK, [OPENED]),
            (event(1), []),
            (("reopen",), []),
            (("use_id", 8), []),
            (event(2), []),
            (event(2, id=8), []),
            (ack({}), [OPENED]),
            (event(3, id=8), []),
            (demand(2), [[1, 3]]),
        ],
    ),
    (
        "reopened with an acknowledgement that has no filter: the owner is told behind the queue",
        True,
        [
            (ACK, [OPENED]),
            (("reopen",), []),
            (event(1), []),
            (ack(None), ["cancel"]),
            (demand(1), [[1, ("closed", -32000, {"notifications": None})], "done"]),
        ],
    ),
    (
        "the owner closes while it reopens",
        True,
        [(ACK, [OPENED]), (("reopen",), []), (CLOSED, ["cancel", "done"])],
    ),
    (
        "only an open stream can be reopened",
        True,
        [(("reopen",), []), (due(10.0), [("refused", -32001, "timeout"), "cancel", "done"])],
    ),
]


def subscription(*, keep_early=True, seconds=10.0):
    deadline = Deadline(Timeouts(seconds), 0.0)
    return Subscription(
        7, max_buffer=10, overflow="drop_oldest", deadline=deadline, keep_early=keep_early
    )


def take(it, step):
    name, *arguments = step
    return [in_short(deed) for deed in getattr(it, name)(*arguments) or []]


@pytest.mark.parametrize(
    ("keep_early", "steps"),
    [row[1:] for row in CONVERSATIONS],
    ids=[row[0] for row in CONVERSATIONS],
)
def test_subscription(keep_early, steps):
    it = subscription(keep_early=keep_early)
    done = False
    for number, (step, expected) in enumerate(steps):
        assert (number, expected) == (number, take(it, step))
        done = done or "done" in expected
        assert done == it.done


# an end, what the caller gets before the acknowledgement, what the owner gets after it
ENDS = [
    (answer({}), RESPONSE, COMPLETE),
    (answer(InputRequired(ASKS)), RESPONSE, ("closed", -32000, ASKS)),
    (CANCELLED, "ended", COMPLETE),
    (DISCONNECTED, "ended", ("closed", -32000, "closed")),
    (LOSE, "exit", ("closed", -32000, "exit")),
    (ABORT, "abort", ("closed", -32000, "abort")),
]


@pytest.mark.parametrize(("end", "cause", "closed"), ENDS)
def test_an_end_is_told_to_the_caller_before_and_to_the_owner_after_the_acknowledgement(
    end, cause, closed
):
    assert [("refused", -32000, cause), "done"] == take(subscription(), end)
    it = subscription()
    take(it, ACK)
    assert [[closed], "done"] == take(it, end)


def test_next_at_is_the_deadline_while_it_opens():
    it = subscription()
    assert it.next_at() == 10.0
    take(it, ACK)
    assert it.next_at() is None
    assert subscription(seconds=inf).next_at() is None
