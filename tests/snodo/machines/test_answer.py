from __future__ import annotations

import json

import pytest
from http_answers import LIMIT, RESULT, hear, http, short, told

from snodo_actors.machines import answer as says
from snodo_actors.words.errors import ServerError

REFUSAL = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
JSON = "content-type: application/json"
BOM = b"\xef\xbb\xbf"


def http_status(status, body=b""):
    return ("failed", ("http_status", status, body[:512]))


def malformed(body):
    return ("failed", json.loads(body))


def response(body=RESULT):
    return ("response", json.loads(body.removeprefix(BOM)))


# ---- requests: what is a response, and whose

OURS = [
    RESULT,
    REFUSAL,
    BOM + RESULT,
    b"\r\n " + RESULT + b"\n",
    b'{"id":1,"result":[],"jsonrpc":"2.0"}',
    # which of the two it means, or what it lacks, is for whoever reads the response
    b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
    b'{"jsonrpc":"2.0","id":1}',
    # a server that could not read the id
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"eh"}}',
    b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"eh"}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""},"result":{}}',
]
FOREIGN = [
    b'{"jsonrpc":"2.0","id":2,"result":{}}',
    b'{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}',
    b'{"jsonrpc":"2.0","id":"1","result":{}}',
    b'{"jsonrpc":"2.0","id":"1","error":{"code":"1"}}',
    b'{"jsonrpc":"2.0","id":true,"result":{}}',
    b'{"jsonrpc":"2.0","id":true,"error":{"code":1,"message":""}}',
    b'{"jsonrpc":"2.0","id":false,"error":{"code":1,"message":""}}',
    b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
    b'{"jsonrpc":"2.0","id":[1],"result":{}}',
    b'{"jsonrpc":"2.0","id":null,"result":{}}',
    b'{"jsonrpc":"2.0","result":{}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}',
    b'{"jsonrpc":"2.0"}',
]
NO_MESSAGE = [
    b"",
    b"nope",
    b"[" + RESULT + b"]",
    b"[]",
    b"null",
    b'"2.0"',
    b'{"id":1,"result":{}}',
    b'{"jsonrpc":"1.0","id":1,"result":{}}',
    b'{"jsonrpc":2.0,"id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"result":{},"result":{}}',
    b'{"jsonrpc":"2.0","id":2,"id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"\\u0061":2}}',
    b'{"jsonrpc":"2.0","id":1,"result":{"n":' + b"1" * 65 + b"}}",
    RESULT + RESULT,
    RESULT[:-1],
    BOM + BOM + RESULT,
    RESULT.decode().encode("utf-16"),
    b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
    b"x" * 600,
    b"[" * 3000,
]


@pytest.mark.parametrize("status", [200, 202, 301, 400, 401, 403, 404, 405, 500, 502])
@pytest.mark.parametrize(
    ("outcome", "body"),
    [
        *((response(body), body) for body in OURS),
        *((malformed(body), body) for body in FOREIGN),
        *((None, body) for body in NO_MESSAGE),
    ],
)
def test_a_body_is_read_whatever_the_status(outcome, body, status):
    said = told(hear(http(status, body, JSON)))

    assert ["over, reusable", outcome or http_status(status, body)] == said


@pytest.mark.parametrize(
    ("is_shown", "status"), [(False, 200), (False, 302), (True, 400), (True, 406), (True, 500)]
)
def test_a_refusal_under_a_name_the_server_made_up_is_shown(is_shown, status):
    body = b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}'

    said = told(hear(http(status, body, JSON)))
    assert said == ["over, reusable", response(body) if is_shown else malformed(body)]


NO_SESSION = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid Session"}}'


@pytest.mark.parametrize(
    ("is_lost", "body", "status", "in_session"),
    [
        (True, NO_SESSION, 400, True),
        (True, NO_SESSION.replace(b'"error"', b'"id":null,"error"'), 400, True),
        (False, NO_SESSION, 400, False),
        (False, NO_SESSION, 409, True),
        (False, NO_SESSION, 200, True),
        (False, NO_SESSION.replace(b"-32000", b"-32602"), 400, True),
        (False, NO_SESSION.replace(b"Session", b"thing"), 400, True),
        (False, NO_SESSION.replace(b'"error"', b'"id":1,"error"'), 400, True),
    ],
)
def test_a_400_may_tell_of_the_session(is_lost, body, status, in_session):
    over, said = told(hear(http(status, body, JSON), in_session=in_session))

    assert over == "over, reusable"
    assert said == ("SessionGone" if is_lost else response(body))


def test_a_response_comes_with_its_text_and_its_headers():
    over, said = hear(http(200, RESULT, JSON, "mcp-session-id: s"), size=7)

    assert says.Over(reusable=True) == over
    assert isinstance(said, says.Response)
    assert (said.data, said.head.first(b"mcp-session-id")) == (RESULT, b"s")


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [JSON],
        ["content-type: Application/JSON; charset=utf-8"],
        ["content-type: text/plain"],
        ["content-type: text/html; x=text/event-stream"],
        ["content-type:"],
        [JSON, "content-type: text/event-stream"],
        ["content-encoding: identity"],
        ["content-encoding: Identity, identity"],
        ["content-encoding:"],
        ["content-encoding: ,"],
    ],
)
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_whatever_is_no_event_stream_is_json(fields, framing):
    sent = http(200, RESULT, *fields, framing=framing)
    said = told(hear(sent, closed=framing == "close"))

    assert ["over" if framing == "close" else "over, reusable", response()] == said


@pytest.mark.parametrize(
    ("named", "fields"),
    [
        ("gzip", ["content-encoding: gzip"]),
        ("gzip", ["Content-Encoding: GZIP"]),
        ("x-gzip", ["content-encoding: x-gzip"]),
        ("gzip, br", ["content-encoding: gzip,br"]),
        ("gzip", ["content-encoding: identity, gzip"]),
        ("x-gzip", ["content-encoding: identity", "content-encoding: x-gzip"]),
        ("gzip", ["content-encoding: gzip", "content-type: text/event-stream"]),
    ],
)
@pytest.mark.parametrize("status", [200, 404])
def test_what_is_compressed_was_not_asked_for(named, fields, status):
    *_, outcome = told(hear(http(status, RESULT, *fields)))

    assert ("failed", ("content_encoding", named)) == outcome


# ---- notifications, and answers to the server's requests

GZIP = "content-encoding: gzip"


@pytest.mark.parametrize("status", [200, 202, 204])
@pytest.mark.parametrize("body", [b"", b"ok", RESULT, REFUSAL])
@pytest.mark.parametrize("fields", [[], [JSON], [GZIP]])
def test_any_success_accepts_what_wants_no_response(status, body, fields):
    body = b"" if status == 204 else body

    assert told(hear(http(status, body, *fields), id=None)) == ["over, reusable", "Accepted"]


def test_an_acceptance_that_breaks_off_is_one():
    sent = http(202, b"accepted")[:-1]

    assert told(hear(sent, id=None, closed=True)) == ["over", "Accepted"]


@pytest.mark.parametrize(
    ("outcome", "status", "fields"),
    [
        ("Accepted", 200, []),
        ("Accepted", 202, [GZIP]),
        (http_status(400), 400, []),
        (http_status(500), 500, []),
        (("failed", ("content_encoding", "gzip")), 500, [GZIP]),
    ],
)
def test_a_stream_that_nobody_wants_is_not_read(outcome, status, fields):
    sent = http(status, b": hi\n", "content-type: text/event-stream", *fields, framing="close")

    assert ["over", outcome] == told(hear(sent, id=None))


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 405, 500])
@pytest.mark.parametrize("code", [-32600, -32601, -32603, 7])
def test_a_refusal_in_json_rpc_is_the_server_s_own(status, code):
    body = b'{"jsonrpc":"2.0","error":{"code":%d,"message":"no","data":[1]}}' % code
    over, outcome = hear(http(status, body, JSON), id=None)

    assert ("over, reusable", says.Failed) == (short(over), type(outcome))
    error = outcome.error
    assert isinstance(error, ServerError)
    assert (code, "no", [1], "protocol") == (error.code, error.message, error.data, error.kind)


@pytest.mark.parametrize("status", [301, 400, 404, 500])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no",
        RESULT,
        b'{"jsonrpc":"2.0","error":{"code":"7","message":"no"}}',
        b'{"jsonrpc":"2.0","error":{"code":true,"message":"no"}}',
        b'{"jsonrpc":"2.0","error":{"code":7}}',
        b'{"jsonrpc":"2.0","error":[]}',
        b'{"error":{"code":7,"message":"no"}}',
        b"[" + REFUSAL + b"]",
    ],
)
def test_any_other_refusal_is_a_status(status, body):
    assert ["over, reusable", http_status(status, body)] == told(hear(http(status, body), id=None))


# ---- what is no whole response

ONE_TOO_MANY = b"x" * (LIMIT + 1)
TOO_LARGE = ("failed", ("max_response_bytes", LIMIT))


@pytest.mark.parametrize("id", [1, None])
@pytest.mark.parametrize(
    ("outcome", "sent"),
    [
        (("failed", "closed"), b""),
        (("failed", "closed"), b"HTTP/1.1 200 OK\r\n"),
        (("failed", "closed"), http(500, RESULT, JSON)[:-1]),
        (("failed", "closed"), http(500, RESULT, framing="chunked")[:-1]),
        (("failed", "malformed"), b"SMTP ready\r\n\r\n"),
        (("failed", "malformed"), b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n"),
        (TOO_LARGE, http(200, ONE_TOO_MANY)),
        (TOO_LARGE, http(401, ONE_TOO_MANY)),
        (TOO_LARGE, http(500, ONE_TOO_MANY, framing="close")),
        (TOO_LARGE, http(404, ONE_TOO_MANY, "content-encoding: gzip", framing="chunked")),
    ],
)
def test_what_cannot_be_read_ends_the_connection(outcome, sent, id):
    assert ["over", outcome] == told(hear(sent, id=id, closed=True))


def test_an_answer_of_just_the_limit_is_taken():
    padded = RESULT + b" " * (LIMIT - len(RESULT))

    assert ["over, reusable", response()] == told(hear(http(200, padded)))
