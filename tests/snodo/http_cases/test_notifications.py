"""What a caller tells the server: that the roots changed."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, across, echoes, everywhere, took
from case_servers import timed_out as ran_out
from http_outcomes import refused, said_no
from http_server import error
from http_trees import tree_of

import snodo_actors as snodo
import supervisors
from snodo_actors.actors import http_settling

CHANGED = "notifications/roots/list_changed"
CHANGING = {"roots": {"listChanged": True}}


@everywhere
async def test_the_server_is_told(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(client_capabilities=CHANGING))
    assert await at.get(client.roots_changed()) is None
    [told] = server.received(CHANGED)
    assert told.message == {"jsonrpc": "2.0", "method": CHANGED, "params": {}}
    assert told.first("mcp-session-id") == client.session.id
    assert told.first("mcp-protocol-version") == LEGACY
    assert told.first("accept") == "application/json, text/event-stream"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_server_may_refuse_to_hear_it(at, server):
    client = await at.get(server.connect(client_capabilities=CHANGING))
    server.once(
        CHANGED,
        lambda exchange: exchange.json(error(None, -32603, "not now"), status=400),
        lambda exchange: exchange.respond(503, b"later", kind="text/plain"),
    )
    said_no(await at.error(client.roots_changed()), -32603, "not now")
    refused(await at.error(client.roots_changed()), 503, b"later")
    assert await at.get(client.roots_changed()) is None
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_in_a_session_that_was_forgotten_it_is_told_again(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(client_capabilities=CHANGING))
    server.sessions.clear()
    assert await at.get(client.roots_changed()) is None
    assert [one.first("mcp-session-id") for one in server.received(CHANGED)] == [
        "session-1",
        "session-2",
    ]
    await at.get(client.close())


@across
async def test_what_is_not_accepted_in_time_is_not_cancelled(at, server):
    """There is no request to cancel, so the server is told nothing more."""
    server.on(CHANGED, lambda exchange: exchange.wait("never"))
    client = await at.get(server.connect(client_capabilities=CHANGING, pool_size=1))
    with took(below=1.5):
        ran_out(await at.error(client.roots_changed(timeout=0.3)), 0.3)
    await at.give_up(client.roots_changed())
    await echoes(at, client)
    await at.get(client.close())
    assert server.received("notifications/cancelled") == []


@across
async def test_a_cancellation_that_is_not_accepted_is_not_cancelled(at, server, monkeypatch):
    """It is told once that nobody waits for the call, and never that nobody waits for that."""
    monkeypatch.setattr(http_settling, "END_SESSION_TIMEOUT", 0.3)
    gone = []

    def hold(exchange):
        gone.append(exchange.until_gone())

    server.on("tool hold", lambda exchange: exchange.wait("never"))
    server.on("notifications/cancelled", hold)
    client = await at.get(server.connect())
    ran_out(await at.error(client.call_tool("hold", timeout=0.2)), 0.2)
    await at.until(lambda: gone)
    await echoes(at, client)
    await at.get(client.close())
    assert len(server.received("notifications/cancelled")) == 1


@across
async def test_a_handle_by_name_is_told_what_was_declared(at, server):
    """It is the connection that knows, so the refusal comes through the future."""
    tree = await tree_of(at, server.url, "silent")
    with pytest.raises(ValueError, match=r'client_capabilities={"roots"'):
        await at.get(snodo.client("silent").roots_changed())
    await at.get(supervisors.stop(tree))
    tree = await tree_of(at, server.url, "telling", client_capabilities=CHANGING)
    assert await at.get(snodo.client("telling").roots_changed()) is None
    assert len(server.received(CHANGED)) == 1
    await at.get(supervisors.stop(tree))
