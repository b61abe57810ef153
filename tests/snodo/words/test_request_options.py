from __future__ import annotations

import pytest

from snodo_actors.words.listen_options import ListenOptions
from snodo_actors.words.request_options import NO_OPTIONS, RequestOptions
from snodo_actors.words.types import INHERIT

TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}


class Mailbox:
    def tell(self, message) -> None: ...


def test_defaults() -> None:
    assert RequestOptions() == NO_OPTIONS
    assert (NO_OPTIONS.input_responses, NO_OPTIONS.request_state) == (None, None)
    assert (NO_OPTIONS.meta, NO_OPTIONS.trace_context, NO_OPTIONS.progress) == (None, None, None)
    assert (NO_OPTIONS.reset_timeout_on_progress, NO_OPTIONS.max_total_timeout) == (False, 600.0)
    assert (NO_OPTIONS.timeout, NO_OPTIONS.max_input_rounds) == (INHERIT, INHERIT)
    assert (NO_OPTIONS.answer_input, NO_OPTIONS.bypass_cache) == (True, False)
    assert NO_OPTIONS.extension is None


@pytest.mark.parametrize(
    ("taken", "given"),
    [
        ({"timeout": None}, {"timeout": None}),
        ({"timeout": 5.0}, {"timeout": 5}),
        ({"max_total_timeout": None}, {"max_total_timeout": float("inf")}),
        ({"max_input_rounds": 1}, {"max_input_rounds": 1}),
        ({"meta": {"a": 1}}, {"meta": {"a": 1}}),
        ({"input_responses": {}}, {"input_responses": {}}),
        ({"request_state": 5}, {"request_state": 5}),
        ({"trace_context": TRACE}, {"trace_context": TRACE}),
        (
            {"meta": {"traceparent": "mine"}, "trace_context": TRACE},
            {"meta": {"traceparent": "mine"}, "trace_context": TRACE},
        ),
        ({"progress": print}, {"progress": print}),
        (
            {"answer_input": False, "bypass_cache": True},
            {"answer_input": False, "bypass_cache": True},
        ),
        ({"reset_timeout_on_progress": True}, {"reset_timeout_on_progress": True}),
    ],
)
def test_what_is_given_is_taken(taken, given) -> None:
    options = RequestOptions(**given)

    assert {name: getattr(options, name) for name in taken} == taken


def test_a_mailbox_can_be_told_of_progress() -> None:
    box = Mailbox()

    assert RequestOptions(progress=box).progress is box


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (TypeError, "bypass_cache must be", {"bypass_cache": 1}),
        (TypeError, "answer_input must be", {"answer_input": None}),
        (TypeError, "reset_timeout_on_progress must be", {"reset_timeout_on_progress": "yes"}),
        (ValueError, "max_total_timeout must be", {"max_total_timeout": 0}),
        (ValueError, "max_input_rounds must be", {"max_input_rounds": 0}),
        (TypeError, "max_input_rounds must be", {"max_input_rounds": None}),
        (TypeError, "progress must be a function", {"progress": "print"}),
        (TypeError, "meta must be", {"meta": [1]}),
        (ValueError, "meta must have keys", {"meta": {"a b": 1}}),
        (ValueError, "baggage in meta must be", {"meta": {"baggage": "a"}}),
        (
            ValueError,
            "tracestate in meta must be",
            {"meta": {"tracestate": "mine"}, "trace_context": TRACE},
        ),
        (TypeError, "input_responses must be", {"input_responses": []}),
        (TypeError, "trace_context must be", {"trace_context": TRACE["traceparent"]}),
        (ValueError, "not a W3C", {"trace_context": {"traceparent": ""}}),
        (ValueError, "timeout must be", {"timeout": -1}),
        (TypeError, "timeout must be", {"timeout": True}),
    ],
)
def test_a_wrong_option_is_refused(error, text, options) -> None:
    with pytest.raises(error, match=text):
        RequestOptions(**options)


@pytest.mark.parametrize("options", [{}, {"timeout": 5.0}, {"timeout": None}])
def test_what_was_kept_will_do_for_a_plain_call(options) -> None:
    assert RequestOptions(**options).is_plain


@pytest.mark.parametrize(
    "options",
    [
        {"input_responses": {}},
        {"request_state": ""},
        {"meta": {}},
        {"trace_context": TRACE},
        {"progress": print},
        {"reset_timeout_on_progress": True},
        {"max_total_timeout": None},
        {"extension": "x"},
        {"answer_input": False},
        {"max_input_rounds": 1},
        {"bypass_cache": True},
    ],
)
def test_any_other_option_makes_it_another_call(options) -> None:
    assert not RequestOptions(**options).is_plain
    assert not RequestOptions(timeout=5.0, **options).is_plain


def test_listen_defaults() -> None:
    options = ListenOptions()

    assert (options.max_buffer, options.overflow, options.timeout) == (100, "drop_oldest", INHERIT)
    assert (options.meta, options.trace_context) == (None, None)


def test_listen_does_not_look_at_what_is_overridden() -> None:
    meta = {"traceparent": "mine"}

    assert ListenOptions(meta=meta, trace_context=TRACE).meta == meta


def test_listen_takes_what_is_given() -> None:
    options = ListenOptions(
        max_buffer=1, overflow="drop_newest", timeout=None, meta={"a": 1}, trace_context=TRACE
    )

    assert (options.max_buffer, options.overflow, options.timeout) == (1, "drop_newest", None)
    assert (options.meta, options.trace_context) == ({"a": 1}, TRACE)


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (ValueError, "max_buffer must be", {"max_buffer": 0}),
        (TypeError, "max_buffer must be", {"max_buffer": 1.5}),
        (ValueError, "overflow must be one of", {"overflow": "block"}),
        (ValueError, "timeout must be", {"timeout": 0}),
        (TypeError, "meta must be", {"meta": "x"}),
        (ValueError, "meta must have keys", {"meta": {"/a": 1}}),
        (ValueError, "needs traceparent", {"trace_context": {}}),
    ],
)
def test_a_wrong_listen_option_is_refused(error, text, options) -> None:
    with pytest.raises(error, match=text):
        ListenOptions(**options)
