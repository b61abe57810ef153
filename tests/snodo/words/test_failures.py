"""Every failure the client makes itself, as the table of errors has it."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from snodo_actors.words import failures, lost
from snodo_actors.words.errors import (
    InputError,
    ProtocolError,
    RefusedHeader,
    RequestTimeout,
    ServerError,
    TransportError,
)
from snodo_actors.words.failures import milliseconds
from snodo_actors.words.types import Challenge
from snodo_actors.words.versions import VERSIONS

RESULT = {"resultType": "input_required", "requestState": "s"}
REASON = ConnectionResetError("reset by peer")
REFUSED = ServerError(-32602, "no")
CHALLENGE = Challenge("bearer", {})
OLD = ["2025-11-25", "2025-06-18"]
T, P, X = "transport", "protocol", "execution"

# failure, class, code, kind, data, cause, delivery
TABLE = [
    (
        failures.unknown_protocol("2024-11-05"),
        (ProtocolError, -32602, P),
        {"requested": "2024-11-05", "supported": list(VERSIONS)},
        None,
        "never_sent",
    ),
    (
        failures.not_enabled(("2026-07-28",), OLD),
        (ProtocolError, -32602, P),
        {"requested": ["2026-07-28"], "enabled": OLD},
        None,
        "never_sent",
    ),
    (
        failures.no_common_version(("2026-07-28",), OLD),
        (ProtocolError, -32602, P),
        {"requested": ["2026-07-28"], "supported": OLD},
        None,
        "answered",
    ),
    (
        failures.version_not_allowed("2024-11-05", OLD),
        (ProtocolError, -32602, P),
        {"negotiated": "2024-11-05", "requested": OLD},
        None,
        "answered",
    ),
    (
        failures.cannot_notify(OLD),
        (ProtocolError, -32602, P),
        {"requested": OLD},
        None,
        "never_sent",
    ),
    (
        failures.method_not_found("roots/list", "2026-07-28"),
        (ProtocolError, -32601, P),
        {"method": "roots/list", "protocolVersion": "2026-07-28"},
        None,
        "never_sent",
    ),
    (failures.malformed_initialize({}), (TransportError, -32000, T), None, {}, "answered"),
    (
        failures.malformed_response({"a": 1}),
        (TransportError, -32000, T),
        None,
        {"a": 1},
        "answered",
    ),
    (failures.malformed_page({}), (TransportError, -32000, T), None, {}, "answered"),
    (
        failures.repeated_cursor("tools", "c"),
        (TransportError, -32000, T),
        None,
        ("tools", "c"),
        "answered",
    ),
    (
        failures.too_many_pages("prompts", 3),
        (TransportError, -32000, T),
        None,
        ("prompts", 3),
        "answered",
    ),
    (
        failures.timed_out(1.5),
        (RequestTimeout, -32001, T),
        {"timeoutMs": 1500},
        "timeout",
        "unknown",
    ),
    (
        failures.timed_out(30.0, delivery="never_sent"),
        (RequestTimeout, -32001, T),
        {"timeoutMs": 30_000},
        "timeout",
        "never_sent",
    ),
    (
        failures.total_timed_out(600.0),
        (RequestTimeout, -32001, T),
        {"maxTotalTimeoutMs": 600_000},
        "max_total_timeout",
        "unknown",
    ),
    (
        failures.no_input_handler("1", "form", RESULT),
        (InputError, -32602, P),
        {"inputRequest": "1"},
        ("no_input_handler", "form", RESULT),
        "answered",
    ),
    (
        failures.no_input_handler("1", None, RESULT),
        (InputError, -32602, P),
        {"inputRequest": "1"},
        ("no_input_handler", None, RESULT),
        "answered",
    ),
    (
        failures.input_handler_failed("1", ("invalid_return", 5), RESULT),
        (InputError, -32603, X),
        None,
        ("input_handler", "1", ("invalid_return", 5), RESULT),
        "answered",
    ),
    (
        failures.too_many_input_rounds(10, RESULT),
        (InputError, -32000, T),
        {"maxInputRounds": 10},
        ("max_input_rounds", RESULT),
        "answered",
    ),
    (failures.malformed_input(RESULT), (InputError, -32000, T), None, RESULT, "answered"),
    (lost.command_not_found("nope"), (TransportError, -32000, T), None, "enoent", "never_sent"),
    (
        lost.could_not_start("x", PermissionError("denied")),
        (TransportError, -32000, T),
        None,
        PermissionError,
        "never_sent",
    ),
    (lost.server_exited(3), (TransportError, -32000, T), None, ("exit_status", 3), "unknown"),
    (
        lost.pipe_failed("epipe", delivery="never_sent"),
        (TransportError, -32000, T),
        None,
        ("port_exit", "epipe"),
        "never_sent",
    ),
    (lost.not_accepting_input(), (TransportError, -32000, T), None, "closed", "never_sent"),
    (lost.connection_closed("kill"), (TransportError, -32000, T), None, "kill", "unknown"),
    (
        lost.owner_ended("<task 1>", "cancelled"),
        (TransportError, -32000, T),
        None,
        ("owner_ended", "<task 1>", "cancelled"),
        "never_sent",
    ),
    (
        lost.line_too_long(100),
        (TransportError, -32000, T),
        None,
        ("max_line_bytes", 100),
        "answered",
    ),
    (lost.bad_url("ftp://x"), (TransportError, -32000, T), None, "ftp://x", "never_sent"),
    (lost.bad_tls("a: b"), (TransportError, -32000, T), None, ("ssl", "a: b"), "never_sent"),
    (
        lost.bad_proxy("p.test", "why"),
        (TransportError, -32000, T),
        None,
        ("proxy", "p.test"),
        "never_sent",
    ),
    (lost.bad_header("X-A"), (TransportError, -32000, T), None, "X-A", "never_sent"),
    (
        lost.refused_header("X-A", "the header 'X-A' is refused"),
        (RefusedHeader, -32000, T),
        None,
        "X-A",
        "never_sent",
    ),
    (lost.bad_extension(dict), (TransportError, -32000, T), None, dict, "never_sent"),
    (
        lost.could_not_connect("timeout"),
        (TransportError, -32000, T),
        None,
        ("failed_connect", "timeout"),
        "never_sent",
    ),
    (lost.exchange_failed("closed"), (TransportError, -32000, T), None, "closed", "unknown"),
    (lost.malformed_http(), (TransportError, -32000, T), None, "malformed", "answered"),
    (
        lost.response_too_large(1024),
        (TransportError, -32000, T),
        None,
        ("max_response_bytes", 1024),
        "answered",
    ),
    (
        lost.content_coded("gzip"),
        (TransportError, -32000, T),
        None,
        ("content_encoding", "gzip"),
        "answered",
    ),
    (
        lost.not_json_rpc(502, b"x" * 600),
        (TransportError, -32000, T),
        None,
        ("http_status", 502, b"x" * 512),
        "answered",
    ),
    (
        lost.session_lost(b"gone"),
        (TransportError, -32000, T),
        None,
        ("http_status", 404, b"gone"),
        "answered",
    ),
    (lost.answer_not_delivered(REFUSED), (TransportError, -32000, T), None, REFUSED, "unknown"),
    (lost.invalid_token(), (TransportError, -32000, T), None, "invalid_token", "never_sent"),
    (lost.provider_failed(REASON, None), (TransportError, -32000, T), None, REASON, "never_sent"),
    (
        lost.provider_failed(KeyError("s3cret"), "s3cret"),
        (TransportError, -32000, T),
        None,
        ("token_provider", "KeyError"),
        "never_sent",
    ),
    (
        lost.provider_timed_out(600.0),
        (TransportError, -32000, T),
        None,
        ("token_provider", "timeout"),
        "never_sent",
    ),
    (
        lost.invalid_authorization(),
        (TransportError, -32000, T),
        None,
        ("token_provider", "authorize"),
        "never_sent",
    ),
    (
        lost.unauthorized(401, CHALLENGE),
        (TransportError, -32000, T),
        None,
        ("unauthorized", 401, CHALLENGE),
        "answered",
    ),
    (lost.malformed_acknowledgement({}), (TransportError, -32000, T), None, {}, "answered"),
    (lost.ended_before_acknowledging(), (TransportError, -32000, T), None, "ended", "answered"),
    (
        lost.ended_before_acknowledging({"id": 1}),
        (TransportError, -32000, T),
        None,
        {"id": 1},
        "answered",
    ),
    (lost.stream_asked_for_input(RESULT), (TransportError, -32000, T), None, RESULT, "answered"),
    (lost.stream_closed(), (TransportError, -32000, T), None, "closed", "answered"),
    (lost.stream_crashed(REASON), (TransportError, -32000, T), None, REASON, "answered"),
    (lost.stream_ended(), (TransportError, -32000, T), None, "closed", "never_sent"),
    (lost.unexpected_outcome(None), (TransportError, -32000, T), None, None, "answered"),
]


@pytest.mark.parametrize(
    ("failure", "what", "data", "cause", "delivery"),
    TABLE,
    ids=[row[0].message[:40] for row in TABLE],
)
def test_failure(failure, what, data, cause, delivery) -> None:
    assert (type(failure), failure.code, failure.kind) == what
    assert failure.data == data
    assert failure.delivery == delivery
    if cause is PermissionError:
        assert isinstance(failure.cause, PermissionError)
    else:
        assert failure.cause == cause


@pytest.mark.parametrize("failure", [row[0] for row in TABLE], ids=lambda f: f.message[:40])
def test_a_failure_can_be_pickled_and_says_something(failure) -> None:
    twin = pickle.loads(pickle.dumps(failure))

    assert (str(twin), twin.code, twin.data) == (str(failure), failure.code, failure.data)
    assert len(failure.message) > 10


def test_every_constructor_is_in_the_table() -> None:
    table = Path(__file__).read_text().partition("TABLE = [")[2].partition("\n]")[0]
    made = {
        name
        for module in (failures, lost)
        for name, item in vars(module).items()
        if callable(item) and item.__module__ == module.__name__
    }

    assert made - {"milliseconds", "_lost"} == set(re.findall(r"(?:failures|lost)\.(\w+)", table))


def test_the_total_timeout_has_the_text_that_is_promised() -> None:
    assert failures.total_timed_out(1.0).message == "Maximum total timeout exceeded"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(1500, 1.5), (1, 0.001), (0.5, 0.0005), (300, 0.3), (600_000, 600), (30_000, 30.0)],
)
def test_times_are_written_in_milliseconds(written, seconds) -> None:
    assert milliseconds(seconds) == written
    assert type(milliseconds(seconds)) is type(written)


def test_what_the_server_last_said_is_part_of_its_exit() -> None:
    failure = lost.server_exited(1, "Traceback\nKeyError: 'x'\n")

    assert "exited with status 1" in failure.message
    assert failure.message.endswith("KeyError: 'x'")
    assert "stderr" not in lost.server_exited(1, " \n").message


def test_a_server_that_was_killed_is_said_to_be_killed() -> None:
    failure = lost.server_exited(137, "bye\n", signal="9 (SIGKILL)")

    assert failure.message.startswith("the server process was killed by signal 9 (SIGKILL)\n")
    assert failure.cause == ("exit_status", 137)


def test_a_failure_of_an_extension_keeps_what_it_raised() -> None:
    failure = lost.bad_extension(dict, KeyError("x"))

    assert failure.cause is dict
    assert repr(failure.__cause__) == "KeyError('x')"
    assert "KeyError" in failure.message


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (502, b"", "the server answered with HTTP status 502, not a JSON-RPC message"),
        (
            500,
            b"\xff no",
            "the server answered with HTTP status 500 saying '\ufffd no', not a JSON-RPC message",
        ),
        (
            307,
            b"",
            (
                "the server answered with HTTP status 307, not a JSON-RPC message; "
                "redirects are not followed, connect to the final URL"
            ),
        ),
    ],
)
def test_an_http_answer_that_is_none_is_explained(status, body, text) -> None:
    assert lost.not_json_rpc(status, body).message == text


@pytest.mark.parametrize(
    ("shows", "reason"),
    [
        (True, LookupError("no such vault")),
        (False, LookupError("s3cret")),
        (False, LookupError("no such token: s3cret!")),
        (False, KeyError("s3cret")),
    ],
)
def test_what_a_provider_raised_is_shown_unless_it_shows_the_token(shows, reason) -> None:
    failure = lost.provider_failed(reason, "s3cret")

    assert type(reason).__name__ in failure.message
    assert ("no such vault" in failure.message) is shows
    assert (failure.cause is reason) is (failure.__cause__ is reason) is shows
    assert "s3cret" not in f"{failure} {failure!r}"
