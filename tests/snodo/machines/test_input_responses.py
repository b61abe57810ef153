from __future__ import annotations

from math import nan

import pytest

from snodo_actors.machines.input_responses import HandlerFailure, read_handler_return

ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}
SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
ROOTS = {"roots": [{"uri": "file:///home", "name": "home"}]}

VALID = [
    ("form", ACCEPTED),
    ("form", {"action": "decline"}),
    ("url", {"action": "cancel"}),
    ("sampling", SAMPLED),
    ("roots", ROOTS),
    ("roots", {"roots": []}),
]

INVALID = [
    ("form", None),
    ("form", ["accept"]),
    ("form", {"action": "agree"}),
    ("form", {"action": "accept", "content": {"n": nan}}),
    ("form", SAMPLED),
    ("url", {}),
    ("sampling", ACCEPTED),
    ("sampling", {**SAMPLED, "role": "system"}),
    ("roots", ACCEPTED),
    ("roots", {"roots": [{"uri": "https://example.test"}]}),
]


@pytest.mark.parametrize(("kind", "response"), VALID)
def test_a_valid_response_is_taken_as_it_is(kind, response):
    assert response is read_handler_return(kind, response)
    assert response is read_handler_return(kind, ("ok", response))


@pytest.mark.parametrize(("kind", "response"), INVALID)
def test_a_response_that_does_not_fit_its_kind_is_told_apart(kind, response):
    failure = HandlerFailure(("invalid_response", response))
    assert failure == read_handler_return(kind, ("ok", response))


def test_a_handler_may_refuse_for_any_reason():
    assert HandlerFailure("busy") == read_handler_return("form", ("error", "busy"))


@pytest.mark.parametrize(
    "value",
    [None, "accept", True, [], ["ok", ACCEPTED], (), ("ok",), ("ok", 1, 2), ("yes", ACCEPTED)],
)
def test_anything_else_is_no_answer(value):
    assert HandlerFailure(("invalid_return", value)) == read_handler_return("form", value)
