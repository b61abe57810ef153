from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import h11
import pytest
from http_responses import CHUNKED, OK, RESPONSES, WHOLE, cut, read
from hypothesis import example, given
from hypothesis import strategies as st

from snodo_actors.wire.http1 import End, Head, TooLarge

# Bytes that are nearly a response.
LINES = [
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 \r\n\r\n", b"HTTP/1.0 200\r\n", b"HTTP/1.1 204 \r\n"),
    *(b"HTTP/1.1 304 \r\n", b"HTTP/1.1 404 No\r\n", b"HTTP/1.1 101 \r\n\r\n", b"HTTP/1.1 200 \n"),
    *(
        b"HTTP/1.9 200\r\n",
        b"HTTP/1.1 999\t\r\n",
        b"HTTP/1.1 999 \t\r\n",
        b"HTTP/1.1 100\r\nx: y\r\n",
    ),
    *(b"content-length: 3\r\n", b"Content-Length:3\r\n", b"content-length: 3, 3\r\n"),
    *(b"content-length: 0\r\n", b"content-length: 12\r\n", b"content-length : 3\r\n"),
    *(b"transfer-encoding: chunked\r\n", b"Transfer-Encoding:CHUNKED \r\n"),
    *(b"transfer-encoding: gzip, chunked\r\n", b"connection: close\r\n", b"x: y\r\n", b"x:\r\n"),
    *(
        b" folded: y\r\n",
        b"x: y\n",
        b"connection: keep-alive\r\n",
        b"x: \xff \x01\r\n",
        b"\r\n",
        b"\r\n",
    ),
    *(
        b"0\r\n",
        b"0\r\n\r\n",
        b"3\r\nabc\r\n",
        b"1\r\n",
        b"a\r\n0123456789\r\n",
        b"00003;x=y\r\n",
        b"abc",
    ),
    *(b"\r", b"\n", b"a", b"\0", b":", b";", b" "),
]
NEARLY = st.lists(st.sampled_from(LINES) | st.binary(max_size=3), max_size=12).map(b"".join)
STARTS = st.sampled_from([b"", OK, OK + b"content-length: 3\r\n", CHUNKED[:-2], CHUNKED])
SPOILED = st.builds(
    lambda text, at, gone, new: text[:at] + new + text[at + gone :],
    st.sampled_from([text for _, text in RESPONSES]),
    st.integers(0, 80),
    st.integers(0, 3),
    st.sampled_from(LINES) | st.binary(max_size=2),
)
TEXTS = st.builds(bytes.__add__, STARTS, NEARLY) | SPOILED
FRAMED_LATE = re.compile(rb"(?is)\r\n0[^\r]*\r\n.*(?:content-length|transfer-encoding):")
"""Fields of the framing in the trailers: RFC 9110 lets us ignore them, h11 reads them."""
LIMITS = st.none() | st.integers(0, 100)


def without_reuse(items: list) -> list:
    return [replace(item, reusable=False) if isinstance(item, End) else item for item in items]


@given(st.lists(st.binary()) | st.lists(NEARLY), LIMITS, st.booleans())
def test_any_bytes_are_read_to_one_end(chunks, limit, head_request) -> None:
    items = read(*chunks, limit=limit, head_request=head_request, closed=True)

    assert [isinstance(item, Head | bytes) for item in items] == [True] * (len(items) - 1) + [False]
    assert [isinstance(item, Head) for item in items[1:]].count(True) == 0
    assert len(items) < 4
    if limit is not None:
        assert sum(len(item) for item in items if isinstance(item, bytes)) <= limit


@given(TEXTS, st.lists(st.integers(0, 200)), LIMITS, st.booleans())
def test_how_the_bytes_are_cut_makes_no_difference(text, cuts, limit, head_request) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    whole = read(text, limit=limit, head_request=head_request, closed=True)

    for chunks in ([text[a:b] for a, b in pairwise(edges)], cut(text, 1)):
        items = read(*chunks, limit=limit, head_request=head_request, closed=True)
        assert without_reuse(items) == without_reuse(whole)
        # Only what came together with the end can be seen to be too much.
        assert items[-1] == whole[-1] or items[-1] == WHOLE


@given(TEXTS, st.integers(0, 100))
def test_a_limit_only_ends_what_is_larger(text, limit) -> None:
    free, limited = read(text, closed=True), read(text, limit=limit, closed=True)
    if TooLarge() in limited:
        pieces = [item for item in limited if isinstance(item, bytes)]
        assert b"".join(item for item in free if isinstance(item, bytes)).startswith(
            b"".join(pieces)
        )
    else:
        assert limited == free


def others(fields) -> list[tuple[bytes, bytes]]:
    """Leave the fields out that h11 writes anew."""
    framing = {b"content-length", b"transfer-encoding"}
    return [(name, value) for name, value in fields if name not in framing]


def read_by_h11(text: bytes, *, head_request: bool) -> tuple[int, list, bytes, bool] | None:
    """Read a response as h11 does, and tell whether its connection is good; None: it refuses."""
    connection = h11.Connection(h11.CLIENT)
    method = "HEAD" if head_request else "POST"
    connection.send(h11.Request(method=method, target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(text)
    connection.receive_data(b"")
    status, fields, body = 0, [], b""
    try:
        while True:
            match connection.next_event():
                case h11.Response(status_code=status, headers=headers):
                    fields = others(headers)
                case h11.Data(data=data):
                    body += bytes(data)
                case h11.EndOfMessage():
                    is_good = connection.their_state is h11.DONE and not connection.trailing_data[0]
                    return status, fields, body, is_good
                case h11.ConnectionClosed():
                    return None
    except h11.RemoteProtocolError:
        return None


def compare_with_h11(text: bytes, *, head_request: bool = False) -> bool:
    """Tell whether we accept *text*, which h11 then has to read in the same way."""
    head, *rest = read(text, head_request=head_request, closed=True)
    if not rest or not isinstance(rest[-1], End):
        return False
    body = b"".join(item for item in rest if isinstance(item, bytes))
    read_by_them = read_by_h11(text, head_request=head_request)
    if read_by_them is None and FRAMED_LATE.search(text):
        return False
    assert read_by_them is not None
    *answer, is_good = read_by_them
    assert answer == [head.status, others(head.fields), body]
    assert is_good or not rest[-1].reusable
    return True


@pytest.mark.parametrize(("items", "text"), RESPONSES)
def test_what_we_read_h11_reads_the_same_way(items, text) -> None:
    assert compare_with_h11(text)


@given(TEXTS, st.booleans())
@example(b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", False)
@example(CHUNKED + b"1\r\na\r\n0\r\ncontent-length: many\r\n\r\n", False)
def test_what_we_accept_h11_reads_the_same_way(text, head_request) -> None:
    compare_with_h11(text, head_request=head_request)
