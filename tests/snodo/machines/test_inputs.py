from __future__ import annotations

import pytest

from snodo_actors.machines.inputs import Failed, InputRounds, Run, SendAgain

FORM = {"message": "Who?", "requestedSchema": {}}
URL = {"mode": "url", "message": "Go", "url": "https://example.test"}
ASK_FORM = {"method": "elicitation/create", "params": FORM}
ASK_URL = {"method": "elicitation/create", "params": URL}
ASK_ROOTS = {"method": "roots/list"}
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}
ROOTS = {"roots": []}
CAN_ANSWER = frozenset({"form", "url"})


def result(requests=None, **more):
    asked = {} if requests is None else {"inputRequests": requests}
    return {"resultType": "input_required", **asked, **more}


def required(result):
    return lambda rounds: rounds.required(result)


def returned(value):
    return lambda rounds: rounds.returned(value)


ONE = result({"a": ASK_FORM}, requestState="s")
THREE = result({"2": ASK_FORM, "10": ASK_URL, "1": ASK_FORM})
STATE = result(requestState="s")

# what is meant, steps
CONVERSATIONS = [
    (
        "one question",
        [
            (required(ONE), Run("a", "form", FORM)),
            (returned(YES), SendAgain({"inputResponses": {"a": YES}, "requestState": "s"}, 0.0)),
        ],
    ),
    (
        "several, in the order of their ids as strings",
        [
            (required(THREE), Run("1", "form", FORM)),
            (returned(("ok", NO)), Run("10", "url", URL)),
            (returned(YES), Run("2", "form", FORM)),
            (returned(YES), SendAgain({"inputResponses": {"1": NO, "10": YES, "2": YES}}, 0.0)),
        ],
    ),
    (
        "a state alone is sent back after a moment",
        [
            (required(STATE), SendAgain({"requestState": "s"}, 0.25)),
            (
                required(result({}, requestState=None)),
                SendAgain({"requestState": None}, 0.25),
            ),
        ],
    ),
    (
        "each round replaces what the last one gave",
        [
            (required(ONE), Run("a", "form", FORM)),
            (returned(YES), SendAgain({"inputResponses": {"a": YES}, "requestState": "s"}, 0.0)),
            (required(result({"b": ASK_URL})), Run("b", "url", URL)),
            (returned(NO), SendAgain({"inputResponses": {"b": NO}}, 0.0)),
        ],
    ),
]


@pytest.mark.parametrize(
    "steps", [row[1] for row in CONVERSATIONS], ids=[row[0] for row in CONVERSATIONS]
)
def test_rounds(steps):
    rounds = InputRounds(CAN_ANSWER, max_rounds=10)
    for number, (step, expected) in enumerate(steps):
        assert (number, expected) == (number, step(rounds))


def failure(deed):
    assert isinstance(deed, Failed)
    error = deed.error
    return error.code, error.kind, error.data, error.cause


@pytest.mark.parametrize(
    "malformed",
    [
        result(),
        result({}),
        result(None, requestState_="s"),
        result([]),
        {"inputRequests": None, "requestState": "s"},
        result({"a": None}),
        result({"a": "roots/list"}),
        result({"a": {"method": "elicitation/create", "params": {}}}),
        # malformed counts before the missing handler of the same entry
        result({"a": {"method": "sampling/createMessage", "params": {}}}),
        # the first entry in order decides
        result({"b": ASK_ROOTS, "a": {"method": "elicitation/create"}}),
    ],
)
def test_malformed(malformed):
    deed = InputRounds(CAN_ANSWER, max_rounds=10).required(malformed)
    assert (-32000, "transport", None, malformed) == failure(deed)


@pytest.mark.parametrize(
    ("requests", "id", "kind"),
    [
        ({"a": ASK_ROOTS}, "a", "roots"),
        ({"a": ASK_FORM, "b": {"method": "tasks/get"}}, "b", "tasks/get"),
        ({"a": {"params": FORM}}, "a", None),
        ({"2": ASK_ROOTS, "10": {"method": "x"}}, "10", "x"),
        (
            {"a": {"method": "elicitation/create", "params": {"mode": "v"}}},
            "a",
            "elicitation/create",
        ),
    ],
)
def test_nobody_can_answer(requests, id, kind):
    asked = result(requests)
    deed = InputRounds(CAN_ANSWER, max_rounds=10).required(asked)
    cause = ("no_input_handler", kind, asked)
    assert (-32602, "protocol", {"inputRequest": id}, cause) == failure(deed)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (("error", "busy"), "busy"),
        (5, ("invalid_return", 5)),
        ({"action": "perhaps"}, ("invalid_response", {"action": "perhaps"})),
    ],
)
def test_a_handler_that_fails_stops_those_behind_it(value, reason):
    rounds = InputRounds(CAN_ANSWER, max_rounds=10)
    rounds.required(THREE)
    cause = ("input_handler", "1", reason, THREE)
    assert (-32603, "execution", None, cause) == failure(rounds.returned(value))


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_is_on_answered_results_and_comes_before_all_else(limit):
    rounds = InputRounds(CAN_ANSWER, max_rounds=limit)
    for _ in range(limit):
        assert SendAgain({"requestState": "s"}, 0.25) == rounds.required(STATE)
    malformed = result([])
    assert (
        -32000,
        "transport",
        {"maxInputRounds": limit},
        ("max_input_rounds", malformed),
    ) == failure(rounds.required(malformed))
