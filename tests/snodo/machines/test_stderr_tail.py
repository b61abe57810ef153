from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snodo_actors.machines.stderr_tail import StderrTail

# what is meant, reads, lines completed, lines shown
READS = [
    ("nothing", [], [], []),
    ("a line", [b"one\n"], ["one"], ["one"]),
    ("a line in pieces", [b"o", b"n", b"e\ntw"], ["one"], ["one", "tw"]),
    ("lines of Windows", [b"one\r\ntwo\r\n"], ["one", "two"], ["one", "two"]),
    ("blank lines", [b"\n\n"], ["", ""], ["", ""]),
    ("only the last lines are shown", [b"1\n2\n3\n4"], ["1", "2", "3"], ["2", "3", "4"]),
    ("a character in two reads", [b"caf\xc3", b"\xa9\n"], ["café"], ["café"]),
    ("what is no UTF-8", [b"caf\xe9\n"], ["caf\ufffd"], ["caf\ufffd"]),
    ("a line of the limit", [b"12345678\n"], ["12345678"], ["12345678"]),
    (
        "a longer one is cut",
        [b"123456789", b"0\nx\n"],
        ["12345678... (2 bytes more)", "x"],
        ["12345678... (2 bytes more)", "x"],
    ),
    (
        "a line without end is cut as it comes",
        [b"1234567", b"89", b"0" * 100],
        [],
        ["12345678... (101 bytes more)"],
    ),
]


@pytest.mark.parametrize(
    ("reads", "completed", "shown"), [row[1:] for row in READS], ids=[row[0] for row in READS]
)
def test_tail(reads, completed, shown):
    tail = StderrTail(max_lines=3, max_line_bytes=8)
    assert completed == [line for data in reads for line in tail.feed(data)]
    assert shown == tail.lines()


def test_the_end_completes_the_last_line():
    tail = StderrTail(max_lines=3, max_line_bytes=8)
    assert tail.finish() == []
    tail.feed(b"one\ntwo")
    assert (tail.finish(), tail.finish()) == (["two"], [])
    assert tail.lines() == ["one", "two"]


def test_a_server_that_never_ends_its_line_costs_no_more_than_one_that_does():
    tail = StderrTail()
    for _ in range(1000):
        assert tail.feed(b"x" * 10_000) == []
    assert len(tail._open) == 1000
    assert len(tail._lines) == 0


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=80), cuts=st.lists(st.integers(0, 80), max_size=5))
def test_the_cut_of_the_reads_changes_nothing(data, cuts):
    whole, parts = (
        StderrTail(max_lines=3, max_line_bytes=8),
        StderrTail(max_lines=3, max_line_bytes=8),
    )
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert whole.feed(data) == [line for piece in pieces for line in parts.feed(piece)]
    assert whole.lines() == parts.lines()
    assert len(parts.lines()) <= 3
