from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.wire.sse import Event, EventStream, TooLarge


def parse(*chunks: bytes, limit: int | None = None):
    stream = EventStream(limit)
    return [event for chunk in chunks for event in stream.feed(chunk)]


def event(data, type="message", id=""):
    return Event(data.encode(), type, id)


STREAMS = [
    # lines and events
    ([], ""),
    ([], "\n\n\n"),
    ([], "data: a\n"),
    ([event("a")], "data: a\n\n"),
    ([event("a")], "data:a\n\n"),
    ([event(" a ")], "data:  a \n\n"),
    ([event("\ta")], "data:\ta\n\n"),
    ([event("a"), event("b")], "data: a\n\ndata: b\n\n"),
    ([event("a"), event("b")], "data: a\r\n\r\ndata: b\r\n\r\n"),
    ([event("a"), event("b")], "data: a\r\rdata: b\r\r"),
    ([event("a"), event("b")], "data: a\n\r\ndata: b\r\n\r"),
    ([event("a"), event("b")], "data: a\r\n\rdata: b\r\n\n"),
    ([event("a\nb\nc")], "data: a\r\ndata: b\rdata: c\n\n"),
    # nothing but LF, CR and CRLF ends a line
    (
        [event("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg")],
        "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n",
    ),
    ([event("🚀é")], "data: 🚀é\n\n"),
    # data
    ([event("")], "data\n\n"),
    ([event("")], "data:\n\n"),
    ([event("\n")], "data\ndata\n\n"),
    ([event("\na\n")], "data\ndata: a\ndata:\n\n"),
    ([event("a:b: c")], "data: a:b: c\n\n"),
    ([event("{\n}")], "data:{\ndata:}\n\n"),
    ([event("a\0b")], "data: a\0b\n\n"),
    # a byte order mark, once
    ([event("a")], "\ufeffdata: a\n\n"),
    ([], "\ufeff\ufeffdata: a\n\n"),
    ([event("b")], "data: b\n\n\ufeffdata: a\n\n"),
    ([event("\ufeffa")], "data: \ufeffa\n\n"),
    # comments and fields of no meaning
    ([event("a")], ": ping\n\n:\n:data: x\ndata: a\n: end\n\n"),
    ([event("a")], "datax: b\n data: c\nDATA: d\ndata : e\ndata: a\n\n"),
    ([event("a")], "nothing\nfoo: bar\ndata: a\n\n"),
    # types
    ([event("a", "ping"), event("b")], "event: ping\ndata: a\n\ndata: b\n\n"),
    ([event("a", "y")], "event: x\nevent: y\ndata: a\n\n"),
    ([event("a")], "event: x\nevent:\ndata: a\n\n"),
    ([event("a", "x ")], "event:x \ndata: a\n\n"),
    ([event("a")], "event: ping\n\ndata: a\n\n"),  # no data, no event, no type
    # ids
    ([event("a", id="1"), event("b", id="1")], "id: 1\ndata: a\n\ndata: b\n\n"),
    ([event("a", id="1")], "id: 1\ndata\n\n".replace("data\n", "data: a\n")),
    ([event("a", id="1")], "id: 1\n\ndata: a\n\n"),
    ([event("a", id="1"), event("b")], "id: 1\ndata: a\n\nid\ndata: b\n\n"),
    ([event("a", id="1")], "id: 1\nid: 2\0\ndata: a\n\n"),
    ([event("a", id="…")], "id: …\ndata: a\n\n"),
    # a stream as one server had it
    (
        [event("a", id="5"), event('{"x":\n1}', id="5")],
        '\ufeff: hi\r\nid: 5\ndata: a\n\nretry: x\nevent: b\n\ndata:{"x":\r\ndata: 1}\r\n\r\ndata',
    ),
]


@pytest.mark.parametrize(("events", "text"), STREAMS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events(events, text, size) -> None:
    sent = text.encode()

    assert parse(*(sent[at : at + size] for at in range(0, len(sent), size))) == events


def test_data_is_as_it_came_and_names_are_text() -> None:
    assert parse(b"event: \xff\nid: \xfe\ndata: \xff\xc0\n\n") == [
        Event(b"\xff\xc0", "\ufffd", "\ufffd")
    ]


def test_an_event_is_given_with_its_last_byte() -> None:
    stream = EventStream()

    assert stream.feed(b"data: a\n") == []
    assert stream.feed(b"\n") == [event("a")]
    assert stream.feed(b"data: b\r") == []
    assert stream.feed(b"\r") == [event("b")]
    assert stream.feed(b"\ndata: c\r\n") == []
    assert stream.feed(b"\r") == [event("c")]
    assert stream.feed(b"") == []
    assert stream.feed(b"\n\ndata: d\n\n") == [event("d")]


@pytest.mark.parametrize(
    ("retry", "text"),
    [
        (10, b"retry: 10\n"),
        (10, b"retry:10\n\n"),
        (20, b"retry: 10\nretry: 20\n"),
        (10, b"retry: 10\nretry: soon\nretry: 1.5\nretry: -1\nretry:  5\nretry\n"),
        (None, "retry: \u0661\n".encode()),
        (None, b"retry: " + b"9" * 5000 + b"\n"),
        (None, b"retry: 10"),
        (0, b"retry: 0\n"),
    ],
)
def test_the_time_before_a_new_attempt(retry, text) -> None:
    stream = EventStream()
    stream.feed(text)

    assert stream.retry == retry


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("", b""),
        ("7", b"id: 7\n\n"),
        ("7", b"id: 7\ndata:\n\n"),
        # what was cut off before its blank line has to come again
        ("", b"id: 7\ndata: a\n"),
        ("7", b"id: 7\n\nid: 8\ndata: a"),
        ("7", b"id: 7\n\nid: 8"),
        ("", b"id: 7\n\nid\n\n"),
    ],
)
def test_the_last_id_is_that_of_what_came_whole(id, text) -> None:
    stream = EventStream()
    stream.feed(text)

    assert stream.last_event_id == id


@pytest.mark.parametrize(
    ("left", "text"),
    [
        ([event("a")], b"data: a"),
        ([event("a")], b"data: a\r"),
        ([event("a\nb")], b"data: a\ndata: b"),
        ([event("a", "x", "1")], b"data: a\nevent: x\nid: 1"),
        ([], b"data: a\n\n"),
        ([], b"event: x"),
        ([], b"\xef\xbb"),
        ([], b""),
    ],
)
def test_the_end_of_a_stream_may_complete_an_event(left, text) -> None:
    stream = EventStream()
    stream.feed(text)

    assert stream.finish() == left
    assert stream.finish() == []


LIMITS = [
    # data: aaaa and its end are 11 bytes, the blank line one more
    ([event("aaaa")], 12, b"data: aaaa\n\n"),
    ([TooLarge()], 11, b"data: aaaa\n\n"),
    ([TooLarge()], 5, b"data: aaaa"),
    ([event("aaaa")] * 3, 12, b"data: aaaa\n\n" * 3),
    ([event("aaaa")] * 3, 12, b"data: aaaa\r\n\r\n" * 3),
    ([event("a"), TooLarge()], 12, b"data: a\n\ndata: aaaaa\n\ndata: b\n\n"),
    ([event("a"), TooLarge()], 12, b"data: a\n\ndata: \ndata: \n\n"),
    ([TooLarge()], 12, b"id: 123\nevent: x\n"),
    ([TooLarge()], 12, b"event: x\n" * 2),
    # comments and strange fields count only while they come
    ([event("a")], 12, b": 34567890\n" * 50 + b"foo: 67890\ndata: a\n\n"),
    ([TooLarge()], 12, b": 3456789012\n\n"),
    ([TooLarge()], 12, b": 34567890123"),
]


@pytest.mark.parametrize(("parsed", "limit", "text"), LIMITS)
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_an_event_over_the_limit_ends_the_stream(parsed, limit, text, size) -> None:
    chunks = [text[at : at + size] for at in range(0, len(text), size)]

    assert parse(*chunks, limit=limit) == parsed


def test_nothing_comes_after_an_event_over_the_limit() -> None:
    stream = EventStream(8)
    assert stream.feed(b"data: aaa\n") == [TooLarge()]

    assert stream.feed(b"\n\ndata: a\n\n") == []
    assert stream.finish() == []


PIECES = st.lists(
    st.sampled_from(
        [
            *(b"\n", b"\r", b"\r\n", b":", b"\xef\xbb\xbf", b"\xc3\xa9"),
            *(b"data: a", b"data", b"data: \xff", b"id: 1", b"event: x", b"retry: 5"),
        ]
    )
    | st.binary(max_size=5)
).map(b"".join)


@given(PIECES, st.lists(st.integers(0, 200)), st.integers(1, 30) | st.none())
def test_how_the_bytes_are_cut_makes_no_difference(text, cuts, limit) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    whole, cut = EventStream(limit), EventStream(limit)
    once = whole.feed(text)
    piecewise = [e for a, b in pairwise(edges) for e in cut.feed(text[a:b])]

    assert piecewise == once
    assert cut.finish() == whole.finish()
    assert (cut.last_event_id, cut.retry) == (whole.last_event_id, whole.retry)


def by_the_book(text: bytes):
    """Read a whole stream as the standard's own words put it."""
    lines = text.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = lines.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    data, type_, id_, events = "", "", "", []
    for line in lines:
        if line == "":
            if data != "":
                events.append((data.removesuffix("\n"), type_ or "message", id_))
            data = type_ = ""
            continue
        if line.startswith(":"):
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            type_ = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            id_ = value
    return events


@given(PIECES)
def test_events_are_those_of_the_standard(text) -> None:
    read = [(e.data.decode("utf-8", "replace"), e.type, e.id) for e in parse(text)]

    assert read == by_the_book(text)
