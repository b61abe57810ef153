"""Closing ends whatever waits, at once and with an error that says so, and leaves nothing open."""

from __future__ import annotations

import threading

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, took
from http_exchange import JSON, STREAM, chunk, event, head
from http_server import note

import snodo_actors as snodo


def held(*pieces):
    def script(exchange):
        exchange.send(*pieces)
        exchange.wait("never")

    return script


STAGES = {
    "before a byte": held(b""),
    "in the head": held(b"HTTP/1.1 200 OK\r\nContent-"),
    "in the body": held(head(200, [("Content-Type", JSON), ("Content-Length", "100")]), b"{"),
    "in a stream": held(
        head(200, [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]),
        chunk(event(note(level="info", data="x"))),
    ),
}


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("stage", [*STAGES])
@everywhere
async def test_closing_fails_what_waits(at, server, stage, protocol):
    """Under way or in the queue for the pool."""
    server.on("tool bug", STAGES[stage])
    client = await at.get(server.connect(protocol=protocol, pool_size=2, timeout=20.0))
    calls = [client.call_tool("bug") for _ in range(6)]
    await at.until(lambda: server.waiting("never") >= 2)
    with took(below=2):
        await at.get(client.close())
        for failed in await at.all(*calls):
            lost(failed)
            assert not isinstance(failed, snodo.RequestTimeout)
    with took(below=0.5):
        failed = await at.error(client.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "never_sent"
    with took(below=0.5):
        await at.get(client.close())
    assert server.received("tool echo") == []


@everywhere
async def test_fifty_threads_wait_and_one_closes(at, server):
    server.on("tool bug", held(b""))
    client = await at.get(server.connect(pool_size=4, timeout=20.0))
    outcomes = []

    def wait():
        try:
            outcomes.append(client.call_tool("bug").get(timeout=30))
        except BaseException as failed:
            outcomes.append(failed)

    threads = [threading.Thread(target=wait) for _ in range(50)]
    for thread in threads:
        thread.start()
    await at.until(lambda: server.waiting("never") == 4)
    await at.sleep(0.05)
    with took(below=3):
        await at.get(client.close())
        await at.until(lambda: len(outcomes) == 50)
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        lost(outcome)


@everywhere
async def test_two_closes_at_a_time(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect())
    with took(below=1):
        await at.all(client.close(), client.close(), client.close())
    assert len(server.received("DELETE")) == 1


@across
async def test_closing_without_a_call(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    with took(below=0.5):
        await at.get(client.close())
    assert server.connections == []


@across
async def test_closing_inside_a_progress_function(at, server):
    def bug(exchange):
        exchange.stream()
        token = exchange.request.meta["progressToken"]
        exchange.event(note("notifications/progress", progressToken=token, progress=1))
        exchange.wait("never")

    server.on("tool bug", bug)
    client = await at.get(server.connect(timeout=10.0))
    closing = []
    with took(below=3):
        call = client.call_tool("bug", progress=lambda params: closing.append(client.close()))
        lost(await at.error(call))
        await at.get(closing[0])


@pytest.mark.parametrize("at", ["asyncio", "trio"], indirect=True)
@everywhere
async def test_closing_by_async_with(at, serve):
    server = serve(sessions=True)
    async with await server.connect() as client:
        await echoes(at, client)
    assert server.sessions == set()


@pytest.mark.parametrize("at", ["thread", "thread-trio"], indirect=True)
@everywhere
async def test_closing_by_with(at, serve):
    server = serve(sessions=True)
    with server.connect().get() as client:
        await echoes(at, client)
    assert server.sessions == set()


@across
async def test_many_clients_come_and_go(at, serve):
    """Connections, sessions and threads do not add up."""
    server = serve(sessions=True)

    async def one():
        client = await at.get(server.connect())
        await echoes(at, client)
        await at.get(client.close())

    for _ in range(3):
        await one()
    await at.until(lambda: not server.open_connections())
    before = len(ours())
    for _ in range(20):
        await one()
    await at.until(lambda: not server.open_connections())
    assert server.sessions == set()
    assert len(ours()) <= before + 1


def ours():
    """The threads that are not the server's."""
    return [one for one in threading.enumerate() if not one.name.startswith("http server")]


@everywhere
async def test_a_server_that_goes_while_calls_wait(at, server):
    """All are told at once, and the client finds the server again when it is back."""
    server.on("tool bug", held(b""))
    client = await at.get(server.connect(protocol=MODERN, pool_size=3, timeout=20.0))
    calls = [client.call_tool("bug") for _ in range(3)]
    await at.until(lambda: server.waiting("never") == 3)
    port = server.port
    with took(below=2):
        server.stop()
        for failed in await at.all(*calls):
            lost(failed)
            assert failed.delivery == "unknown"
    failed = await at.error(client.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "never_sent"
    server.start(port)
    for n in range(3):
        await echoes(at, client, n=n)
    await at.get(client.close())


@across
async def test_calls_that_wait_for_a_server_that_goes(at, server):
    """Those in the queue are tried on a fresh connection, and fail as that does."""
    server.on("tool bug", held(b""))
    client = await at.get(server.connect(protocol=MODERN, pool_size=1, timeout=20.0))
    calls = [client.call_tool("bug") for _ in range(5)]
    await at.until(lambda: server.waiting("never") == 1)
    port = server.port
    with took(below=2):
        server.stop()
        first, *others = await at.all(*calls)
    lost(first)
    assert first.delivery == "unknown"
    for failed in others:
        lost(failed)
        assert failed.delivery == "never_sent"
    server.start(port)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_errors_name_their_connection(at, server):
    server.on("tool bug", lambda e: e.respond(503, b"later"))
    client = await at.get(server.connect())
    failed = await at.error(client.call_tool("bug"))
    assert server.url in str(failed.who) or server.url in str(failed)
    await at.get(client.close())
