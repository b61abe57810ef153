"""Whatever of an HTTP connection is killed, calls end at once and the rest goes on whole."""

from __future__ import annotations

import socket

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, took
from http_exchange import JSON, STREAM, chunk, event, head
from http_server import note, result, text
from http_trees import connection_in, inside, part, tree_of

import snodo_actors as snodo
import supervisors


def wait(exchange):
    exchange.wait(exchange.request.arguments.get("gate", "held"))


def holds(exchange):
    wait(exchange)
    exchange.json(result(exchange.request["id"], text("held")))


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@everywhere
async def test_a_port_that_is_killed(at, server, protocol):
    """Its calls end, its connections are closed, and the next has the whole pool."""
    server.on("tool hold", holds)
    tree = await tree_of(at, server.url, "one", protocol=protocol, pool_size=4)
    client = snodo.client("one", timeout=20.0)
    for n in range(2):
        await at.all(*[client.call_tool("echo") for _ in range(4)])  # idle ones are there, too
        calls = [client.call_tool("hold") for _ in range(8 * n)]
        await at.until(lambda n=n: server.waiting("held") == 4 * n)
        with took(below=2):
            supervisors.exit(supervisors.whereis("one"), "kill")
            ended = await at.all(*calls)
            for failed in ended:
                lost(failed, supervisors.KILLED)
            assert [one.delivery for one in ended] == ["unknown"] * 4 * n + ["never_sent"] * 4 * n
            await echoes(at, client)
        if n == 0:
            await at.until(lambda: len(server.open_connections()) == 1)
    server.open("held")
    await at.until(lambda: len(server.open_connections()) == 1)
    results = await at.all(*[client.call_tool("echo") for _ in range(40)])
    assert not [one for one in results if isinstance(one, snodo.Error)]
    assert len(await inside(at, await connection_in(at, tree), "workers")) <= 4
    await at.get(supervisors.stop(tree))


@everywhere
async def test_a_port_of_nobodys_tree_that_is_killed(at, server):
    server.on("tool hold", holds)
    client = await at.get(server.connect(pool_size=2, timeout=20.0))
    calls = [client.call_tool("hold") for _ in range(4)]
    await at.until(lambda: server.waiting("held") == 2)
    with took(below=2):
        supervisors.exit(client._port, "kill")
        for failed in await at.all(*calls):
            lost(failed, supervisors.KILLED)
        await at.until(lambda: not client._connection.is_alive())
    server.open("held")


@across
async def test_a_port_that_is_killed_while_it_connects(at):
    """Who waits to be connected is told, and the tree tries again."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        tree = await tree_of(at, url, "two", timeout=20.0)
        client = snodo.client("two", timeout=1.0)
        call = client.call_tool("echo")
        opening = snodo.client("two", when_down="fail").call_tool("echo")
        await at.sleep(0.1)
        supervisors.exit(supervisors.whereis("two"), "kill")
        with took(below=2):
            lost(await at.error(opening), supervisors.KILLED)
            assert (await at.error(call)).delivery == "never_sent"
        await at.get(supervisors.stop(tree))


def begins(exchange):
    exchange.send(head(200, [("Content-Type", JSON), ("Content-Length", "100")]), b"{")
    wait(exchange)


def streams(exchange):
    kind = [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]
    exchange.send(head(200, kind), chunk(event(note(level="info", data="x"))))
    wait(exchange)


@pytest.mark.parametrize("how", [holds, begins, streams])
@everywhere
async def test_a_worker_that_is_killed(at, server, how):
    """Its call ends at once, and its place is free for who waits."""
    server.on("tool bug", how)
    client = await at.get(server.connect(pool_size=1, timeout=20.0))
    for gate in "abc":
        calls = [client.call_tool("bug", {"gate": gate})]
        await at.until(lambda gate=gate: server.waiting(gate) == 1)
        waits = client.call_tool("echo")
        with took(below=2):
            for worker in await inside(at, client._connection, "workers"):
                supervisors.exit(worker, "kill")
            [failed] = await at.all(*calls)
            lost(failed)
            assert failed.delivery == "unknown"
        outcome = await at.outcome(waits)
        assert how is streams or not isinstance(outcome, snodo.Error)  # else its worker was killed
        await at.outcome(client.call_tool("echo"))  # the port knows of the end
        server.open(gate)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_worker_that_is_killed_while_idle_or_connecting(at, server):
    client = await at.get(server.connect(pool_size=1))
    for _ in range(5):
        await echoes(at, client)
        for worker in await inside(at, client._connection, "workers"):
            supervisors.exit(worker, "kill")
        outcome = await at.outcome(client.call_tool("echo"))
        assert not isinstance(outcome, snodo.Error) or outcome.delivery == "never_sent"
    await at.get(client.close())


@pytest.mark.parametrize("id", ["workers", "streams"])
@everywhere
async def test_a_supervisor_that_is_killed(at, server, id):
    """Calls end or go on; within a moment all is as it was."""
    server.on("tool hold", holds)
    tree = await tree_of(at, server.url, "three", protocol=MODERN, pool_size=2)
    client = snodo.client("three", timeout=20.0)
    stream = await at.get(client.listen({"toolsListChanged": True}, resubscribe=True))
    for gate in "ab":
        calls = [client.call_tool("hold", {"gate": gate}) for _ in range(4)]
        await at.until(lambda gate=gate: server.waiting(gate) == 2)
        await at.until(lambda: len(server.streams) == 1)
        supervisors.exit(await part(at, await connection_in(at, tree), id), "kill")
        if id == "workers":
            with took(below=2):
                for failed in await at.all(*calls):
                    lost(failed)
                    assert failed.cause in (supervisors.KILLED, "down", "closed")
        with took(below=3):
            payload = await at.get(stream.next())
            assert payload == ("resubscribed", {"toolsListChanged": True})
        server.open(gate)
        if id == "streams":
            assert not [one for one in await at.all(*calls) if isinstance(one, snodo.Error)]
        await echoes(at, client)
        await at.until(lambda: len(server.streams) == 1)
    server.push("notifications/tools/list_changed")
    assert (await at.get(stream.next()))[1] == "notifications/tools/list_changed"
    await at.get(stream.close())
    await at.get(supervisors.stop(tree))


@everywhere
async def test_workers_supervisor_killed_where_nothing_is_started_again(at, server):
    """The connection ends as a whole: nothing of it stays behind."""
    client = await at.get(server.connect())
    await echoes(at, client)
    supervisors.exit(await part(at, client._connection, "workers"), "kill")
    await at.until(lambda: not client._connection.is_alive(), within=3)
    lost(await at.error(client.call_tool("echo")))


@everywhere
async def test_a_reader_that_is_killed(at, server):
    """The owner is told once, and the connection is none the worse."""
    client = await at.get(server.connect(protocol=MODERN))
    streams = [await at.get(client.listen({"toolsListChanged": True})) for _ in range(3)]
    for reader in await inside(at, client._connection, "streams"):
        supervisors.exit(reader, "kill")
    for stream in streams:
        kind, error = await at.get(stream.next(timeout=3.0))
        assert kind == "closed"
        lost(error)
    await at.until(lambda: not server.streams)
    await echoes(at, client)
    await at.get(client.close())
