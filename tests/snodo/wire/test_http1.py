from __future__ import annotations

import pytest
from http_responses import (
    CHUNKED,
    CHUNKED_HEAD,
    LAST,
    OK,
    RESPONSES,
    WHOLE,
    at_length,
    cut,
    head,
    read,
)

from snodo_actors.wire import http1_head
from snodo_actors.wire.http1 import (
    Head,
    Malformed,
    ResponseReader,
    Truncated,
    field_lines,
    request_bytes,
    request_prefix,
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(("items", "text"), RESPONSES)
def test_a_response_is_read_however_it_is_cut(items, text, size) -> None:
    assert read(*cut(text, size), closed=True) == items


def test_the_end_is_told_as_soon_as_it_is_there() -> None:
    assert read(OK + b"content-length: 2\r\n\r\nhi")[-1] == WHOLE
    assert read(CHUNKED + b"0\r\n\r\n")[-1] == WHOLE
    assert read(OK + b"content-length: 0\r\n\r\n")[-1] == WHOLE


@pytest.mark.parametrize("name", [b"Set-Cookie", b"mcp-session-id", b"DPoP-Nonce"])
def test_what_is_said_to_one_client_is_not_kept(name) -> None:
    private, plain = (
        OK + field + b": only for you\r\ncontent-length: 0\r\n\r\n" for field in (name, b"x-plain")
    )
    for _ in range(2):
        assert read(private)[0].first(name.lower()) == b"only for you"
        assert read(plain)[0].first(b"x-plain") == b"only for you"
    assert plain in http1_head._said
    assert private not in http1_head._said


def test_only_so_many_heads_are_kept() -> None:
    for number in range(200):
        assert read(OK + b"x-number: %d\r\ncontent-length: 0\r\n\r\n" % number)
        assert len(http1_head._said) <= http1_head._MAX_SAID


# What two readers might read in two ways, or no reader as HTTP/1.1.
REFUSED_HEADS = [
    # the status line
    b"SSH-2.0-x\r\n",
    b"\r\n" + OK + b"\r\n",
    b"\n",
    b"ICY 200 OK\r\n\r\n",
    b"HTTP/2 200 OK\r\n\r\n",
    b"HTTP/2.0 200 OK\r\n\r\n",
    b"http/1.1 200 OK\r\n\r\n",
    b"HTTP/1. 200 OK\r\n\r\n",
    b"HTTP/1.10 200 OK\r\n\r\n",
    b"HTTP/1.1  200 OK\r\n\r\n",
    b"HTTP/1.1\t200 OK\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n",
    b"HTTP/1.1 2000 OK\r\n\r\n",
    b"HTTP/1.1 099 OK\r\n\r\n",
    b"HTTP/1.1 -20 OK\r\n\r\n",
    b"HTTP/1.1 \xb2\xb3\xb9 OK\r\n\r\n",
    b"HTTP/1.1 200\tOK\r\n\r\n",
    b"HTTP/1.1 200 O\0K\r\n\r\n",
    b"HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    # line ends
    b"HTTP/1.1 200 OK\n",
    b"HTTP/1.1 200 OK\nx: y\n\n",
    OK + b"x: y\n\r\n",
    OK + b"x: y\nz: a\r\n\r\n",
    OK + b"x: y\rz: a\r\n\r\n",
    OK + b"x: y\r\r\n\r\n",
    OK + b"\rx: y\r\n\r\n",
    OK + b"\n",
    # fields
    OK + b"x: a\0b\r\n\r\n",
    OK + b"x: a\x0bb\r\n\r\n",
    OK + b"x: a\x7fb\r\n\r\n",
    OK + b"x: y\r\n z\r\n\r\n",
    OK + b"x: y\r\n\tz: a\r\n\r\n",
    OK + b" x: y\r\n\r\n",
    OK + b"x : y\r\n\r\n",
    OK + b"x\t: y\r\n\r\n",
    OK + b"x y: z\r\n\r\n",
    OK + b"content-length\x00: 0\r\n\r\n",
    OK + b"content-length\x0b: 0\r\n\r\n",
    OK + b"\xffx: y\r\n\r\n",
    OK + b": y\r\n\r\n",
    OK + b"x\r\n\r\n",
    # lengths
    *(
        OK + b"content-length: %b\r\n\r\n" % length
        for length in (
            *(b"", b"x", b"-1", b"+1", b"1.0", b"0x1", b"1 1", b"1e1", b"1_0", b"\xb2", b"1;"),
            *(b"1, 2", b"1, 01", b"1,", b",1", b",", b"1" * 19, b"0" * 19, b"1, " + b"1" * 19),
        )
    ),
    OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
    OK + b"content-length: 1\r\nContent-Length: 01\r\n\r\n",
    OK + b"content-length: 1\r\ncontent-length:\r\n\r\n",
    b"HTTP/1.1 204 \r\ncontent-length: x\r\n\r\n",
    b"HTTP/1.1 100 \r\ncontent-length: x\r\n\r\n",
    # transfer codings
    OK + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
    b"HTTP/1.1 304 \r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n",
    OK + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
    OK + b"transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n",
    *(
        OK + b"transfer-encoding: %b\r\n\r\n" % coding
        for coding in (
            *(b"", b"identity", b"gzip", b"gzip, chunked", b"chunked, chunked", b"chunked, gzip"),
            *(b"xchunked", b"chunked;q=1", b",chunked", b"chunked,", b'"chunked"', b"chun ked"),
        )
    ),
]
REFUSED_CHUNKS = [
    *(b"x", b"-1\r\n", b"+1\r\n", b" 1\r\n", b"1 \r\n", b"0x1\r\n", b"\r\n", b";x\r\n", b"g\r\n"),
    *(
        b"1_0\r\n",
        b"1 ;x\r\n",
        b"1\n",
        b"1;x\ny\r\n",
        b"1;x\ry\r\n",
        b"1;\0\r\n",
        b"1\r\r\n",
        b"\xb2\r\n",
    ),
    b"0" * 16,
    b"1" * 16 + b"\r\n",
    b"1;" + b"x" * 4095,
    *(b"1\r\naa", b"1\r\na\n", b"1\r\na\r\r", b"1\r\na0\r\n\r\n", b"2\r\na\r\n0\r\n\r\n"),
    # trailers
    *(b"0\r\nx\r\n\r\n", b"0\r\n x: y\r\n\r\n", b"0\r\nx: y\r\n z\r\n\r\n", b"0\r\nx : y\r\n\r\n"),
    *(b"0\r\nx: y\nz: a\r\n\r\n", b"0\r\nx: y\n", b"0\r\n\n", b"0\r\nx: a\rb\r\n\r\n", b"0\r\n\rx"),
    b"0\r\nx: \0\r\n\r\n",
]


@pytest.mark.parametrize("size", [1, 2, 5, 10_000])
@pytest.mark.parametrize("text", REFUSED_HEADS)
def test_what_can_be_read_in_two_ways_is_refused(text, size) -> None:
    [fault] = read(*cut(text, size))
    assert isinstance(fault, Malformed)
    assert [fault] == read(text, OK + b"content-length: 0\r\n\r\n", closed=True)


@pytest.mark.parametrize("size", [1, 2, 5, 10_000])
@pytest.mark.parametrize("text", REFUSED_CHUNKS)
def test_chunks_that_can_be_read_in_two_ways_are_refused(text, size) -> None:
    head, *pieces, fault = read(*cut(CHUNKED + text, size))
    assert head == CHUNKED_HEAD
    assert all(isinstance(piece, bytes) for piece in pieces)
    assert isinstance(fault, Malformed)
    assert [head, *pieces, fault] == read(CHUNKED + text, b"\r\n\r\n", closed=True)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([Truncated(began=False)], b""),
        ([Truncated(began=True)], b"H"),
        ([Truncated(began=True)], OK + b"\r"),
        ([Truncated(began=True)], b"HTTP/1.1 100 \r\n\r\n"),
        ([head(content_length="2"), Truncated(began=True)], at_length(2)),
        ([head(content_length="2"), b"h", Truncated(began=True)], at_length(2) + b"h"),
        ([CHUNKED_HEAD, Truncated(began=True)], CHUNKED),
        ([CHUNKED_HEAD, Truncated(began=True)], CHUNKED + b"1"),
        ([CHUNKED_HEAD, b"h", Truncated(began=True)], CHUNKED + b"2\r\nh"),
        ([CHUNKED_HEAD, b"h", Truncated(began=True)], CHUNKED + b"1\r\nh\r\n"),
        ([CHUNKED_HEAD, Truncated(began=True)], CHUNKED + b"0\r\n"),
        ([CHUNKED_HEAD, Truncated(began=True)], CHUNKED + b"0\r\nx: y\r\n\r"),
    ],
)
def test_a_connection_that_ends_too_early(items, text, size) -> None:
    assert read(*cut(text, size), closed=True) == items


def test_after_the_end_comes_nothing() -> None:
    for text in (at_length(0), b"x", OK + b"\r\n", CHUNKED + b"0\r\n\r\n"):
        reader = ResponseReader(100)
        assert reader.feed(text) + reader.finish()
        assert reader.feed(b"") + reader.feed(b"x") + reader.feed(OK) + reader.finish() == []


@pytest.mark.parametrize(
    "text",
    [
        at_length(0) + b"x",
        at_length(2) + b"hix",
        b"HTTP/1.1 204 \r\n\r\nx",
        CHUNKED + b"0\r\n\r\nx",
        CHUNKED + b"1\r\na\r\n0\r\n\r\n" + OK,
    ],
)
def test_a_connection_with_more_than_the_response_is_not_used_again(text) -> None:
    assert read(text)[-1] == LAST


def test_no_body_follows_where_none_was_asked_for() -> None:
    assert read(at_length(9), head_request=True) == [head(content_length="9"), WHOLE]
    assert read(CHUNKED, head_request=True) == [CHUNKED_HEAD, WHOLE]
    assert read(OK + b"\r\n", head_request=True) == [head(), WHOLE]
    assert read(OK + b"\r\nx", head_request=True) == [head(), LAST]
    assert read(OK + b"connection: close\r\n\r\n", head_request=True)[-1] == LAST


def test_pieces_are_handed_over_as_they_came() -> None:
    reader = ResponseReader(None)
    reader.feed(at_length(3 * 2**18))
    for _ in range(3):
        piece = b"x" * 2**18
        assert reader.feed(piece)[0] is piece


def test_the_fields_of_a_head() -> None:
    head = Head(200, 1, ((b"a", b"1"), (b"b", b"2"), (b"a", b"3")))

    assert (head.first(b"a"), head.first(b"c")) == (b"1", None)
    assert (head.all(b"a"), head.all(b"c")) == ([b"1", b"3"], [])


def test_a_request() -> None:
    prefix = request_prefix("POST", "/mcp?x=y", "example.test:8080")
    assert prefix == b"POST /mcp?x=y HTTP/1.1\r\nhost: example.test:8080\r\n"

    fields = [(b"accept", b"a"), (b"Mcp-Param-X", b""), (b"accept", b"b")]
    assert request_bytes(prefix, field_lines(fields), b"{}", True) == (
        prefix + b"accept: a\r\nMcp-Param-X: \r\naccept: b\r\n"
        b"content-length: 2\r\nconnection: keep-alive\r\n\r\n{}"
    )
    assert request_bytes(prefix, b"", b"", False) == (
        prefix + b"content-length: 0\r\nconnection: close\r\n\r\n"
    )
