from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.wire.framing import Flood, Framer, Oversized, answered_id


def frame(limit: int, *chunks: bytes):
    framer = Framer(limit)
    return [framed for chunk in chunks for framed in framer.feed(chunk)]


@pytest.mark.parametrize(
    ("lines", "chunks"),
    [
        ([], [b""]),
        ([b"{}"], [b"{}\n"]),
        ([], [b"{}"]),
        ([b"{}"], [b"{", b"}", b"\n"]),
        ([b"a", b"b"], [b"a\nb\nc"]),
        ([b"a", b"b", b"c"], [b"a\nb", b"", b"\nc\n"]),
        # carriage returns and blanks
        ([b"a", b"b"], [b"a\r\nb\r\r\n"]),
        ([b"a", b"b"], [b"a\r", b"\nb\n"]),
        ([b"a"], [b"\n\r\n \t\r\na\n\n"]),
        ([b"a\rb"], [b"a\rb\n"]),
        ([b"a"], [b" \ta \n"]),
        # a byte order mark before any line
        ([b"a", b"b"], [b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n"]),
        ([b"a"], [b"\xef", b"\xbb", b"\xbfa\r\n"]),
        ([], [b"\xef\xbb\xbf\n"]),
        # the other line ends of Unicode are text
        (["a\u2028b\u0085c".encode()], ["a\u2028b\u0085c\n".encode()]),
        ([b"a\x0bb\x0cc"], [b"a\x0bb\x0cc\n"]),
    ],
)
def test_lines(lines, chunks) -> None:
    assert frame(100, *chunks) == lines


@pytest.mark.parametrize(
    ("framed", "text"),
    [
        ([b"12345"], b"12345\n"),
        ([Oversized(None)], b"123456"),
        ([Oversized(None)], b"123456\n"),
        ([Oversized(None), b"1"], b"123456\n1\n"),
        ([Oversized(None), b"1"], b"1234\r\r\n1\n"),  # a carriage return counts
        ([b"1", Oversized(None), Oversized(None), b"2"], b"1\n123456\n1234567890\n2\n"),
        ([Oversized(None), b"1"], b"1" * 20 + b"\n1\n"),
        ([Oversized(None), Flood()], b"1" * 21),
        ([Oversized(None), Flood()], b"1" * 21 + b"\n1\n" + b"1" * 100),
        ([b"1", Oversized(None), Flood()], b"1\n" + b"1" * 100),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_a_line_over_the_limit_is_thrown_away(framed, text, size) -> None:
    assert frame(5, *(text[at : at + size] for at in range(0, len(text), size))) == framed


def test_nothing_is_kept_of_a_line_over_the_limit() -> None:
    framer = Framer(1000)
    framer.feed(b"x" * 1000)
    assert framer.feed(b"x" * 500) == [Oversized(None)]
    assert framer.feed(b"x" * 500) == []

    assert len(framer._line) == 0


def test_a_long_line_in_many_pieces_is_put_together() -> None:
    text = b"x" * 200_000
    assert frame(200_000, *(text[at : at + 97] for at in range(0, len(text), 97)), b"\n") == [text]


@pytest.mark.parametrize(
    ("id", "head"),
    [
        (5, b'{"jsonrpc":"2.0","id":5,"result":{"content":[{"ty'),
        (5, b'{"id":5,"jsonrpc":"2.0","result":'),
        (5, b' { "jsonrpc" : "2.0" , "id" : 5 , "result" : { "id": 6'),
        (5, b'{"jsonrpc":"2.0","id":5,"error":{"code":'),
        (5, b'{"id":5,"result":null,"x'),
        (0, b'{"id":0,"result":{'),
        (-7, b'{"id":-7,"result":{'),
        (10**63, b'{"id":1' + b"0" * 63 + b',"result":{'),
        # not an answer, or not to be seen
        (None, b'{"id":1' + b"0" * 64 + b',"result":{'),
        (None, b'{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{'),
        (None, b'{"method":"x","id":5,"result":{'),
        (None, b'{"jsonrpc":"2.0","id":5,'),
        (None, b'{"jsonrpc":"2.0","id":5'),
        (None, b'{"jsonrpc":"2.0","id":"5","result":{'),
        (None, b'{"jsonrpc":"2.0","id":5.0,"result":{'),
        (None, b'{"jsonrpc":"2.0","id":5e3,"result":{'),
        (None, b'{"jsonrpc":"2.0","id":null,"error":{'),
        (None, b'{"jsonrpc":"2.0","id":{"id":5,"result":{'),
        (None, b'{"jsonrpc":{"id":5,"result":{'),
        (None, b'{"result":{"id":5,"result":{'),
        (None, b'{"meta":{"id":5,"result":{'),
        (None, b'{"params":"x","id":5,"result":{'),
        (None, b'{"error":{"code":5'),
        (None, b'[{"id":5,"result":{'),
        (None, b'xxxxxxxxx "id":5,"result":{'),
        (None, b'{"jsonrpc":"2.'),
        (None, b"{"),
        (None, b""),
        (None, b"\xff\xfe"),
    ],
)
def test_the_id_of_an_answer_is_read_from_its_head(id, head) -> None:
    assert answered_id(head) == id


@given(st.binary())
def test_any_head_has_an_id_or_none(head) -> None:
    assert isinstance(answered_id(head), int | None)


@pytest.mark.parametrize("size", [1, 30, 64, 10_000])
def test_the_answer_on_a_line_over_the_limit_is_told(size) -> None:
    long = json.dumps({"jsonrpc": "2.0", "id": 12, "result": {"text": "x" * 150}}).encode()
    text = b'{"id":1}\n' + long + b'\n{"id":2}\n'

    assert frame(100, *(text[at : at + size] for at in range(0, len(text), size))) == [
        b'{"id":1}',
        Oversized(12),
        b'{"id":2}',
    ]


PIECES = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"{}", b"\xef\xbb\xbf", b"0123456789", b" "])
    | st.binary(max_size=12)
).map(b"".join)


@given(PIECES, st.lists(st.integers(0, 200)), st.integers(1, 12))
def test_how_the_bytes_are_cut_makes_no_difference(text, cuts, limit) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [text[a:b] for a, b in pairwise(edges)]

    assert frame(limit, *chunks) == frame(limit, text)


@given(PIECES, st.integers(1, 12))
def test_lines_have_no_ends_and_are_not_too_long(text, limit) -> None:
    for framed in frame(limit, text):
        if isinstance(framed, bytes):
            assert framed.strip()
            assert b"\n" not in framed
            assert len(framed) <= limit
