"""Pipes on every loop, and by threads as on Windows: whole lines in order, taken back, told of."""

from __future__ import annotations

import os
import threading
import time

import anyio
import pytest

from snodo_actors.ports import reader as readers
from snodo_actors.ports import writer as writers
from snodo_actors.ports.reader import PolledReader
from snodo_actors.ports.threaded import ThreadedReader, ThreadedWriter
from snodo_actors.ports.writer import PolledWriter

MIB = 1 << 20


@pytest.fixture(params=["polled", "threaded"])
def threaded(request):
    return request.param == "threaded"


async def until(condition, within=5.0):
    with anyio.fail_after(within * 4):
        while not condition():
            await anyio.sleep(0.002)


class Pipe:
    """A pipe, with one end of it on the loop."""

    def __init__(self, node, threaded):
        self.node = node
        self.threaded = threaded
        self.out, self.into = (
            os.fdopen(fd, mode, 0) for fd, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
        )
        self.chunks = []
        self.errors = []

    def reader(self):
        make = ThreadedReader if self.threaded else PolledReader
        return make(self.node, self.out, self.chunks.append)

    def writer(self):
        make = ThreadedWriter if self.threaded else PolledWriter
        return make(self.node, self.into, self.errors.append)

    @property
    def data(self):
        return b"".join(self.chunks)

    async def is_closed(self):
        """Both ends are, so that no descriptor is left."""
        self.into.close()
        await until(lambda: self.out.closed)


@pytest.fixture
def pipe(inner_node, threaded):
    return Pipe(inner_node, threaded)


# ---- reading


async def test_what_is_written_is_read(pipe):
    pipe.reader()
    for n in range(50):
        pipe.into.write(b"%d\n" % n)
    await until(lambda: pipe.data == b"".join(b"%d\n" % n for n in range(50)))
    pipe.into.close()
    await until(lambda: pipe.chunks[-1] == b"")
    await pipe.is_closed()


async def test_much_is_read_whole(pipe):
    reader = pipe.reader()
    much = os.urandom(3 * MIB)
    thread = threading.Thread(target=lambda: (pipe.into.write(much), pipe.into.close()))
    thread.start()
    await until(lambda: pipe.chunks and not pipe.chunks[-1], 20)
    thread.join()
    assert pipe.data == much
    reader.close()
    await pipe.is_closed()
    assert readers._large_pipes.count == 0


async def test_a_reader_that_pauses_reads_no_more(pipe):
    reader = pipe.reader()
    reader.pause()
    pipe.into.write(b"one")  # a thread may have begun its read already
    await until(lambda: not pipe.threaded or pipe.data == b"one")
    for _ in range(3):
        pipe.into.write(b"two")
        await anyio.sleep(0.01)
    assert pipe.data in (b"", b"one")
    reader.resume()
    reader.resume()
    await until(lambda: pipe.data == b"onetwotwotwo")
    reader.close()
    reader.close()
    await pipe.is_closed()


async def test_a_closed_reader_hands_over_nothing(pipe):
    reader = pipe.reader()
    reader.close()
    if pipe.threaded:  # its thread holds the pipe until something comes
        pipe.into.write(b"late")
    pipe.into.close()
    await pipe.is_closed()
    await anyio.sleep(0.01)
    assert pipe.chunks == []


async def test_what_an_ended_process_left_is_read_at_once(inner_node):
    pipe = Pipe(inner_node, threaded=False)
    reader = pipe.reader()
    pipe.into.write(b"left")
    assert reader.drain()
    assert pipe.data == b"left"
    pipe.into.write(b"more")
    pipe.into.close()
    assert reader.drain()
    assert pipe.chunks == [b"left", b"more", b""]
    assert reader.drain()
    await pipe.is_closed()


# ---- writing


async def test_lines_go_out_in_order(pipe):
    writer = pipe.writer()
    lines = [os.urandom(n * 997) for n in range(1, 150)]  # some 10 MB
    for n, line in enumerate(lines):
        assert writer.write(line, n)
    assert writer.unsent_bytes > 0
    got = bytearray()
    while len(got) < sum(map(len, lines)):
        got += await anyio.to_thread.run_sync(os.read, pipe.out.fileno(), MIB)
    assert got == b"".join(lines)
    await until(lambda: writer.unsent_bytes == 0)
    assert writer.unsent() == set()
    assert writer.write(b"small")
    await until(lambda: writer.unsent_bytes == 0)
    writer.close()
    assert not writer.write(b"late")
    await until(lambda: pipe.into.closed)
    assert pipe.out.read() == b"small"
    pipe.out.close()
    assert pipe.errors == []


async def test_what_waits_can_be_taken_back(pipe):
    writer = pipe.writer()
    writer.write(b"a" * MIB, "begun")
    await until(lambda: writer.unsent() == set())
    for key in ("b", "c", "d"):
        writer.write(key.encode() * 10, key)
    assert writer.unsent() == {"b", "c", "d"}
    assert writer.withdraw("c")
    assert not writer.withdraw("c")
    assert not writer.withdraw("begun")
    assert writer.unsent() == {"b", "d"}
    got = bytearray()
    while len(got) < MIB + 20:
        got += await anyio.to_thread.run_sync(os.read, pipe.out.fileno(), MIB)
    assert got[MIB:] == b"b" * 10 + b"d" * 10
    await until(lambda: writer.unsent_bytes == 0)
    writer.close()
    await until(lambda: pipe.into.closed)
    pipe.out.close()


async def test_all_that_waits_can_be_taken_back_and_others_come(pipe):
    writer = pipe.writer()
    fill = b"f" * 65536
    writer.write(fill)
    await until(lambda: writer.unsent_bytes == 0)
    if not pipe.threaded:
        writer.write(b"first", 1)
        assert writer.withdraw(1)
        assert writer.unsent_bytes == 0
    writer.write(b"second", 2)
    assert os.read(pipe.out.fileno(), 65536) == fill
    assert await anyio.to_thread.run_sync(os.read, pipe.out.fileno(), 100) == b"second"
    writer.close()
    await until(lambda: pipe.into.closed)
    pipe.out.close()


async def test_a_pipe_nobody_reads_fails_once(pipe):
    writer = pipe.writer()
    pipe.out.close()
    writer.write(b"x", 1)
    await until(lambda: pipe.errors)
    assert [type(error) for error in pipe.errors] == [BrokenPipeError]
    assert not writer.write(b"y", 2)
    writer.close()
    await until(lambda: pipe.into.closed)
    assert len(pipe.errors) == 1


async def test_a_reader_that_leaves_in_the_middle_leaves_the_rest_unsent(pipe):
    writer = pipe.writer()
    writer.write(b"a" * MIB, "begun")
    writer.write(b"b", "not begun")
    await until(lambda: writer.unsent() == {"not begun"})
    pipe.out.close()
    await until(lambda: pipe.errors)
    assert writer.unsent() == {"not begun"}
    writer.close()
    assert writer.unsent() == {"not begun"}, "whoever gave it may still ask"
    assert writer.unsent_bytes == 0
    await until(lambda: pipe.into.closed)


async def test_closing_while_a_line_is_stuck(pipe):
    writer = pipe.writer()
    writer.write(b"a" * MIB)
    await anyio.sleep(0.01)
    start = time.monotonic()
    writer.close()
    assert time.monotonic() - start < 1
    pipe.out.close()  # what the end of the process does
    await until(lambda: pipe.into.closed)
    assert pipe.errors == []


# ---- writing soon


@pytest.fixture
def writes(monkeypatch):
    """What goes out in each write."""
    seen = []
    write = os.write

    def counted(fd, data):
        written = write(fd, data)
        seen.append(bytes(data[:written]))
        return written

    monkeypatch.setattr("snodo_actors.ports.writer.os.write", counted)
    return seen


async def test_what_is_written_soon_goes_out_together(inner_node, writes):
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    for n in range(5):
        assert writer.write(b"%d\n" % n, n, soon=True)
    assert writes == []
    assert writer.unsent() == set(range(5))
    await until(lambda: writes)
    assert writes == [b"0\n1\n2\n3\n4\n"]
    assert (writer.unsent(), writer.unsent_bytes) == (set(), 0)
    writer.close()
    pipe.out.close()


async def test_what_is_written_at_once_waits_behind_what_is_written_soon(inner_node, writes):
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    writer.write(b"first", 1, soon=True)
    writer.write(b"second", 2)
    await until(lambda: writes)
    assert writes == [b"firstsecond"]
    writer.write(b"third")
    assert writes[1:] == [b"third"]
    writer.close()
    pipe.out.close()


async def test_many_lines_do_not_wait_for_the_turn_to_end(inner_node, writes):
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    for n in range(writers.ENOUGH_LINES):
        writer.write(b"%d\n" % n, n, soon=True)
    assert len(writes) == 1
    assert writer.unsent_bytes == 0
    writer.write(b"more", soon=True)
    await until(lambda: len(writes) == 2)
    writer.close()
    pipe.out.close()


async def test_what_was_to_go_out_soon_can_be_taken_back(inner_node, writes):
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    writer.write(b"a", "a", soon=True)
    writer.write(b"b", "b", soon=True)
    assert writer.withdraw("a")
    await until(lambda: writes)
    assert writes == [b"b"]
    writer.write(b"c", "c", soon=True)
    assert writer.withdraw("c")
    await anyio.sleep(0.01)
    assert writes == [b"b"]
    writer.close()
    pipe.out.close()


async def test_closing_before_it_goes_out(inner_node, writes):
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    writer.write(b"a", "a", soon=True)
    writer.close()
    await anyio.sleep(0.01)
    assert (writes, writer.unsent(), writer.unsent_bytes) == ([], {"a"}, 0)
    assert not writer.write(b"b", soon=True)
    pipe.out.close()


async def test_a_pipe_that_breaks_before_it_goes_out(inner_node):
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    writer.write(b"a", "a", soon=True)
    pipe.out.close()
    await until(lambda: pipe.errors)
    assert writer.unsent() == {"a"}
    writer.close()


async def test_a_full_pipe_and_lines_of_any_length(inner_node):
    """Long ones go out alone, short ones together, whatever fits at a time."""
    pipe = Pipe(inner_node, threaded=False)
    writer = pipe.writer()
    lines = [bytes([65 + n % 26]) * (n * n * 31 % 150_000 + 1) for n in range(60)]
    for n, line in enumerate(lines):
        writer.write(line, n, soon=n % 3 > 0)
    got = bytearray()
    while len(got) < sum(map(len, lines)):
        got += await anyio.to_thread.run_sync(os.read, pipe.out.fileno(), 777)
    assert got == b"".join(lines)
    await until(lambda: writer.unsent_bytes == 0)
    assert writer.unsent() == set()
    writer.close()
    pipe.out.close()
