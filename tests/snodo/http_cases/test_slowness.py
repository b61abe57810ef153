"""A call has one time for all of its exchange, however busily the server does nothing."""

from __future__ import annotations

import socket

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, timed_out, took
from http_exchange import JSON, LIFE, STREAM, chunk, encode, event, head
from http_outcomes import not_connected
from http_server import note, result, text

import snodo_actors as snodo

MODES = ["silent", "headers", "body", "sse", "sseevents", "ssenotif"]


@pytest.mark.parametrize("mode", MODES)
@everywhere
async def test_a_server_that_drips(at, case, mode):
    server = case("B-032")
    client = await at.get(server.connect(timeout=1.0, pool_size=1))
    with took(below=1.3, least=0.9):
        timed_out(await at.error(client.call_tool("bug", {"mode": mode})), 1.0)
    await at.until(lambda: server.facts("gone", mode=mode), within=1.5)
    with took(below=0.5):
        await echoes(at, client)
    await at.get(client.close())


@across
async def test_dripping_servers_take_no_place_of_the_pool_for_good(at, case):
    server = case("B-032")
    client = await at.get(server.connect(timeout=1.0, pool_size=4))
    for _ in range(2):
        with took(below=1.5):
            for error in await at.all(
                *(client.call_tool("bug", {"mode": MODES[n % 6]}) for n in range(8))
            ):
                timed_out(error, 1.0)
    with took(below=0.5):
        await echoes(at, client)
    await at.get(client.close())


# ---- the same wherever it stops


STREAM_HEAD = head(200, [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")])
FIXED = head(200, [("Content-Type", JSON), ("Content-Length", "1000")])
CHUNKED = head(200, [("Content-Type", JSON), ("Transfer-Encoding", "chunked")])
UNTIL_CLOSE = head(200, [("Content-Type", JSON)])


def answer(exchange):
    return result(exchange.request["id"], text("late"))


def stops_after(*pieces):
    """Sends so much, and then nothing more."""

    def script(exchange):
        exchange.send(*(one(exchange) if callable(one) else one for one in pieces))
        exchange.until_gone()

    return script


def drips(start, piece):
    """Sends the same again and again."""

    def script(exchange):
        exchange.send(start)
        made = piece(exchange) if callable(piece) else piece
        exchange.until_gone_or("never", lambda: exchange.send(made))

    return script


PHASES = {
    "before a byte": stops_after(b""),
    "in the status line": stops_after(b"HTTP/1.1 2"),
    "after the status line": stops_after(b"HTTP/1.1 200 OK\r\n"),
    "in a field": stops_after(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "in a line end": stops_after(FIXED[:-3]),
    "before the blank line": stops_after(FIXED[:-2]),
    "after the head": stops_after(FIXED),
    "in the body": stops_after(FIXED, b'{"jsonrpc":'),
    "in the last byte": stops_after(
        lambda e: head(200, [("Content-Length", str(len(encode(answer(e))) + 1))]),
        lambda e: encode(answer(e)),
    ),
    "before a chunk": stops_after(CHUNKED),
    "in the size of a chunk": stops_after(CHUNKED, b"1"),
    "in a chunk": stops_after(CHUNKED, b"ff\r\n{"),
    "before the last chunk": stops_after(CHUNKED, lambda e: chunk(encode(answer(e)))),
    "before the end of the trailers": stops_after(
        CHUNKED, lambda e: chunk(encode(answer(e))), b"0\r\nX-Sum: 1\r\n"
    ),
    "in a body until the end": stops_after(UNTIL_CLOSE, lambda e: encode(answer(e))),
    "before an event": stops_after(STREAM_HEAD),
    "in an event": stops_after(STREAM_HEAD, lambda e: chunk(event(answer(e))[:-10])),
    "before the end of an event": stops_after(STREAM_HEAD, lambda e: chunk(event(answer(e))[:-1])),
    "after 100 Continue": stops_after(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100 Continue for ever": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "one byte of the head at a time": drips(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
    "one byte of the body at a time": drips(FIXED, b" "),
    "one chunk at a time": drips(CHUNKED, chunk(b" ")),
    "one byte of a chunk at a time": drips(CHUNKED + b"ff\r\n", b" "),
    "one trailer at a time": drips(CHUNKED + b"1\r\n{\r\n0\r\n", b"X-More: 1\r\n"),
    "comments": drips(STREAM_HEAD, chunk(b": still here\n\n")),
    "blank lines": drips(STREAM_HEAD, chunk(b"\n")),
    "empty events": drips(STREAM_HEAD, chunk(b"data:\n\n")),
    "one byte of an event at a time": drips(STREAM_HEAD + chunk(b"data: "), chunk(b" ")),
    "notifications": drips(STREAM_HEAD, chunk(event(note(level="info", data="tick")))),
    "answers to others": drips(STREAM_HEAD, chunk(event(result(10**9, text("not yours"))))),
    "progress of others": drips(
        STREAM_HEAD, chunk(event(note("notifications/progress", progressToken="x", progress=1)))
    ),
}


@pytest.mark.parametrize("phase", [*PHASES])
@across
async def test_the_time_of_a_call_holds_in_every_phase(at, server, phase):
    server.on("tool bug", PHASES[phase])
    client = await at.get(server.connect(pool_size=1))
    with took(below=0.8, least=0.28):
        error = await at.error(client.call_tool("bug", timeout=0.3))
    timed_out(error, 0.3)
    assert error.delivery == "unknown"
    bug = server.received("tool bug")[0]
    await at.until(lambda: server.connections[bug.connection - 1].closed, within=1.0)
    with took(below=0.5):
        await echoes(at, client)
    assert len(server.received("tool bug")) == 1, "it is not sent again"
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_a_disconnect_cancels_a_call_only_where_the_version_says_so(at, server, protocol):
    server.on("tool bug", PHASES["in the body"])
    client = await at.get(server.connect(protocol=protocol))
    timed_out(await at.error(client.call_tool("bug", timeout=0.3)), 0.3)
    if protocol == LEGACY:
        await at.until(lambda: server.received("notifications/cancelled"), within=1.0)
        (cancelled,) = server.received("notifications/cancelled")
        assert cancelled.params["requestId"] == server.received("tool bug")[0]["id"]
        assert cancelled["id"] is None
    await echoes(at, client)
    await at.get(client.close())
    assert len(server.received("notifications/cancelled")) == (protocol == LEGACY)


@across
async def test_cancellations_that_are_not_answered_take_no_place_of_the_pool(at, server):
    """What tells the server of a call that timed out is an exchange too."""
    server.on("tool bug", PHASES["before a byte"])
    server.on("notifications/cancelled", PHASES["before a byte"])
    client = await at.get(server.connect(pool_size=2, timeout=1.0))
    for _ in range(4):
        await at.error(client.call_tool("bug", timeout=0.2))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_server_that_does_not_read(at, server):
    server.once("connection", lambda connection: server.gate("never").is_open(LIFE))
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    with took(below=1.5, least=0.38):
        error = await at.error(client.call_tool("echo", {"big": "x" * 12_000_000}, timeout=0.4))
    timed_out(error, 0.4)
    assert error.delivery == "unknown"
    await echoes(at, client)
    server.open("never")
    await at.get(client.close())


@across
async def test_a_server_that_reads_slowly_gets_all(at, server):
    def slow(connection):
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32_768)

    server.once("connection", slow)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1, timeout=20.0))
    big = "é漢" * 300_000
    said = text_of(await at.get(client.call_tool("echo", {"big": big})))
    assert len(said) > len(big)
    await at.get(client.close())


@across
async def test_the_time_for_connecting(at):
    """A port whose queue of connections is full takes no more of them, and says nothing."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        fillers.append(filler)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    try:
        client = await at.get(snodo.connect(("http", url), protocol=MODERN, connect_timeout=0.3))
        with took(below=1.0, least=0.28):
            not_connected(await at.error(client.call_tool("echo")))
        await at.get(client.close())

        client = await at.get(snodo.connect(("http", url), protocol=MODERN, pool_size=2))
        with took(below=1.0, least=0.28):
            errors = await at.all(*(client.call_tool("echo", timeout=0.3) for _ in range(8)))
        for error in errors:
            lost(error) if error.code == -32000 else timed_out(error, 0.3)
            assert error.delivery == "never_sent"
        await at.get(client.close())
    finally:
        for one in (listener, *fillers):
            one.close()


@across
async def test_nobody_listens(at, server):
    url = server.url
    server.stop()
    client = await at.get(snodo.connect(("http", url), protocol=MODERN, pool_size=1))
    for _ in range(3):
        with took(below=0.5):
            not_connected(await at.error(client.call_tool("echo")))
    server.start(server.port)
    await echoes(at, client)
    await at.get(client.close())
