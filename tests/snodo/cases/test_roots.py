"""A server that is told over stdio that the roots changed, or cannot be told any more."""

from __future__ import annotations

import pytest
from case_servers import across, echoes, everywhere, lost

CHANGING = {"roots": {"listChanged": True}}


@pytest.fixture
def exits(server_of):
    return server_of("exits")


@everywhere
async def test_it_is_sent_in_the_order_of_the_calls(at, exits):
    client = await at.get(exits.connect(client_capabilities=CHANGING))
    call = client.call_tool("echo", {"before": 1})
    assert await at.get(client.roots_changed()) is None
    await at.get(call)
    await echoes(at, client)
    await at.get(client.close())
    told = [fact["method"] for fact in exits.facts("recv")]
    assert told[-3:] == ["tools/call", "notifications/roots/list_changed", "tools/call"]


@across
async def test_after_the_end_it_fails(at, exits):
    client = await at.get(exits.connect(client_capabilities=CHANGING))
    lost(await at.error(client.call_tool("status", {"status": 3})), ("exit_status", 3))
    failed = await at.error(client.roots_changed())
    lost(failed, ("exit_status", 3))
    assert failed.delivery == "never_sent"
    await at.get(client.close())
    failed = await at.error(client.roots_changed())
    lost(failed)
    assert failed.delivery == "never_sent"
