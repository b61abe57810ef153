from __future__ import annotations

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.wire.headers import (
    authorization_fields,
    decode_fields,
    encode_fields,
    encode_value,
    is_field_value,
    is_token,
    message_fields,
    provider_fields,
    session_fields,
)
from snodo_actors.wire.jsonrpc import request
from snodo_actors.wire.meta import PROTOCOL_VERSION, build_params, version_meta
from snodo_actors.wire.policy import Mirror, Policy, core_policy
from snodo_actors.words.errors import TransportError
from snodo_actors.words.versions import INITIALIZE, STATELESS

TYPES = [
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
]
VERSION = (b"mcp-protocol-version", b"2026-07-28")


def message(method, params, meta=None):
    base = version_meta(STATELESS, {}, {"name": "a", "version": "1"})
    return request(1, method, build_params(params, base, meta=meta))


def fields(method, params, **more):
    return message_fields(message(method, params, **more), core_policy(STATELESS, method))


@pytest.mark.parametrize(
    ("mirrored", "method", "params"),
    [
        ([], "tools/list", {}),
        ([], "x/y", {"name": "a", "uri": "b", "taskId": "c"}),
        ([], "completion/complete", {"name": "a"}),
        ([(b"mcp-name", b"echo")], "tools/call", {"name": "echo", "arguments": {}}),
        ([(b"mcp-name", b"=?base64?w6k=?=")], "tools/call", {"name": "é"}),
        ([(b"mcp-name", b"=?base64?YQpi?=")], "tools/call", {"name": "a\nb"}),
        ([(b"mcp-name", b"")], "tools/call", {"name": ""}),
        ([], "tools/call", {"name": 5}),
        ([], "tools/call", {}),
        ([(b"mcp-name", b"a")], "prompts/get", {"name": "a"}),
        ([(b"mcp-name", b"file:///a b")], "resources/read", {"uri": "file:///a b"}),
        ([(b"mcp-name", b"t1")], "tasks/get", {"taskId": "t1"}),
        ([(b"mcp-name", b"t1")], "tasks/cancel", {"taskId": "t1"}),
        ([(b"mcp-name", b"t1")], "tasks/update", {"taskId": "t1"}),
    ],
)
def test_the_newest_version_says_the_body_in_headers_too(mirrored, method, params) -> None:
    expected = [*TYPES, VERSION, (b"mcp-method", method.encode()), *mirrored]

    assert fields(method, params) == tuple(expected)


def test_headers_follow_the_final_body() -> None:
    assert fields("tools/list", {}, meta={PROTOCOL_VERSION: "x"})[2] == (
        b"mcp-protocol-version",
        b"x",
    )
    assert fields("tools/list", {}, meta={PROTOCOL_VERSION: 5}) == (
        *TYPES,
        (b"mcp-method", b"tools/list"),
    )


@pytest.mark.parametrize("version", [None, *INITIALIZE])
def test_older_versions_say_nothing_of_the_body(version) -> None:
    policy = core_policy(version, "tools/call")

    assert message_fields(message("tools/call", {"name": "a"}), policy) == tuple(TYPES)


def test_token_first_and_params_last() -> None:
    built = message_fields(
        {"method": "x"},
        Policy(),
        token="abc",
        params=[("Mcp-Param-Region", "eu"), ("Mcp-Param-Town", " Köln")],
    )

    assert built == (
        (b"authorization", b"Bearer abc"),
        *TYPES,
        (b"Mcp-Param-Region", b"eu"),
        (b"Mcp-Param-Town", b"=?base64?IEvDtmxu?="),
    )


@pytest.mark.parametrize("method", ["a\r\nx: y", "a\n", "a\0", "\ud800"])
def test_a_method_that_would_break_the_head_is_refused(method) -> None:
    error = message_fields({"method": method}, core_policy(STATELESS, method))

    assert isinstance(error, TransportError)
    assert (error.code, error.cause, error.delivery) == (-32000, "mcp-method", "never_sent")


def test_other_text_is_sent_as_it_is() -> None:
    assert message_fields({"method": "é"}, core_policy(STATELESS, "é"))[-1] == (
        b"mcp-method",
        "é".encode(),
    )


def test_a_policy_chooses_media_types_and_mirrors() -> None:
    policy = Policy(
        "a/b", "c/d", (Mirror("X-Deep", ("params", "a", "b")), Mirror("x", ("gone", "y")))
    )

    assert message_fields({"params": {"a": {"b": "é"}}, "gone": []}, policy) == (
        (b"content-type", b"a/b"),
        (b"accept", b"c/d"),
        (b"x-deep", b"=?base64?w6k=?="),
    )


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a b~!", "a b~!"),
        ("=?base64?x", "=?base64?x"),
        ("x?=", "x?="),
        ("=?BASE64?eA==?=", "=?BASE64?eA==?="),
        ("=?base64?PT9iYXNlNjQ/eD89?=", "=?base64?x?="),
        ("=?base64?PT9iYXNlNjQ/PQ==?=", "=?base64?="),  # its start and its end overlap
        ("=?base64?IGE=?=", " a"),
        ("=?base64?YSA=?=", "a "),
        ("=?base64?IA==?=", " "),
        ("=?base64?YQli?=", "a\tb"),
        ("=?base64?YX9i?=", "a\x7fb"),
        ("=?base64?w7w=?=", "ü"),
        ("=?base64?8J+agA==?=", "🚀"),
        ("=?base64?YQ0KYg==?=", "a\r\nb"),
        ("=?base64?AA==?=", "\0"),
        ("=?base64?7aCA?=", "\ud800"),
    ],
)
def test_a_value_is_encoded_where_it_must_be(sent, value) -> None:
    assert encode_value(value) == sent


@given(st.text(st.characters(codec="utf-8") | st.sampled_from(" \t=?")) | st.text())
def test_an_encoded_value_can_be_read_again(value) -> None:
    sent = encode_value(value)
    is_encoded = sent.startswith("=?base64?") and sent.endswith("?=") and len(sent) >= 11

    assert sent.isascii()
    assert sent.isprintable()
    assert sent == sent.strip()
    assert (b64decode(sent[9:-2]).decode() if is_encoded else sent) == value


def test_fields_of_the_caller_and_of_the_session() -> None:
    assert authorization_fields("abc") == ((b"authorization", b"Bearer abc"),)
    assert authorization_fields(None) == ()
    assert encode_fields([("X-A", "ü"), ("x-a", "")]) == ((b"x-a", "ü".encode()), (b"x-a", b""))
    assert session_fields("2025-06-18", None) == ((b"mcp-protocol-version", b"2025-06-18"),)
    assert session_fields("2025-06-18", "s") == (
        (b"mcp-protocol-version", b"2025-06-18"),
        (b"mcp-session-id", b"s"),
    )


@pytest.mark.parametrize(
    ("valid", "token"),
    [
        (True, "abc.DEF-_~+/="),
        (True, "é"),
        (False, ""),
        (False, "a b"),
        (False, "a\tb"),
        (False, "a\r"),
        (False, "a\n"),
        (False, "a\0"),
        (False, "\ud800"),
        (False, None),
        (False, b"abc"),
    ],
)
def test_a_token_can_be_sent(valid, token) -> None:
    assert is_token(token) is valid


@pytest.mark.parametrize(
    ("valid", "value"),
    [(True, ""), (True, "a b\té"), (False, "a\r"), (False, "\n"), (False, "\0"), (False, "\udfff")],
)
def test_a_value_can_be_sent(valid, value) -> None:
    assert is_field_value(value) is valid


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ((), []),
        (((b"a", b"DPoP t"), (b"dpop", b"p")), [("A", "DPoP t"), ("DPoP", "p")]),
        (((b"a", b"b"),), {"a": "b"}),
        (((b"a", "é".encode()),), iter([["a", "é"]])),
        (None, None),
        (None, "ab"),
        (None, ["ab"]),
        (None, 5),
        (None, [("a", "b", "c")]),
        (None, [("a", b"b")]),
        (None, [(b"a", "b")]),
        (None, [("", "b")]),
        (None, [("a b", "b")]),
        (None, [("a", "b\r\nc: d")]),
        (None, [("a", "\ud800")]),
        (None, [("a", "b"), ("Content-Length", "5")]),
        (None, [("mcp-param-x", "5")]),
    ],
)
def test_what_a_provider_authorizes_with(fields, given) -> None:
    assert provider_fields(given) == fields


def test_the_fields_of_an_answer_as_a_dict() -> None:
    fields = ((b"dpop-nonce", b"n"), (b"www-authenticate", b"A"), (b"WWW-Authenticate", b"\xe9"))

    assert decode_fields(fields) == {"dpop-nonce": "n", "www-authenticate": "A, é"}
