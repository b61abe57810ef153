"""An HTTP connection in a supervision tree, whose server comes and goes."""

from __future__ import annotations

import socket

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, took
from http_server import HttpServer
from http_trees import tree_of

import snodo_actors as snodo
import supervisors


def unused_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize("protocol", [LEGACY, None])
@across
async def test_a_server_that_comes_later(at, protocol):
    """Who has time waits for it, who has none is told; nothing was sent."""
    port = unused_port()
    tree = await tree_of(at, f"http://127.0.0.1:{port}/mcp", "one", protocol=protocol)
    hasty = snodo.client("one", when_down="fail", timeout=10.0)
    with took(below=2):
        failed = await at.error(hasty.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "never_sent"
    client = snodo.client("one", timeout=10.0)
    calls = [client.call_tool("echo") for _ in range(20)]
    short = client.call_tool("echo", timeout=0.3)
    assert (await at.error(short)).delivery == "never_sent"
    server = HttpServer()
    server.start(port)
    try:
        assert not [one for one in await at.all(*calls) if isinstance(one, snodo.Error)]
        await echoes(at, hasty)
        assert tree.is_alive()
    finally:
        await at.get(supervisors.stop(tree))
        server.stop()


@pytest.mark.parametrize("sessions", [False, True])
@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_a_server_that_is_started_again_under_calls(at, serve, protocol, sessions):
    """Those under way fail, and say whether they may have run; those after it go on."""
    server = serve(sessions=sessions)
    server.on("tool hold", lambda exchange: exchange.wait("never"))
    tree = await tree_of(at, server.url, "two", protocol=protocol, pool_size=8)
    client = snodo.client("two", timeout=10.0)
    for _ in range(2):
        calls = [client.call_tool("hold") for _ in range(8)]
        await at.until(lambda: server.waiting("never") == 8)
        waits = [client.call_tool("echo") for _ in range(56)]
        with took(below=4):
            await at.in_thread(server.restart)
            for failed in await at.all(*calls):
                lost(failed)
                assert failed.delivery == "unknown"
            for outcome in await at.all(*waits):
                assert not isinstance(outcome, snodo.Error) or outcome.delivery == "never_sent"
            await echoes(at, client)
    await at.get(supervisors.stop(tree))


@pytest.mark.parametrize("resubscribe", [False, True])
@everywhere
async def test_a_subscription_and_a_server_that_is_started_again(at, server, resubscribe):
    """With `resubscribe` it goes on, and says so each time; without, it is over, once."""
    tree = await tree_of(at, server.url, "three", protocol=MODERN)
    client = snodo.client("three", timeout=10.0)
    stream = await at.get(client.listen({"toolsListChanged": True}, resubscribe=resubscribe))
    told, pushed = [], 0
    for n in range(2):
        await at.until(lambda: len(server.streams) == 1)
        if n and resubscribe:
            assert await at.get(stream.next(timeout=5.0)) == (
                "resubscribed",
                {"toolsListChanged": True},
            )
        for _ in range(3):
            server.push("notifications/tools/list_changed", n=pushed)
            pushed += 1
        for _ in range(3):
            kind, _, params = await at.get(stream.next(timeout=5.0))
            told.append((kind, params["n"]))
        if n == 0:
            await at.in_thread(server.restart)
            if not resubscribe:
                kind, error = await at.get(stream.next(timeout=5.0))
                assert kind == "closed"
                lost(error)
                await at.until(lambda: not stream.ref.is_alive())
                break
    assert told == [("notification", n) for n in range(pushed)]
    await at.get(stream.close())
    await echoes(at, client)
    await at.get(supervisors.stop(tree))


@across
async def test_the_end_of_the_tree_ends_streams_calls_and_the_session(at, serve):
    server = serve(sessions=True)
    server.on("tool hold", lambda exchange: exchange.wait("never"))
    tree = await tree_of(at, server.url, "four", pool_size=8)
    client = snodo.client("four", timeout=20.0)
    calls = [client.call_tool("hold") for _ in range(40)]
    await at.until(lambda: server.waiting("never") == 8)
    with took(below=3):
        await at.get(supervisors.stop(tree))
        for failed in await at.all(*calls):
            lost(failed, "closed")
    assert not server.sessions
    server.open("never")


@across
async def test_the_end_of_the_tree_ends_streams(at, server):
    tree = await tree_of(at, server.url, "five", protocol=MODERN)
    client = snodo.client("five", timeout=20.0)
    streams = [await at.get(client.listen({"toolsListChanged": True})) for _ in range(3)]
    with took(below=3):
        await at.get(supervisors.stop(tree))
        for stream in streams:
            kind, error = await at.get(stream.next(timeout=2.0))
            assert kind == "closed"
            lost(error)
    await at.until(lambda: not server.streams)


@across
async def test_a_stream_of_a_connection_that_is_down_fails_at_once_if_calls_do(at):
    tree = await tree_of(
        at,
        f"http://127.0.0.1:{unused_port()}/mcp",
        "six",
        restart_delay=supervisors.Backoff(initial=9.0, maximum=9.0),
    )
    await at.until(lambda: supervisors.whereis("six") is None)
    hasty = snodo.client("six", when_down="fail", timeout=10.0)
    with took(below=1):
        for opening in (hasty.call_tool("echo"), hasty.listen({"toolsListChanged": True})):
            failed = await at.error(opening)
            lost(failed, "down")
            assert failed.delivery == "never_sent"
    await at.get(supervisors.stop(tree))
