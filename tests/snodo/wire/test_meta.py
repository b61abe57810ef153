from __future__ import annotations

import copy
import threading

import pytest

from snodo_actors.wire.ids import next_id
from snodo_actors.wire.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    PROTOCOL_VERSION,
    build_params,
    version_meta,
)
from snodo_actors.words.versions import INITIALIZE, STATELESS

INFO = {"name": "a", "version": "1"}
BASE = {PROTOCOL_VERSION: STATELESS, CLIENT_CAPABILITIES: {}, CLIENT_INFO: INFO}
TRACE = {"traceparent": "00-x", "tracestate": "a=1"}


def test_the_newest_version_is_said_in_each_request() -> None:
    assert version_meta(STATELESS, {}, INFO) == BASE


@pytest.mark.parametrize("version", INITIALIZE)
def test_the_older_ones_say_nothing(version) -> None:
    assert version_meta(version, {"sampling": {}}, INFO) == {}


@pytest.mark.parametrize(
    ("built", "params", "base", "more"),
    [
        ({}, {}, {}, {}),
        ({"_meta": BASE}, {}, BASE, {}),
        # the lowest to the highest
        ({"_meta": {**BASE, "a": 1}}, {"_meta": {"a": 1}}, BASE, {}),
        (
            {"_meta": {**BASE, PROTOCOL_VERSION: "x"}},
            {"_meta": {PROTOCOL_VERSION: "x"}},
            BASE,
            {},
        ),
        ({"_meta": {"a": 2}}, {"_meta": {"a": 1}}, {}, {"meta": {"a": 2}}),
        (
            {"_meta": {"a": 1, **TRACE}},
            {"_meta": {"a": 1, "traceparent": "mine"}},
            {},
            {"meta": {"tracestate": "mine"}, "trace_context": TRACE},
        ),
        (
            {"_meta": {**TRACE, "progressToken": 7}},
            {},
            {},
            {"trace_context": TRACE, "progress_token": 7},
        ),
        # values are replaced, not merged
        ({"_meta": {"a": {"y": 1}}}, {"_meta": {"a": {"x": 1}}}, {}, {"meta": {"a": {"y": 1}}}),
        # an empty one is left out
        ({}, {"_meta": {}}, {}, {}),
        ({}, {"_meta": {}}, {}, {"meta": {}, "trace_context": {}}),
        # a token without progress is the caller's affair
        ({"_meta": {"progressToken": "mine"}}, {"_meta": {"progressToken": "mine"}}, {}, {}),
        # input
        ({"name": "a", "inputResponses": {}}, {"name": "a"}, {}, {"input_responses": {}}),
        ({"requestState": ""}, {"requestState": "old"}, {}, {"request_state": ""}),
        ({"inputResponses": 5}, {"inputResponses": 5}, {}, {}),
    ],
)
def test_params(built, params, base, more) -> None:
    before = copy.deepcopy((params, base, more))

    assert build_params(params, base, **more) == built
    assert (params, base, more) == before


@pytest.mark.parametrize(
    ("params", "more"),
    [
        ({"_meta": {"progressToken": 1}}, {}),
        ({}, {"meta": {"progressToken": "x"}}),
    ],
)
def test_a_progress_token_is_chosen_once(params, more) -> None:
    with pytest.raises(ValueError, match="progress= chooses the progressToken itself"):
        build_params(params, {}, progress_token=7, **more)


@pytest.mark.parametrize("own", [None, [], "x", 5])
def test_a_meta_is_an_object(own) -> None:
    with pytest.raises(TypeError, match="must be a mapping"):
        build_params({"_meta": own}, {})


def test_ids_rise_and_are_never_given_twice() -> None:
    taken: list[list[int]] = [[] for _ in range(4)]

    def take(into: list[int]) -> None:
        into.extend(next_id() for _ in range(2000))

    threads = [threading.Thread(target=take, args=(into,)) for into in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    every = [id for ids in taken for id in ids]
    assert len(set(every)) == len(every)
    assert min(every) > 0
    assert all(ids == sorted(ids) for ids in taken)
