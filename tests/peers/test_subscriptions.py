"""Streams of events, with the peers that have them."""

from __future__ import annotations

import pytest
from case_servers import PATIENCE, lost
from peers.kinds import FASTMCP, MODERN, PYTHON_ONE, WITH_STREAMS, named
from peers.kit import answers, both, closes

import snodo_actors as snodo

NOTE = "notes://today"
TOOLS, RESOURCES = "notifications/tools/list_changed", "notifications/resources/updated"


async def event(at, stream):
    return await at.get(stream.next(timeout=PATIENCE))


@pytest.mark.parametrize("peer", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_each_stream_gets_what_it_asked_for(at, peer):
    client = await at.get(peer.connect())
    tools = await at.get(client.listen({"toolsListChanged": True}))
    notes = await at.get(client.listen({"resourceSubscriptions": [NOTE]}))
    assert tools.accepted == {"toolsListChanged": True}
    assert notes.accepted == {"resourceSubscriptions": [NOTE]}

    await at.get(client.call_tool("change", {"uri": "notes://ann/one"}))
    await at.get(client.call_tool("change", {"uri": NOTE}))
    for _ in range(2):
        assert (await event(at, tools))[:2] == ("notification", TOOLS)
    kind, method, params = await event(at, notes)
    assert (kind, method, params["uri"]) == ("notification", RESOURCES, NOTE)

    await at.get(tools.close())
    await at.get(client.call_tool("change", {"uri": NOTE}))
    assert (await event(at, notes))[1] == RESOURCES
    await answers(at, peer, client)
    await closes(at, peer, client)
    kind, error = await event(at, notes)
    assert kind == "closed"
    lost(error, "closed")


@pytest.mark.parametrize(
    ("peer", "code"),
    [((PYTHON_ONE, MODERN), -32602), ((FASTMCP, MODERN), -32601)],
    ids=named,
    indirect=["peer"],
)
@both
async def test_a_server_without_streams_refuses_one(at, peer, code):
    """It is older than it was taken for, or has none."""
    client = await at.get(peer.connect())
    error = await at.error(client.listen({"toolsListChanged": True}))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.delivery) == (code, "answered")
    await closes(at, peer, client)
