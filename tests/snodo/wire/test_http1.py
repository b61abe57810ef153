from __future__ import annotations

import pytest

from snodo_actors.wire.http1 import (
    End,
    Head,
    Malformed,
    ResponseReader,
    TooLarge,
    Truncated,
    request_bytes,
    request_prefix,
)


def cut(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def read(
    *chunks: bytes, limit: int | None = None, head_request: bool = False, closed: bool = False
):
    """Read a response; neighbouring pieces of its body are joined."""
    reader = ResponseReader(limit, head_request=head_request)
    items = []
    for item in [*(item for chunk in chunks for item in reader.feed(chunk))] + (
        reader.finish() if closed else []
    ):
        if isinstance(item, bytes):
            assert item
            if items and isinstance(items[-1], bytes):
                items[-1] += item
                continue
        items.append(item)
    return items


def head(status: int = 200, minor: int = 1, **fields: str) -> Head:
    pairs = ((name.replace("_", "-").encode(), value.encode()) for name, value in fields.items())
    return Head(status, minor, tuple(pairs))


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
CHUNKED_HEAD = head(transfer_encoding="chunked")
WHOLE, LAST = End(reusable=True, framed=True), End(reusable=False, framed=True)
CLOSED = End(reusable=False, framed=False)

RESPONSES = [
    # by length
    ([head(content_length="5"), b"hello", WHOLE], OK + b"content-length: 5\r\n\r\nhello"),
    ([head(content_length="0"), WHOLE], OK + b"Content-Length:0\r\n\r\n"),
    ([head(content_length="002"), b"hi", WHOLE], OK + b"content-length: 002\r\n\r\nhi"),
    ([head(content_length="2, 2"), b"hi", WHOLE], OK + b"content-length: 2, 2\r\n\r\nhi"),
    (
        [Head(200, 1, ((b"content-length", b"2"),) * 2), b"hi", WHOLE],
        OK + b"content-length: 2\r\nContent-Length: 2\r\n\r\nhi",
    ),
    # in chunks
    ([CHUNKED_HEAD, WHOLE], CHUNKED + b"0\r\n\r\n"),
    ([CHUNKED_HEAD, b"hello, you", WHOLE], CHUNKED + b"5\r\nhello\r\n05\r\n, you\r\n0\r\n\r\n"),
    ([CHUNKED_HEAD, b"0123456789abcdef", WHOLE], CHUNKED + b"10\r\n0123456789abcdef\r\n0\r\n\r\n"),
    ([CHUNKED_HEAD, b"hellohello", WHOLE], CHUNKED + b"a\r\nhellohello\r\n0\r\n\r\n"),
    ([CHUNKED_HEAD, b"hellohello", WHOLE], CHUNKED + b"A\r\nhellohello\r\n000\r\n\r\n"),
    ([CHUNKED_HEAD, b"\r\n", WHOLE], CHUNKED + b"2\r\n\r\n\r\n0\r\n\r\n"),
    ([CHUNKED_HEAD, b"a", WHOLE], CHUNKED + b'1;x="y z";;\t\r\na\r\n0; last\r\n\r\n'),
    ([CHUNKED_HEAD, b"a", WHOLE], CHUNKED + b"000000000000001\r\na\r\n0\r\n\r\n"),
    ([CHUNKED_HEAD, b"a", WHOLE], CHUNKED + b"1\r\na\r\n0\r\nx: y\r\nContent-Length: 7\r\n\r\n"),
    (
        [head(transfer_encoding="CHUNKED"), b"a", WHOLE],
        OK + b"Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n",
    ),
    # until the connection is closed
    ([head(), CLOSED], OK + b"\r\n"),
    ([head(x="y"), b"hello", CLOSED], OK + b"x: y\r\n\r\nhello"),
    # without a body
    ([head(204), WHOLE], b"HTTP/1.1 204 No Content\r\n\r\n"),
    ([head(204, content_length="0"), WHOLE], b"HTTP/1.1 204 \r\ncontent-length: 0\r\n\r\n"),
    ([head(204, content_length="5"), LAST], b"HTTP/1.1 204 \r\ncontent-length: 5\r\n\r\nhello"),
    ([head(304, content_length="5"), WHOLE], b"HTTP/1.1 304 \r\ncontent-length: 5\r\n\r\n"),
    ([head(304), WHOLE], b"HTTP/1.1 304\r\n\r\n"),
    # interim responses
    (
        [head(content_length="0"), WHOLE],
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length: 0\r\n\r\n",
    ),
    (
        [head(202, content_length="0"), WHOLE],
        b"HTTP/1.1 103 \r\nlink: </x>\r\n\r\n" * 2 + b"HTTP/1.1 202 A\r\ncontent-length: 0\r\n\r\n",
    ),
    # the status line
    ([head(404, content_length="0"), WHOLE], b"HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n"),
    (
        [head(599, content_length="0"), WHOLE],
        b"HTTP/1.1 599 \xc3\xa9\t?\r\ncontent-length: 0\r\n\r\n",
    ),
    ([head(200, 0, content_length="0"), LAST], b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"),
    (
        [head(200, 0, connection="keep-alive", content_length="0"), LAST],
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
    ),
    # fields
    (
        [Head(204, 1, ((b"a", b"b  c"), (b"d", b""), (b"e", b""), (b"a", b":\xff"))), WHOLE],
        b"HTTP/1.1 204 \r\nA: \t b  c \t \r\nd:\r\nE: \t\r\na::\xff\r\n\r\n",
    ),
    # whether the connection can be used again
    (
        [head(connection="Keep-Alive", content_length="0"), WHOLE],
        OK + b"connection: Keep-Alive\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        [head(content_length="1", connection="x, Close"), b"a", LAST],
        OK + b"content-length: 1\r\nConnection: x, Close\r\n\r\na",
    ),
    (
        [head(connection="close", transfer_encoding="chunked"), b"a", LAST],
        OK + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    ),
    ([head(204, connection="close"), LAST], b"HTTP/1.1 204 \r\nconnection: close\r\n\r\n"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(("items", "text"), RESPONSES)
def test_a_response_is_read_however_it_is_cut(items, text, size) -> None:
    assert read(*cut(text, size), closed=True) == items


def test_the_end_is_told_as_soon_as_it_is_there() -> None:
    assert read(OK + b"content-length: 2\r\n\r\nhi")[-1] == WHOLE
    assert read(CHUNKED + b"0\r\n\r\n")[-1] == WHOLE
    assert read(OK + b"content-length: 0\r\n\r\n")[-1] == WHOLE


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


def at_length(length: int) -> bytes:
    return OK + b"content-length: %d\r\n\r\n" % length


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


LIMIT = 60
BODY = b"x" * LIMIT


def chunk(size: int) -> bytes:
    return b"%x\r\n%b\r\n" % (size, b"x" * size)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ([BODY, WHOLE], at_length(LIMIT) + BODY),
        ([TooLarge()], at_length(LIMIT + 1)),
        ([TooLarge()], at_length(10**17)),
        ([BODY, WHOLE], CHUNKED + chunk(LIMIT) + b"0\r\n\r\n"),
        ([BODY, WHOLE], CHUNKED + chunk(1) * LIMIT + b"0\r\n\r\n"),
        ([TooLarge()], CHUNKED + b"%x\r\n" % (LIMIT + 1)),
        ([b"x" * 20, TooLarge()], CHUNKED + chunk(20) + b"%x\r\n" % (LIMIT - 19)),
        ([BODY, TooLarge()], CHUNKED + chunk(1) * (LIMIT + 1)),
        ([BODY, CLOSED], OK + b"\r\n" + BODY),
        ([BODY, TooLarge()], OK + b"\r\n" + BODY + b"x"),
        ([BODY, TooLarge()], OK + b"\r\n" + BODY * 2),
    ],
)
def test_the_limit_of_a_body_is_exact(rest, text, size) -> None:
    assert read(*cut(text, size), limit=LIMIT, closed=True)[1:] == rest


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "head", [OK + b"x: y\r\n\r\n", b"HTTP/1.1 100 \r\n\r\n" + OK + b"\r\n", CHUNKED]
)
def test_the_limit_of_a_head_is_exact(head, size) -> None:
    limit = len(head)
    assert isinstance(read(*cut(head, size), limit=limit)[0], Head)
    assert read(*cut(head, size), limit=limit - 1) == [TooLarge()]
    # What is beyond the limit makes no difference.
    assert read(*cut(head[:-1] + b"\n", size), limit=limit - 1) == [TooLarge()]
    assert read(b"", *cut(head, size), limit=0) == [TooLarge()]


@pytest.mark.parametrize("size", [1000, 300_000])
@pytest.mark.parametrize("limit", [None, 256 * 1024, 10**6])
def test_a_head_has_a_limit_in_any_case(limit, size) -> None:
    longest = OK + b"x: %b\r\n\r\n" % (b"y" * (256 * 1024 - len(OK) - 7))
    assert isinstance(read(*cut(longest, size), limit=limit)[0], Head)

    [fault] = read(*cut(longest.replace(b": ", b":  "), size), limit=limit)
    assert isinstance(fault, TooLarge if limit == 256 * 1024 else Malformed)


def test_a_head_has_at_most_200_fields() -> None:
    for start, rest in ((OK, b"\r\n"), (CHUNKED + b"0\r\n", b"\r\n")):
        assert isinstance(read(start + b"x: y\r\n" * 199 + rest, closed=True)[-1], End)
        assert isinstance(read(start + b"x: y\r\n" * 200 + rest, closed=True)[-1], End)
        assert isinstance(read(start + b"x: y\r\n" * 201 + rest, closed=True)[-1], Malformed)


@pytest.mark.parametrize("size", [1, 1000])
def test_trailers_have_the_limit_of_a_head(size) -> None:
    trailers = b"x: %b\r\n\r\n" % (b"y" * (LIMIT - 7))
    text = CHUNKED + b"0\r\n"
    assert read(*cut(text + trailers, size), limit=LIMIT) == [CHUNKED_HEAD, WHOLE]
    assert read(*cut(text + b"x" + trailers, size), limit=LIMIT) == [CHUNKED_HEAD, TooLarge()]


@pytest.mark.parametrize("size", [1, 1000])
def test_what_follows_the_size_of_a_chunk_has_a_limit(size) -> None:
    text = b"1;%b\r\na\r\n0\r\n\r\n"
    assert read(*cut(CHUNKED + text % (b"x" * 4094), size)) == [CHUNKED_HEAD, b"a", WHOLE]
    assert isinstance(read(*cut(CHUNKED + text % (b"x" * 4095), size))[-1], Malformed)


def test_a_body_without_a_limit() -> None:
    for start, rest in (
        (CHUNKED, [chunk(LIMIT + 1), chunk(LIMIT), b"0\r\n\r\n"]),
        (OK + b"\r\n", [BODY, BODY, b"x"]),
    ):
        reader = ResponseReader(LIMIT)
        reader.unlimit()  # before the head it means nothing
        assert len(reader.feed(start)) == 1
        reader.unlimit()
        items = [item for chunk in rest for item in reader.feed(chunk)] + reader.finish()
        assert b"".join(item for item in items if isinstance(item, bytes)) == BODY * 2 + b"x"
        assert isinstance(items[-1], End)

    reader = ResponseReader(LIMIT)
    assert len(reader.feed(at_length(1))) == 1
    reader.unlimit()
    assert reader.feed(b"x") == [b"x", WHOLE]
    assert len(ResponseReader(LIMIT).feed(at_length(LIMIT + 1))) == 2


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
    assert request_bytes(prefix, fields, b"{}", keep_alive=True) == (
        prefix + b"accept: a\r\nMcp-Param-X: \r\naccept: b\r\n"
        b"content-length: 2\r\nconnection: keep-alive\r\n\r\n{}"
    )
    assert request_bytes(prefix, (), b"", keep_alive=False) == (
        prefix + b"content-length: 0\r\nconnection: close\r\n\r\n"
    )
