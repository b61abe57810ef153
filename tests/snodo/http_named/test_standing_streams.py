"""The standing stream of a session: whatever becomes of it, no request is harmed."""

from __future__ import annotations

import contextlib

import pytest
from case_servers import LEGACY, across, echoes, everywhere, took
from http_exchange import Ended
from http_server import note
from http_trees import inside, part, tree_of

import snodo_actors as snodo
import supervisors
from supervisors import receive, self_


def ask(exchange, id, method="roots/list"):
    exchange.event({"jsonrpc": "2.0", "id": id, "method": method})


def plain(_params):
    return {"roots": [{"uri": "file:///a"}]}


async def with_await(_params):
    return {"roots": [{"uri": "file:///a"}]}


async def connected(at, server, **options):
    options = {"server_stream": True, "timeout": 5.0, **options}
    return await at.get(server.connect(**options))


@pytest.fixture
def server(serve):
    return serve(sessions=True, get_stream=True)


@pytest.mark.parametrize("handler", [plain, with_await])
@everywhere
async def test_what_the_server_asks_is_answered_once(at, server, handler):
    client = await connected(
        at, server, client_capabilities={"roots": {}}, input_handlers={"roots": handler}
    )
    await at.until(lambda: server.streams)
    for id in range(10):
        ask(server.streams[0], f"q{id}")
    ask(server.streams[0], "unknown", "sampling/createMessage")
    await at.until(lambda: len([one for one in server.received() if one.is_reply]) == 11)
    await echoes(at, client)
    replies = {one["id"]: one.message for one in server.received() if one.is_reply}
    assert {f"q{id}" for id in range(10)} | {"unknown"} == set(replies)
    assert replies["q3"]["result"] == {"roots": [{"uri": "file:///a"}]}
    assert "error" in replies["unknown"]
    await at.get(client.close())
    await at.until(lambda: not server.streams)
    assert not server.sessions


def status(code):
    return lambda exchange: exchange.respond(code, b"", kind="")


def page(exchange):
    exchange.respond(200, b"<html>", kind="text/html")


def cuts(exchange):
    exchange.close()


def resets(exchange):
    exchange.reset()


@pytest.mark.parametrize(
    "how",
    [status(405), status(404), status(500), status(401), page, cuts, resets],
    ids=["405", "404", "500", "401", "page", "cuts", "resets"],
)
@across
async def test_a_server_that_has_no_such_stream(at, server, how):
    """Calls begin at once, and go on in the session there is."""
    server.on("GET", how)
    with took(below=3):
        client = await connected(at, server)
        for n in range(3):
            await echoes(at, client, n=n)
        await at.get(client.close())
    assert len(server.received("initialize")) == 1
    assert len(server.received("GET")) <= 4
    assert not server.sessions


@pytest.mark.parametrize("at", ["trio"], indirect=True)
@everywhere
async def test_a_server_that_is_silent_on_it(at, server):
    """Closing does not wait for it."""
    server.on("GET", lambda exchange: exchange.until_gone())
    with took(below=8):
        client = await connected(at, server)
        await echoes(at, client)
    with took(below=2):
        await at.get(client.close())


@across
async def test_a_stream_that_breaks_off_again_and_again(at, server):
    """It is taken up where it broke off, after the time the server names; each event comes once."""
    broken = []

    @server.on("GET")
    def get(exchange):
        last = exchange.request.first("last-event-id")
        broken.append(last)
        n = 0 if last is None else int(last) + 1
        exchange.stream()
        exchange.send(b"") if n else None
        exchange.chunk(b"retry: 20\n\n")
        exchange.event(note("notifications/message", n=n), id=str(n))
        if n < 5:
            exchange.close()
        else:
            with contextlib.suppress(Ended):
                exchange.wait("never")

    client = await connected(at, server, server_stream=self_())
    seen = []
    while len(seen) < 6:
        kind, method, params = await at.get(receive(timeout=5.0))
        assert (kind, method) == ("snodo_notification", "notifications/message")
        seen.append(params["n"])
    assert seen == list(range(6))
    assert broken == [None, *"01234"]
    await echoes(at, client)
    await at.get(client.close())
    server.open("never")


@across
async def test_a_server_that_wants_it_back_at_once(at, server):
    """And closes it each time: that is not done as fast as it goes."""
    server.on(
        "GET",
        lambda exchange: (exchange.stream(), exchange.chunk(b"retry: 0\n\n"), exchange.end()),
    )
    client = await connected(at, server)
    await at.sleep(0.6)
    assert 3 <= len(server.received("GET")) <= 10
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_a_new_session_has_a_new_stream(at, server):
    client = await connected(at, server)
    await at.until(lambda: len(server.streams) == 1)
    for _ in range(3):
        former = server.streams[0].request.first("mcp-session-id")
        server.sessions.clear()
        await echoes(at, client)
        await at.until(lambda: len(server.streams) == 1 and not server.streams[0].connection.gone())
        await at.until(
            lambda former=former: (
                [one.request.first("mcp-session-id") != former for one in server.streams] == [True]
            )
        )
    await at.get(client.close())
    await at.until(lambda: not server.streams)
    assert not server.sessions


@pytest.mark.parametrize("what", ["reader", "supervisor"])
@across
async def test_a_standing_stream_that_is_killed_is_opened_again(at, server, what):
    client = await connected(at, server)
    await at.until(lambda: len(server.streams) == 1)
    [reader] = await inside(at, client._connection, "streams")
    killed = reader if what == "reader" else await part(at, client._connection, "streams")
    supervisors.exit(killed, "kill")
    await at.until(lambda: len(server.received("GET")) == 2, within=4)
    await echoes(at, client)
    await at.get(client.close())
    await at.until(lambda: not server.streams)


@across
async def test_a_server_that_forgets_the_session_of_the_stream(at, server):
    """The GET is refused with 404: a call that comes later begins a session, with a stream."""
    client = await connected(at, server)
    await at.until(lambda: len(server.streams) == 1)
    server.sessions.clear()
    server.open("end of streams")  # it ends as a server's restart would end it
    await at.until(lambda: len(server.received("GET")) == 2, within=4)
    server.shut("end of streams")
    await echoes(at, client)
    await at.until(lambda: len(server.streams) == 1)
    await at.get(client.close())


@everywhere
async def test_its_events_make_stale_what_handles_by_name_keep(at, server):
    @server.on("tools/list")
    def listed(exchange):
        tools = [{"name": str(len(server.received("tools/list"))), "inputSchema": {}}]
        hints = {"ttlMs": 60_000, "cacheScope": "public"}
        id, result = exchange.request["id"], {"tools": tools, **hints}
        exchange.json({"jsonrpc": "2.0", "id": id, "result": result})

    tree = await tree_of(at, server.url, "kept", protocol=LEGACY, server_stream=self_())
    client = snodo.client("kept", cache=True, timeout=5.0)
    await at.until(lambda: server.streams)
    first, again = [await at.get(client.list_tools()) for _ in range(2)]
    assert first == again
    server.streams[0].event(note("notifications/tools/list_changed"))
    await at.get(receive(timeout=5.0))
    assert await at.get(client.list_tools()) != first
    await at.get(supervisors.stop(tree))
