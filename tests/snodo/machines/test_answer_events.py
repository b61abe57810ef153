from __future__ import annotations

import json

import pytest
from http_answers import LIMIT, RESULT, data, hear, http, short, stream, told

from snodo_actors.machines import answer as says
from snodo_actors.wire.http1 import Head, ResponseReader

PROGRESS = data(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}')
PING = data(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
ANSWER = data(RESULT)
REFUSAL = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
DUPLICATE = '{"id":1,"result":{},"result":{}}'
TWICE = data(DUPLICATE.encode())
BOM = b"\xef\xbb\xbf"

HEARD = ("response", json.loads(RESULT))
REFUSED = ("response", json.loads(REFUSAL))
TOLD = ("message", "notifications/progress")
ASKED = ("message", "ping")


def unanswered(sent, last_event_id="", retry=None, status=200):
    return ("interrupted", last_event_id, retry, ("http_status", status, sent[:512]))


def nothing(*events):
    """Say what becomes of a stream whose *events* mean nothing."""
    return (["Streaming", unanswered(b"".join(events))], events)


# what is said, before the connection is closed; the events, which end with the body
STREAMS = [
    (["Streaming", HEARD, "over, reusable"], [ANSWER]),
    (["Streaming", REFUSED, "over, reusable"], [data(REFUSAL)]),
    (["Streaming", TOLD, ASKED, TOLD, HEARD, "over, reusable"], [PROGRESS, PING, PROGRESS, ANSWER]),
    # what is no response to this request
    (
        ["Streaming", HEARD, "over, reusable"],
        [
            data(b'{"jsonrpc":"2.0","id":2,"result":{}}'),
            data(b'{"jsonrpc":"2.0","id":"1","result":{}}'),
            data(b'{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":""}}'),
            data(b'{"jsonrpc":"2.0","id":true,"result":{}}'),
            data(b'{"jsonrpc":"2.0","id":true,"error":{"code":1,"message":""}}'),
            data(b'{"jsonrpc":"2.0","id":1.0,"result":{}}'),
            data(b'{"jsonrpc":"2.0","id":null,"result":{}}'),
            data(b'{"jsonrpc":"2.0","result":{}}'),
            data(b"[" + RESULT + b"]"),
            data(b"null"),
            data(b'"text"'),
            data(b"1"),
            data(b"{}"),
            ANSWER,
        ],
    ),
    # what cannot be read is passed over
    (
        ["Streaming", HEARD, "over, reusable"],
        [
            data(b""),
            data(b"nope"),
            data(RESULT[:-1]),
            data(RESULT + b"}"),
            data(b'{"id":1,"result":{"n":' + b"1" * 65 + b"}}"),
            data(b'{"id":1,"result":"\xff"}'),
            data(b"[" * 3000),
            b"id: 7\n\n",
            b": comment\n\nfoo: bar\n\n",
            ANSWER,
        ],
    ),
    # a server that could not read the id
    (
        ["Streaming", ("response", {"id": None, "error": {}}), "over, reusable"],
        [data(b'{"id":null,"error":{}}')],
    ),
    (["Streaming", ("response", {"error": {}}), "over, reusable"], [data(b'{"error":{}}')]),
    # a request of the server with our id is no response
    (["Streaming", ASKED, HEARD, "over, reusable"], [data(b'{"id":1,"method":"ping"}'), ANSWER]),
    (
        ["Streaming", ASKED, HEARD, "over, reusable"],
        [data(b'{"id":1,"method":"ping","result":{}}'), ANSWER],
    ),
    # whoever reads the response minds what it holds
    (
        ["Streaming", ("response", {"id": 1, "result": 5, "error": 6}), "over, reusable"],
        [data(b'{"id":1,"result":5,"error":6}')],
    ),
    (["Streaming", ("response", {"id": 1}), "over, reusable"], [data(b'{"id":1}')]),
    # the stream as such: types, line ends, marks
    # other types of events are not of this protocol
    (["Streaming", HEARD, "over, reusable"], [b"event: error\nid: 3\n" + ANSWER, ANSWER]),
    (["Streaming", HEARD, "over, reusable"], [b"event: x\n" + PROGRESS, ANSWER]),
    (["Streaming", HEARD, "over, reusable"], [b"event: message\nid: 3\n" + ANSWER]),
    (["Streaming", HEARD, "over, reusable"], [BOM + ANSWER]),
    (["Streaming", HEARD, "over, reusable"], [data(BOM + RESULT)]),
    (
        ["Streaming", HEARD, "over, reusable"],
        [b'data:{"id":1,\r\ndata:"result":{},\rdata:  "jsonrpc":"2.0"}\r\r'],
    ),
    # the first response is the one, and the last word
    (["Streaming", HEARD, "over, reusable"], [ANSWER, data(REFUSAL), ANSWER, PROGRESS, PING]),
    (["Streaming", REFUSED, "over, reusable"], [data(REFUSAL), ANSWER]),
    (["Streaming", HEARD, "over, reusable"], [ANSWER, TWICE, data(b"x" * 900)]),
    # a key twice could hide the response
    (["Streaming", TOLD, "over", ("failed", DUPLICATE)], [PROGRESS, TWICE, ANSWER]),
    (["Streaming", "over", ("failed", DUPLICATE)], [TWICE[:-2]]),
    # the last event without its blank line
    (["Streaming", HEARD, "over, reusable"], [ANSWER[:-1]]),
    (["Streaming", TOLD, HEARD, "over, reusable"], [PROGRESS, ANSWER[:-2]]),
    (["Streaming", TOLD, unanswered(PROGRESS[:-2])], [PROGRESS[:-2]]),
    # no response
    nothing(),
    nothing(b": " + b"x" * 600 + b"\n\n"),
    nothing(data(RESULT[:-2])),
    nothing(data(RESULT.replace(b"1", b"2"))),
    (
        ["Streaming", unanswered(b"id: 7\nretry: 20\ndata:\n\n", "7", 20)],
        [b"id: 7\nretry: 20\ndata:\n\n"],
    ),
]


@pytest.mark.parametrize(("said", "events"), STREAMS)
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_events(said, events, framing, size):
    assert said == told(hear(stream(*events, framing=framing), size=size, limit=9000))


@pytest.mark.parametrize("status", [201, 202, 400, 401, 403, 404, 500])
def test_events_are_read_whatever_the_status(status):
    assert told(hear(stream(PROGRESS, ANSWER, status=status))) == [
        "Streaming",
        TOLD,
        HEARD,
        "over, reusable",
    ]
    assert told(hear(stream(PING, status=status))) == [
        "Streaming",
        ASKED,
        unanswered(PING, status=status),
    ]


@pytest.mark.parametrize(
    "type", ["Text/Event-Stream", "text/event-stream; charset=utf-8", "TEXT/EVENT-STREAM;x=y"]
)
def test_a_stream_is_known_by_its_media_type(type):
    assert told(hear(stream(ANSWER, type=type))) == ["Streaming", HEARD, "over, reusable"]


def test_an_event_is_said_as_soon_as_it_is_whole():
    sent = stream(PROGRESS, ANSWER, framing="close")
    answer = says.Answer(1, max_bytes=LIMIT)
    at = sent.index(b"\r\n\r\n") + 4
    reader = ResponseReader(LIMIT)
    assert not answer.is_streaming
    assert told(answer.take(reader.feed(sent[:at]))) == ["Streaming"]
    assert told(answer.take(reader.feed(sent[at : at + len(PROGRESS)]))) == [TOLD]
    assert (answer.is_streaming, answer.is_answered, answer.over) == (True, False, False)
    (response,) = answer.take(reader.feed(sent[at + len(PROGRESS) :]))
    assert (short(response), response.data, response.head.status) == (HEARD, RESULT, 200)
    assert (answer.is_answered, answer.over) == (True, False)
    assert told(answer.take(reader.finish())) == ["over"]
    assert answer.over


BROKEN = b"zz\r\n"
FLOOD = b"fff\r\n" + b"x" * 0xFFF + b"\r\n"
CHUNKED = "transfer-encoding: chunked"


def chunked(*events):
    body = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)
    return http(200, body, "content-type: text/event-stream", CHUNKED, framing=None)


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        # cut off in the middle, or at an end that nothing proves
        (["Streaming", ("interrupted", "", None, "closed")], chunked()),
        (["Streaming", TOLD, ("interrupted", "", None, "closed")], chunked(PROGRESS, b"dat")),
        (["Streaming", ("interrupted", "4", 9, "closed")], chunked(b"id: 4\nretry: 9\ndata:\n\n")),
        # an event that never came is not the last one
        (["Streaming", ("interrupted", "4", None, "closed")], chunked(b"id: 4\n\nid: 5\ndata: {")),
        (
            ["Streaming", unanswered(b"id: 4\n\nid: 5\ndata: {", "4")],
            stream(b"id: 4\n\nid: 5\ndata: {", framing="close"),
        ),
        # after the response it makes no difference how the stream ends
        (["Streaming", HEARD, "over"], chunked(ANSWER)),
        (["Streaming", HEARD, "over"], chunked(ANSWER, b"dat")),
        (["Streaming", HEARD, "over"], chunked(ANSWER) + BROKEN),
        (["Streaming", HEARD, "over"], chunked(ANSWER) + FLOOD),
        (["Streaming", HEARD, "over"], stream(ANSWER, framing="close")),
        # before it does
        (["Streaming", TOLD, "over", ("failed", "malformed")], chunked(PROGRESS) + BROKEN),
        (
            ["Streaming", TOLD, "over", ("failed", ("max_response_bytes", LIMIT))],
            chunked(PROGRESS) + FLOOD,
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_stream_that_does_not_end_well(said, sent, size):
    assert said == told(hear(sent, size=size, closed=True))


def test_each_event_of_a_long_stream_has_the_limit_to_itself():
    answer = says.Answer(1, max_bytes=100, by_event=True)
    said = answer.take([Head(200, 1, ((b"content-type", b"text/event-stream"),))])
    for _ in range(20):
        said += answer.take([PROGRESS])
    said += answer.take([PING + data(b"x" * 100) + ANSWER, ANSWER])

    assert told(said) == [
        "Streaming",
        *[TOLD] * 20,
        ASKED,
        "over",
        ("failed", ("max_response_bytes", 100)),
    ]
