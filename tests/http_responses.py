"""Responses as bytes, and what they are read as."""

from __future__ import annotations

from snodo_actors.wire.http1 import End, Head, ResponseReader


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
    (
        [head(204, transfer_encoding="chunked"), LAST],
        b"HTTP/1.1 204 \r\ntransfer-encoding: chunked\r\n\r\n",
    ),
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


def at_length(length: int) -> bytes:
    return OK + b"content-length: %d\r\n\r\n" % length
