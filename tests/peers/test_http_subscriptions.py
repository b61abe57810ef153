"""Over HTTP: streams of events, with the peers that have them."""

from __future__ import annotations

import pytest
from case_servers import PATIENCE, lost
from peers.http_kinds import FASTMCP, FASTMCP_JSON, PYTHON_ONE, WITH_STREAMS
from peers.http_kit import both, closes
from peers.kinds import MODERN, named
from peers.kit import answers

import snodo_actors as snodo

NOTE = "notes://today"
TOOLS, RESOURCES = "notifications/tools/list_changed", "notifications/resources/updated"


async def event(at, stream):
    return await at.get(stream.next(timeout=PATIENCE))


@pytest.mark.parametrize("fresh", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_each_stream_gets_what_it_asked_for(at, fresh):
    client = await at.get(fresh.connect())
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
    await answers(at, fresh, client)
    await closes(at, fresh, client)
    kind, error = await event(at, notes)
    assert kind == "closed"
    lost(error, "closed")


@pytest.mark.parametrize("fresh", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_a_stream_is_opened_again_at_a_server_that_was_started_again(at, fresh):
    client = await at.get(fresh.connect())
    wanted = {"toolsListChanged": True}
    stream = await at.get(client.listen(wanted, resubscribe=True))
    await at.in_thread(fresh.running.restart)
    assert await event(at, stream) == ("resubscribed", wanted)
    await at.get(client.call_tool("change", {"uri": NOTE}))
    assert (await event(at, stream))[:2] == ("notification", TOOLS)
    await at.get(stream.close())
    await at.get(client.close())


@pytest.mark.parametrize("web", [(PYTHON_ONE, MODERN)], ids=named, indirect=True)
@both
async def test_a_server_that_is_older_than_it_was_taken_for_refuses_a_stream(at, web):
    client = await at.get(web.connect())
    error = await at.error(client.listen({"toolsListChanged": True}))
    assert isinstance(error, snodo.Error)
    assert error.delivery == "answered"
    await closes(at, web, client)


@pytest.mark.parametrize(
    "web", [(FASTMCP, MODERN), (FASTMCP_JSON, MODERN)], ids=named, indirect=True
)
@both
async def test_a_server_without_streams_says_so(at, web):
    client = await at.get(web.connect())
    error = await at.error(client.listen({"toolsListChanged": True}))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.delivery) == (-32601, "answered")
    await answers(at, web, client)
    await closes(at, web, client)
