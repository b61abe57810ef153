"""What an input handler may answer: elicitation, sampling and roots."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol_schemas import check, examples

from snodo_actors.wire import elicitation, roots, sampling
from snodo_actors.wire.shapes import MAX_DEPTH, fits_exactly, is_anything, is_json
from snodo_actors.words.versions import STATELESS

ANSWERS = {
    elicitation: ["ElicitResult"],
    sampling: ["CreateMessageResult"],
    roots: ["ListRootsResult"],
}


@pytest.mark.parametrize("module", ANSWERS)
def test_published_answers_are_valid(module) -> None:
    for name in ANSWERS[module]:
        for answer in examples(name):
            assert module.is_valid_response(answer)


@pytest.mark.parametrize("module", ANSWERS)
@pytest.mark.parametrize("answer", [None, [], "accept", 5, {}, ("ok", {})])
def test_what_is_no_object_is_not(module, answer) -> None:
    assert not module.is_valid_response(answer)


@pytest.mark.parametrize(
    ("valid", "answer"),
    [
        (True, {"action": "accept", "content": {"a": 1}}),
        (True, {"action": "accept"}),
        (True, {"action": "decline"}),
        (True, {"action": "cancel", "content": None, "more": []}),
        (False, {"action": "ok"}),
        (False, {"action": ["accept"]}),
        (False, {"action": None}),
        (False, {"content": {}}),
        (False, {"action": "accept", 5: 1}),
        (False, {"action": "accept", "content": {"a": object()}}),
        (False, {"action": "accept", "content": {"a": math.nan}}),
    ],
)
def test_elicitation(valid, answer) -> None:
    assert elicitation.is_valid_response(answer) is valid


@pytest.mark.parametrize(
    ("valid", "answer"),
    [
        (True, {"roots": []}),
        (True, {"roots": [{"uri": "file:///a"}]}),
        (True, {"roots": [{"uri": "file:///a", "name": "a", "_meta": {}, "more": 1}], "_meta": {}}),
        (True, {"roots": [], "more": None}),
        (False, {"roots": {}}),
        (False, {"roots": None}),
        (False, {"roots": ["file:///a"]}),
        (False, {"roots": [{}]}),
        (False, {"roots": [{"uri": "http://a"}]}),
        (False, {"roots": [{"uri": None}]}),
        (False, {"roots": [{"uri": "file:///a", "name": None}]}),
        (False, {"roots": [{"uri": "file:///a", "_meta": None}]}),
        (False, {"roots": [{"uri": "file:///a"}, {"uri": "/b"}]}),
        (False, {"roots": [], "_meta": []}),
        (False, {"roots": [{"uri": "file:///a", "more": {1, 2}}]}),
    ],
)
def test_roots(valid, answer) -> None:
    assert roots.is_valid_response(answer) is valid
    if valid:
        check(answer, STATELESS, "ListRootsResult")


@pytest.mark.parametrize(
    ("valid", "uri"),
    [
        (True, "file:///"),
        (True, "file://"),
        (True, "file:///some/a/b.txt"),
        (True, "file://host/a"),
        (True, "file://user:pw@host:80/a"),
        (True, "file://[::1]/a"),
        (True, "file:///a%20b/%C3%A9?q=/1#f?"),
        (True, "file:///a:b@c!$&'()*+,;=-._~"),
        (False, "file:/a"),
        (False, "FILE:///a"),
        (False, "https://a"),
        (False, "file:///a b"),
        (False, "file:///é"),
        (False, "file:///a%2"),
        (False, "file:///a\n"),
        (False, "file:///a#b#c"),
        (False, "file:///a[b]"),
        (False, "file://[::1/a"),
        (False, "file://host:x/a"),
        (False, "file:///a\\b"),
        (False, ""),
        (False, b"file:///a"),
    ],
)
def test_a_root_is_a_file_uri(valid, uri) -> None:
    assert roots.is_file_uri(uri) is valid


TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "data": "AA==", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
USE = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///a", "blob": "AA==", "mimeType": "x/y"}}
RESULT = {"type": "tool_result", "toolUseId": "1", "content": []}
NOTES = {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2026-01-01"}


def answer(content: Any, **more: Any):
    return {"role": "assistant", "model": "m", "content": content, **more}


@pytest.mark.parametrize(
    "valid",
    [
        answer(TEXT),
        answer([TEXT, IMAGE, AUDIO, USE, RESULT]),
        answer(TEXT, role="user"),
        answer(TEXT, stopReason="endTurn", _meta={"a": 1}, more={"x": [None]}),
        answer({**TEXT, "annotations": NOTES, "_meta": {"a": 1}}),
        answer({**TEXT, "annotations": {}}),
        answer({**IMAGE, "annotations": {"priority": 0}}),
        answer({**AUDIO, "annotations": {"priority": 1, "audience": []}}),
        answer({**USE, "input": {"a": [1]}, "_meta": {}}),
        answer({**RESULT, "isError": True, "structuredContent": None, "_meta": {}}),
        answer({**RESULT, "content": [TEXT, IMAGE, AUDIO, LINK, EMBEDDED, BLOB]}),
        answer({**RESULT, "content": [{**LINK, "title": "t", "size": 5, "icons": []}]}),
    ],
)
def test_sampling(valid) -> None:
    assert sampling.is_valid_response(valid)
    check(valid, STATELESS, "CreateMessageResult")


@pytest.mark.parametrize(
    "invalid",
    [
        answer(TEXT, role="system"),
        answer(TEXT, role=None),
        answer(TEXT, model=5),
        {"role": "assistant", "content": TEXT},
        {"role": "assistant", "model": "m"},
        {"model": "m", "content": TEXT},
        answer([]),
        answer(None),
        answer("hi"),
        answer([TEXT, "hi"]),
        answer(TEXT, stopReason=None),
        answer(TEXT, _meta=None),
        answer(TEXT, more={1: 2}),
        answer(TEXT, more=object()),
        answer(TEXT, more=math.inf),
        answer(TEXT, more=(1, 2)),
        # blocks
        answer({}),
        answer({"type": "video", "text": "x"}),
        answer({"type": ["text"], "text": "x"}),
        answer({"type": "text"}),
        answer({"type": "text", "text": 5}),
        answer({**TEXT, "more": 1}),
        answer({**TEXT, "_meta": []}),
        answer({**IMAGE, "data": None}),
        answer({"type": "image", "data": "AA=="}),
        answer({**AUDIO, "url": "x"}),
        answer({**USE, "input": []}),
        answer({**USE, "annotations": {}}),
        answer({"type": "tool_use", "id": "1", "name": "a"}),
        answer({**RESULT, "content": TEXT}),
        answer({**RESULT, "content": [USE]}),
        answer({**RESULT, "content": [RESULT]}),
        answer({**RESULT, "isError": "no"}),
        answer({"type": "tool_result", "content": []}),
        # only inside a tool's result
        answer(LINK),
        answer(EMBEDDED),
        answer({**RESULT, "content": [{**LINK, "uri": 5}]}),
        answer({**RESULT, "content": [{"type": "resource_link", "uri": "x"}]}),
        answer({**RESULT, "content": [{**EMBEDDED, "resource": {"uri": "x"}}]}),
        answer({**RESULT, "content": [{**EMBEDDED, "resource": {"text": "x"}}]}),
        answer(
            {**RESULT, "content": [{**BLOB, "resource": {"uri": "x", "text": "x", "blob": "x"}}]}
        ),
        # annotations
        answer({**TEXT, "annotations": None}),
        answer({**TEXT, "annotations": {"more": 1}}),
        answer({**TEXT, "annotations": {"audience": "user"}}),
        answer({**TEXT, "annotations": {"audience": ["system"]}}),
        answer({**TEXT, "annotations": {"priority": 1.1}}),
        answer({**TEXT, "annotations": {"priority": -1}}),
        answer({**TEXT, "annotations": {"priority": True}}),
        answer({**TEXT, "annotations": {"priority": math.nan}}),
        answer({**TEXT, "annotations": {"lastModified": 5}}),
    ],
)
def test_what_is_no_message_is_not(invalid) -> None:
    assert not sampling.is_valid_response(invalid)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def holding_itself() -> Any:
    circle: dict[str, Any] = {}
    circle["a"] = [circle]
    return circle


@pytest.mark.parametrize(
    ("json", "value"),
    [
        (True, {"a": [1, 1.5, "x", True, None, {}, 10**100]}),
        (True, nested(MAX_DEPTH)),
        (False, nested(MAX_DEPTH + 1)),
        (False, nested(100_000)),
        (False, holding_itself()),
        (False, {1: 2}),
        (False, [{None: 2}]),
        (False, (1,)),
        (False, b"x"),
        (False, {1}),
        (False, [math.nan]),
        (False, -math.inf),
        (False, object),
    ],
)
def test_plain_json(json, value) -> None:
    assert is_json(value) is json


def test_fields_beside_the_named_ones_are_a_breach_of_an_exact_shape() -> None:
    assert fits_exactly({"a": 1}, {"a": is_anything}, {"b": is_anything})
    assert not fits_exactly({"a": 1, "c": 1}, {"a": is_anything}, {"b": is_anything})
    assert not fits_exactly([], {}, {})


ANYTHING = st.recursive(
    st.sampled_from([None, 5, "user", "text", "file:///a", True, 1.5]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["type", "text", "role", "model", "content", "roots", "uri", "action"]),
            inner,
        )
    ),
)


@given(ANYTHING)
def test_any_answer_is_valid_or_not(value) -> None:
    for module in ANSWERS:
        assert module.is_valid_response(value) in (True, False)
