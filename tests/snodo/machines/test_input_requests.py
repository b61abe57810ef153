from __future__ import annotations

import pytest

from snodo_actors.machines.input_requests import (
    Asked,
    Malformed,
    Unanswerable,
    answerable,
    read_input_request,
)

ALL = frozenset({"form", "url", "sampling", "roots"})
FORM = {"message": "Who?", "requestedSchema": {}}
URL = {"mode": "url", "message": "Go", "url": "https://example.test"}
SAMPLING = {"messages": [], "maxTokens": 5}
TOOLS = {**SAMPLING, "tools": []}


def elicit(params):
    return {"method": "elicitation/create", "params": params}


def sample(params):
    return {"method": "sampling/createMessage", "params": params}


# request, who can answer, reading
READINGS = [
    (elicit(FORM), ALL, Asked("form", FORM)),
    (elicit({**FORM, "mode": "form"}), ALL, Asked("form", {**FORM, "mode": "form"})),
    (elicit(URL), ALL, Asked("url", URL)),
    (sample(SAMPLING), ALL, Asked("sampling", SAMPLING)),
    (sample({**SAMPLING, "mode": "odd"}), ALL, Asked("sampling", {**SAMPLING, "mode": "odd"})),
    ({"method": "roots/list"}, ALL, Asked("roots", {})),
    ({"method": "roots/list", "params": {"_meta": {}}}, ALL, Asked("roots", {"_meta": {}})),
    ({"method": "roots/list", "params": {"mode": 1}}, ALL, Asked("roots", {"mode": 1})),
    ({"method": "roots/list", "params": None}, ALL, Malformed()),
    ({"method": "roots/list", "params": []}, ALL, Malformed()),
    ({"method": "elicitation/create"}, ALL, Malformed()),
    (elicit(None), ALL, Malformed()),
    (elicit({"message": "Who?"}), ALL, Malformed()),
    (elicit({"mode": "form", "requestedSchema": {}}), ALL, Malformed()),
    (elicit({"mode": "url", "message": "Go"}), ALL, Malformed()),
    ({"method": "sampling/createMessage"}, ALL, Malformed()),
    (sample({"messages": []}), ALL, Malformed()),
    (elicit({**FORM, "mode": "voice"}), ALL, Unanswerable("elicitation/create")),
    (elicit({**FORM, "mode": None}), ALL, Unanswerable("elicitation/create")),
    (elicit({**FORM, "mode": ["form"]}), ALL, Unanswerable("elicitation/create")),
    ({"method": "tasks/get", "params": {}}, ALL, Unanswerable("tasks/get")),
    ({"params": FORM}, ALL, Unanswerable(None)),
    ({"method": 5, "params": FORM}, ALL, Unanswerable(None)),
    (elicit(FORM), ALL - {"form"}, Unanswerable("form")),
    (elicit(URL), {"form"}, Unanswerable("url")),
    ({"method": "roots/list"}, (), Unanswerable("roots")),
    # the params are looked at before the handler is
    (elicit({}), (), Malformed()),
    # tools need to be declared
    (sample(TOOLS), ALL, Unanswerable("sampling.tools")),
    (sample({**SAMPLING, "toolChoice": {}}), ALL, Unanswerable("sampling.tools")),
    (sample(TOOLS), ALL | {"sampling.tools"}, Asked("sampling", TOOLS)),
]


@pytest.mark.parametrize(
    ("request_", "can_answer", "expected"), READINGS, ids=[str(row[0]) for row in READINGS]
)
def test_reading(request_, can_answer, expected):
    assert expected == read_input_request(request_, can_answer)


@pytest.mark.parametrize(
    ("handlers", "capabilities", "expected"),
    [
        ([], {}, set()),
        (["form", "url"], {"sampling": True}, {"form", "url"}),
        (["sampling"], {"sampling": {}}, {"sampling"}),
        (["sampling"], {"sampling": {"tools": {}}}, {"sampling", "sampling.tools"}),
    ],
)
def test_answerable(handlers, capabilities, expected):
    assert expected == answerable(handlers, capabilities)
