from __future__ import annotations

import pytest

from snodo_actors.machines.input_requests import Asked
from snodo_actors.machines.server_requests import (
    Reply,
    Run,
    ServerRequests,
    answers_server_requests,
    decide,
    reply_to,
)

FORM = {"message": "Who?", "requestedSchema": {}}
YES = {"action": "accept"}
FORM_ONLY = frozenset({"form"})


def request(method, id="s1", **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params else {})}


def elicit(id="s1"):
    return request("elicitation/create", id, **FORM)


def result(id, result):
    return Reply({"jsonrpc": "2.0", "id": id, "result": result})


def code(reply):
    assert isinstance(reply, Reply)
    assert reply.message.keys() == {"jsonrpc", "id", "error"}
    return reply.message["error"]["code"]


@pytest.mark.parametrize("id", ["s1", 0, None, 1.5, ["odd"]])
def test_a_ping_is_answered_on_the_spot_under_its_own_id(id):
    assert result(id, {}) == decide(request("ping", id), ())


@pytest.mark.parametrize(
    ("message", "can_answer", "expected"),
    [
        (elicit(), FORM_ONLY, Asked("form", FORM)),
        (request("roots/list"), {"roots"}, Asked("roots", {})),
        (request("tasks/list"), FORM_ONLY, -32601),
        (request("elicitation/create", message="Who?"), FORM_ONLY, -32602),
        (request("sampling/createMessage"), (), -32602),
        (elicit(), (), -32601),
        (request("roots/list"), FORM_ONLY, -32601),
        # the client elicits, but not in this mode
        (request("elicitation/create", mode="url", message="Go", url="x"), FORM_ONLY, -32602),
        (elicit(), {"url"}, -32602),
        (request("elicitation/create", mode="voice"), FORM_ONLY, -32602),
        (request("elicitation/create", mode="voice"), (), -32601),
    ],
)
def test_decision(message, can_answer, expected):
    decision = decide(message, can_answer)
    assert expected == (code(decision) if isinstance(decision, Reply) else decision)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(YES, {"result": YES}), (("ok", YES), {"result": YES})],
)
def test_a_valid_response_is_the_reply(value, expected):
    assert Reply({"jsonrpc": "2.0", "id": 5, **expected}) == reply_to(5, "form", value)


def test_what_went_wrong_in_a_handler_is_not_told_to_the_server():
    replies = [
        reply_to(5, "form", value) for value in (("error", "secret"), "secret", {"secret": 1})
    ]
    assert [code(reply) for reply in replies] == [-32603] * 3
    assert len({reply.message["error"]["message"] for reply in replies}) == 3
    assert "secret" not in str(replies)


@pytest.mark.parametrize(
    ("version", "expected"),
    [(None, True), ("2025-06-18", True), ("2025-11-25", True), ("2026-07-28", False)],
)
def test_no_response_is_ever_sent_in_the_stateless_era(version, expected):
    assert expected == answers_server_requests(version)


def test_handlers_run_side_by_side_up_to_the_limit():
    requests = ServerRequests(FORM_ONLY, limit=2)
    first, second = requests.asked(elicit("a")), requests.asked(elicit("b"))
    assert ([Run(1, "form", FORM), Run(2, "form", FORM)], 2) == ([first, second], len(requests))

    refused = requests.asked(elicit("c"))
    assert (code(refused), refused.message["id"]) == (-32603, "c")
    assert "2" in refused.message["error"]["message"]
    assert result("p", {}) == requests.asked(request("ping", "p"))
    assert code(requests.asked(request("odd", "o"))) == -32601

    assert result("b", YES) == requests.returned(second.key, YES)
    assert Run(3, "form", FORM) == requests.asked(elicit("d"))


def test_an_exception_and_an_exit_are_told_with_their_text():
    requests = ServerRequests(FORM_ONLY, limit=2)
    raised = requests.raised(requests.asked(elicit("a")).key, "boom")
    killed = requests.killed(requests.asked(elicit("b")).key, "killed")
    assert [(reply.message["id"], code(reply)) for reply in (raised, killed)] == [
        ("a", -32603),
        ("b", -32603),
    ]
    assert "boom" in raised.message["error"]["message"]
    assert "killed" in killed.message["error"]["message"]
    assert len(requests) == 0


def test_nobody_wants_the_answer_to_a_cancelled_request():
    requests = ServerRequests(FORM_ONLY, limit=9)
    keys = [requests.asked(elicit(id)).key for id in (1, True, 1.0, "1", [1], 1)]
    assert [keys[0], keys[5]] == requests.cancelled(1)
    assert [keys[4]] == requests.cancelled([1])
    assert requests.cancelled(1) == []
    assert (
        requests.returned(keys[0], YES),
        requests.raised(keys[0], "boom"),
        requests.killed(keys[0], "killed"),
    ) == (None, None, None)
    assert result("1", YES) == requests.returned(keys[3], YES)


def test_close_gives_back_what_runs():
    requests = ServerRequests(FORM_ONLY, limit=9)
    keys = [requests.asked(elicit(id)).key for id in "ab"]
    assert (keys, []) == (requests.close(), requests.close())
    assert requests.returned(keys[0], YES) is None
