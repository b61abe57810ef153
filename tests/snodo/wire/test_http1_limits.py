from __future__ import annotations

import pytest
from http_responses import CHUNKED, CHUNKED_HEAD, CLOSED, OK, WHOLE, at_length, cut, read

from snodo_actors.wire.http1 import End, Head, Malformed, ResponseReader, TooLarge

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
    assert read(*cut(head[:-1] + b"x", size), limit=limit - 1) == [TooLarge()]
    assert read(b"", *cut(head, size), limit=0) == [TooLarge()]


@pytest.mark.parametrize("size", [1000, 300_000])
@pytest.mark.parametrize("limit", [None, 256 * 1024, 10**6])
def test_a_head_has_a_limit_in_any_case(limit, size) -> None:
    most = limit or 256 * 1024
    longest = OK + b"x: %b\r\n\r\n" % (b"y" * (most - len(OK) - 7))
    assert isinstance(read(*cut(longest, size), limit=limit)[0], Head)

    for too_long in (longest.replace(b": ", b":  "), b"HTTP/1.1 100 \r\n\r\n" * 70_000):
        [fault] = read(*cut(too_long, size), limit=limit)
        assert isinstance(fault, Malformed if limit is None else TooLarge)


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

    longest = [CHUNKED + b"1\r\na\r", b"\n" + text % (b"x" * 4094)]
    assert read(*longest) == [CHUNKED_HEAD, b"aa", WHOLE]


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


@pytest.mark.parametrize(
    ("kind", "is_limited"),
    [
        (b"text/event-stream", False),
        (b"Text/Event-Stream; a=b", False),
        (b"application/json", True),
    ],
)
def test_a_stream_may_have_no_limit_as_a_whole(kind, is_limited) -> None:
    reader = ResponseReader(100, streams=True)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\ntransfer-encoding: chunked\r\n\r\n"
    items = reader.feed(head + chunk(60) + chunk(60) + b"0\r\n\r\n")

    assert (TooLarge() in items) is is_limited
    assert (End(reusable=True, framed=True) in items) is not is_limited
