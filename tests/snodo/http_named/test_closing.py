"""Closing, whatever an HTTP connection is about, ends every call at once and leaves nothing."""

from __future__ import annotations

import threading

import pytest
from case_servers import LEGACY, MODERN, across, everywhere, lost, took
from http_server import error

from supervisors import Future


class Provider:
    """Gives its tokens when it is told to."""

    def __init__(self, *, stuck_in: str) -> None:
        self.stuck_in = stuck_in
        self.asked = 0

    async def token(self, _request):
        if self.stuck_in == "token" and self.asked_once():
            await Future()
        return "good"

    async def refresh(self, _challenge, _request):
        self.asked += 1
        await Future()

    def asked_once(self):
        self.asked += 1
        return self.asked > 3  # those of the handshake


def refuses(exchange):
    exchange.respond(401, fields=[("WWW-Authenticate", "Bearer")], kind="")


@pytest.mark.parametrize("stuck_in", ["token", "refresh"])
@everywhere
async def test_closing_while_tokens_are_fetched(at, server, stuck_in):
    server.on("tool bug", refuses)
    provider = Provider(stuck_in=stuck_in)
    client = await at.get(server.connect(token_provider=provider, timeout=20.0))
    calls = [client.call_tool("bug") for _ in range(10)]
    await at.until(lambda: provider.asked >= (1 if stuck_in == "refresh" else 4))
    with took(below=2):
        await at.get(client.close())
        for failed in await at.all(*calls):
            lost(failed)


@pytest.mark.parametrize("what", ["initialize", "notifications/initialized"])
@everywhere
async def test_closing_while_a_session_is_renewed(at, serve, what):
    server = serve(sessions=True)
    client = await at.get(server.connect(timeout=20.0))
    server.sessions.clear()

    def late(exchange):
        exchange.wait("never")

    server.once(what, late)
    calls = [client.call_tool("echo") for _ in range(20)]
    await at.until(lambda: server.waiting("never") == 1)
    with took(below=2):
        await at.get(client.close())
        for failed in await at.all(*calls):
            lost(failed)
    server.open("never")
    server.faults.clear()  # a DELETE of the session that was lost


@across
async def test_closing_while_the_headers_of_a_call_are_looked_up(at, server):
    server.on(
        "tool bug",
        lambda exchange: exchange.json(
            error(exchange.request["id"], -32020, "a header is missing"), 400
        ),
    )
    server.on("tools/list", lambda exchange: exchange.wait("never"))
    client = await at.get(server.connect(protocol=MODERN, timeout=20.0))
    call = client.call_tool("bug")
    await at.until(lambda: server.waiting("never") == 1)
    with took(below=2):
        await at.get(client.close())
        lost(await at.error(call))
    server.open("never")


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_closing_with_two_hundred_calls_and_streams(at, server, protocol):
    server.on("tool hold", lambda exchange: exchange.wait("never"))
    client = await at.get(server.connect(protocol=protocol, timeout=20.0, pool_size=8))
    streams = (
        [await at.get(client.listen({"toolsListChanged": True})) for _ in range(5)]
        if protocol == MODERN
        else []
    )
    calls = [client.call_tool("hold") for _ in range(200)]
    await at.until(lambda: server.waiting("never") == 8)
    with took(below=2):
        done = [client.close() for _ in range(3)]
        await at.in_thread(lambda: client.close().get())
        await at.all(*done)
        assert [one.done() for one in done] == [True] * 3
        for failed in await at.all(*calls):
            lost(failed)
        for stream in streams:
            assert (await at.get(stream.next()))[0] == "closed"
    server.open("never")


@pytest.mark.parametrize("at", ["asyncio", "trio"], indirect=True)
@everywhere
async def test_giving_up_while_connecting(at, server):
    """Nobody waits for the client: what was begun for it is closed."""
    server.on("initialize", lambda exchange: exchange.wait("never"))
    for n in range(5):
        opening = server.connect(timeout=20.0)
        await at.until(lambda n=n: server.waiting("never") == n + 1)
        with took(below=2):
            await at.give_up(opening)
    await at.until(lambda: all(one.gone() for one in server.open_connections()))
    server.open("never")


@across
async def test_closing_inside_an_input_handler(at, serve):
    """The server asks on the standing stream; the handler closes the connection."""
    server = serve(sessions=True, get_stream=True)
    clients, closed = [], threading.Event()

    async def roots(_params):
        await clients[0].close()
        closed.set()
        return {"roots": []}

    clients.append(
        await at.get(
            server.connect(
                server_stream=True,
                client_capabilities={"roots": {}},
                input_handlers={"roots": roots},
                timeout=20.0,
            )
        )
    )
    await at.until(lambda: server.streams)
    server.on("tool hold", lambda exchange: exchange.wait("never"))
    call = clients[0].call_tool("hold")
    await at.until(lambda: server.waiting("never") == 1)
    with took(below=3):
        server.streams[0].event({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})
        lost(await at.error(call))
        await at.until(lambda: not clients[0]._connection.is_alive())
    server.open("never")
    await at.until(lambda: not server.sessions)
