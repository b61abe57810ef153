"""Results of servers over stdio: kept for those who use the same connection, while it lasts."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, everywhere

import snodo_actors as snodo
import supervisors
from supervisors import Supervisor

ALL = {"toolsListChanged": True, "promptsListChanged": True}
QUICKLY = supervisors.Backoff(initial=0.02, maximum=0.2)


@pytest.fixture
def server(server_of):
    return server_of("caching")


def connect(server, **options):
    return server.connect(**{"protocol": MODERN, "cache": True, **options})


def asked(server, method="tools/list"):
    return len(server.received(method))


async def name(at, client, **options):
    """What the tools are called now."""
    [tool] = await at.get(client.list_tools(**options))
    return tool["name"]


@everywhere
async def test_a_result_is_sent_for_once(at, server):
    client = await at.get(connect(server))
    assert len({await name(at, client) for _ in range(3)}) == 1
    for _ in range(2):
        assert (await at.get(client.read_resource("x:")))["contents"] == []
    assert (asked(server), asked(server, "resources/read")) == (1, 1)
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [MODERN, LEGACY])
@across
async def test_the_hints_count_in_each_version(at, server, protocol):
    client = await at.get(connect(server, protocol=protocol))
    await name(at, client)
    await name(at, client)
    assert asked(server) == 1
    await at.get(client.close())


@across
async def test_without_the_option_nothing_is_kept(at, server):
    client = await at.get(connect(server, cache=False))
    await name(at, client)
    await name(at, client)
    assert asked(server) == 2
    await at.get(client.close())


@across
async def test_a_call_that_bypasses_neither_looks_nor_keeps(at, server):
    client = await at.get(connect(server))
    await name(at, client, bypass_cache=True)
    await name(at, client)
    assert asked(server) == 2
    await name(at, client, bypass_cache=True)
    await name(at, client)
    assert asked(server) == 3
    await at.get(client.close())


@across
async def test_what_is_private_is_not_kept(at, server):
    """Nobody here knows who it is that the server answers."""
    client = await at.get(connect(server, env={"CASE_SCOPE": "private"}))
    await name(at, client)
    await name(at, client)
    assert asked(server) == 2
    await at.get(client.close())


@across
async def test_a_failure_is_not_kept(at, server):
    client = await at.get(connect(server))
    for _ in range(2):
        error = await at.error(client.read_resource("y:"))
        assert error.code == -32602
    assert asked(server, "resources/read") == 2
    await at.get(client.close())


@across
async def test_two_connections_share_nothing(at, server):
    one, other = await at.get(connect(server)), await at.get(connect(server))
    for _ in range(2):
        assert await name(at, one) != await name(at, other)
    assert asked(server) == 2
    await at.get(one.close())
    await at.get(other.close())


@everywhere
async def test_whoever_has_an_answer_behind_an_event_finds_nothing_older(at, server):
    client = await at.get(connect(server))
    stream = await at.get(client.listen(ALL))
    for changes in range(20):
        assert (await name(at, client)).endswith(f"-{changes}")
        await at.get(client.call_tool("change"))
    assert asked(server) == 20
    await at.get(stream.close())
    await at.get(client.close())


@everywhere
async def test_it_is_gone_when_the_owner_hears_of_it(at, server):
    client = await at.get(connect(server))
    stream = await at.get(client.listen(ALL))
    first = await name(at, client)
    change = client.call_tool("change")
    assert (await at.get(stream.next(timeout=5.0)))[0] == "notification"
    assert await name(at, client) != first
    await at.get(change)
    await at.get(stream.close())
    await at.get(client.close())


@across
async def test_without_a_stream_a_result_is_kept_for_its_time(at, server, clock):
    client = await at.get(connect(server))
    first = await name(at, client)
    await at.get(client.call_tool("change"))
    assert await name(at, client) == first
    clock.now += 60.0
    assert await name(at, client) != first
    await at.get(client.close())


@across
async def test_what_was_under_way_when_something_changed_is_not_kept(at, server):
    client = await at.get(connect(server, env={"CASE_RACE": "1"}))
    stream = await at.get(client.listen(ALL))
    for sent in (1, 2, 2):
        await name(at, client)
        assert asked(server) == sent
    await at.get(stream.close())
    await at.get(client.close())


@across
async def test_a_closed_client_answers_nothing_from_what_was_kept(at, server):
    client = await at.get(connect(server))
    await name(at, client)
    await at.get(client.close())
    error = await at.error(client.list_tools())
    assert (error.cause, error.delivery) == ("closed", "never_sent")


@everywhere
async def test_handles_by_name_share_until_the_server_is_started_again(at, server):
    child = snodo.child_spec(
        "kept",
        server.target,
        protocol=MODERN,
        restart_delay=QUICKLY,
        env={"CASE_LOG": str(server.log)},
    )
    tree = await at.get(Supervisor.start_link([child], max_restarts=3, max_seconds=60.0))
    one, other = (snodo.client("kept", cache=True, timeout=10.0) for _ in range(2))
    plain = snodo.client("kept", timeout=10.0)

    first = await name(at, one)
    assert await name(at, other) == await name(at, one) == first
    assert asked(server) == 1
    assert await name(at, plain) == first
    assert asked(server) == 2

    await at.error(plain.call_tool("leave"))
    second = await name(at, one)
    assert second != first
    sent = asked(server)
    names = {await name(at, client) for client in (one, other, one, other)}
    assert names == {second}
    assert asked(server) - sent <= 1, "a call that waited for the connection was not kept"
    await at.get(supervisors.stop(tree))


@across
async def test_a_stream_by_name_tells_of_stale_results(at, server):
    child = snodo.child_spec(
        "kept", server.target, protocol=MODERN, env={"CASE_LOG": str(server.log)}
    )
    tree = await at.get(Supervisor.start_link([child], max_restarts=3, max_seconds=60.0))
    client = snodo.client("kept", cache=True, timeout=10.0)
    stream = await at.get(client.listen(ALL))
    first = await name(at, client)
    await at.get(client.call_tool("change"))
    assert await name(at, client) != first
    await at.get(stream.close())
    await at.get(supervisors.stop(tree))
