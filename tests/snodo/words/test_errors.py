from __future__ import annotations

import copy
import pickle
import ssl

import pytest

from snodo_actors.words.errors import (
    Error,
    InputError,
    ProtocolError,
    RequestTimeout,
    ServerError,
    TransportError,
)

CLASSES = [Error, ServerError, ProtocolError, InputError, TransportError, RequestTimeout]


@pytest.mark.parametrize(
    ("kind", "class_", "code"),
    [
        ("json_rpc", ServerError, -32700),
        ("json_rpc", ServerError, -32600),
        ("protocol", ServerError, -32601),
        ("protocol", ServerError, -32602),
        ("execution", ServerError, -32603),
        ("protocol", ServerError, -32000),
        ("protocol", ServerError, -32001),
        ("protocol", ServerError, -32020),
        ("protocol", ServerError, 7),
        ("protocol", ProtocolError, -32602),
        ("execution", InputError, -32603),
        ("transport", TransportError, -32000),
        ("transport", RequestTimeout, -32001),
    ],
)
def test_the_kind_follows_from_who_failed_and_the_code(kind, class_, code) -> None:
    assert class_(code, "no").kind == kind


def test_a_kind_that_is_given_stays() -> None:
    assert TransportError(-32000, "no", kind="authorization").kind == "authorization"


def test_a_timeout_is_caught_as_a_transport_error_and_all_as_error() -> None:
    assert issubclass(RequestTimeout, TransportError)
    assert all(issubclass(class_, Error) for class_ in CLASSES)


@pytest.mark.parametrize("class_", CLASSES)
@pytest.mark.parametrize(
    "duplicate", [copy.copy, lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy]
)
def test_an_error_survives_copying_and_pickling_whole(class_, duplicate) -> None:
    error = class_(
        -32050,
        "no",
        data={"a": [1]},
        kind="execution",
        cause=("input_handler", "1", "why", {}),
        delivery="answered",
        who="stdio server",
    )
    error.add_note("seen twice")

    twin = duplicate(error)

    assert type(twin) is class_
    assert vars(twin) == vars(error)
    assert twin.args == (-32050, "no")


def test_an_exception_as_cause_is_shown_in_the_traceback_too() -> None:
    reason = ssl.SSLError(1, "bad certificate")
    error = TransportError(-32000, "no", cause=reason)

    assert error.__cause__ is reason
    assert repr(pickle.loads(pickle.dumps(error)).cause) == repr(reason)


def test_the_same_failure_for_another_call_is_another_object() -> None:
    reason = OSError("gone")
    first = TransportError(-32000, "no", cause=reason, data={"a": 1}, who="here")

    second, third = first.again("never_sent"), first.again()

    assert second is not first
    assert (second.delivery, third.delivery, first.delivery) == ("never_sent", "unknown", "unknown")
    assert (second.cause, second.__cause__, second.data, second.who) == (
        reason,
        reason,
        {"a": 1},
        "here",
    )


def test_the_first_name_stays() -> None:
    error = TransportError(-32000, "no").named("a")

    assert error.named("b").who == "a"


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"code": 5, "message": "no"}, ServerError(5, "no")),
        ({"code": 5, "message": "no", "data": {}}, ServerError(5, "no", data={})),
        (
            {"code": 5, "message": "no", "data": 0},
            ServerError(5, "no", data=0, cause="x", kind="execution"),
        ),
    ],
)
def test_kind_and_cause_never_travel(form, error) -> None:
    assert error.to_json_rpc() == form


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            (
                "it broke (the server may have run it, so try again only what is harmless to run "
                "twice; code -32000)"
            ),
            TransportError(-32000, "it broke"),
        ),
        (
            "stdio server: it broke (nothing was sent, so it is safe to try again; code -32000)",
            TransportError(-32000, "it broke", delivery="never_sent", who="stdio server"),
        ),
        ("no such tool (code -32602)", ServerError(-32602, "no such tool", delivery="answered")),
        (
            "no such tool (code -32602); data: {'tool': 'x'}",
            ServerError(-32602, "no such tool", data={"tool": "x"}, delivery="answered"),
        ),
    ],
)
def test_the_text_says_what_to_whom_and_what_to_do(text, error) -> None:
    assert str(error) == text


@pytest.mark.parametrize(
    ("form", "error"),
    [
        (
            "TransportError(-32000, 'it broke', kind='transport', delivery='unknown')",
            TransportError(-32000, "it broke"),
        ),
        (
            (
                "RequestTimeout(-32001, 'x', kind='transport', data={'a': 5}, cause='timeout', "
                "delivery='unknown', who='http x')"
            ),
            RequestTimeout(-32001, "x", data={"a": 5}, cause="timeout", who="http x"),
        ),
    ],
)
def test_the_form_for_programmers_says_all(form, error) -> None:
    assert repr(error) == form


def test_a_large_cause_is_not_shown_whole() -> None:
    error = TransportError(-32000, "it broke", cause={"result": "x" * 10**7})

    assert len(repr(error)) < 1000


class OwnError(TransportError):
    """As a token provider may have: its arguments are others than those it leaves."""

    def __init__(self, vault: str, *, since: float) -> None:
        super().__init__(-32000, f"the vault {vault} is closed", kind="authorization")
        self.vault, self.since = vault, since


def test_an_error_of_somebody_else_s_class_can_be_had_again() -> None:
    error = OwnError("north", since=5.0)

    other = error.again("answered").named("http a.test")

    assert isinstance(other, OwnError)
    assert (other.vault, other.since, other.delivery) == ("north", 5.0, "answered")
    assert (error.delivery, error.who) == ("unknown", None)
    assert "the vault north is closed" in str(other)
    assert "kind='authorization'" in repr(other)
