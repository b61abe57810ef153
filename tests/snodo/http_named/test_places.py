"""One client, used from loops and threads that are not its own; and servers that are none."""

from __future__ import annotations

import asyncio
import socket
import threading

import anyio
import pytest
import trio
from case_servers import LEGACY, MODERN, across, everywhere, lost, said, text_of, took
from http_server import HttpServer

import snodo_actors as snodo
import supervisors


@pytest.fixture(scope="module", autouse=True)
def _default_node():
    """Let the default node start what it starts with its first connection, and keeps."""
    owner = supervisors.default_node()
    with HttpServer() as server:
        server.connect(owner=owner).get(timeout=10).close().get(timeout=10)


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_one_client_of_the_default_node_in_four_places_at_once(server, protocol):
    """Two hundred calls from two loops of other programs and from plain threads, mixed."""
    client = server.connect(protocol=protocol, pool_size=6, owner=supervisors.default_node()).get()
    results = []

    async def awaits(base):
        calls = [client.call_tool("echo", {"n": base + n}) for n in range(50)]
        for n, call in enumerate(calls):
            results.append(text_of(await call) == said(n=base + n))

    async def in_trio():
        with trio.fail_after(20):
            await awaits(0)

    def blocks(base):
        calls = [client.call_tool("echo", {"n": base + n}) for n in range(50)]
        results.extend(
            text_of(call.get(timeout=20)) == said(n=base + n) for n, call in enumerate(calls)
        )

    threads = [
        threading.Thread(target=function, args=arguments)
        for function, arguments in [
            (trio.run, (in_trio,)),
            (lambda: asyncio.run(awaits(100)), ()),
            (blocks, (200,)),
            (blocks, (300,)),
        ]
    ]
    with took(below=15):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert results == [True] * 200
    assert asyncio.run(anyio_close(client)) is None
    assert supervisors.default_node().running


async def anyio_close(client):
    with anyio.fail_after(5):
        return await client.close()


# ---- servers that are none


@across
async def test_a_hundred_connects_to_a_port_nobody_listens_on(at):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/mcp"
        with took(below=5):
            opening = [snodo.connect(("http", url), timeout=4.0) for _ in range(100)]
            for failed in await at.all(*opening):
                lost(failed)
                assert failed.cause[0] == "failed_connect"
                assert failed.delivery == "never_sent"


@pytest.mark.parametrize("options", [{"protocol": LEGACY}, {"probe_timeout": 0.2}])
@across
async def test_servers_that_say_nothing(at, options):
    """Twenty at a time: each has its time, and none of them holds up another."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with took(below=3):
            opening = [snodo.connect(("http", url), timeout=0.3, **options) for _ in range(20)]
            for failed in await at.all(*opening):
                assert isinstance(failed, snodo.RequestTimeout), repr(failed)


@everywhere
async def test_a_host_that_is_not_there(at):
    with took(below=5):
        failed = await at.error(snodo.connect(("http", "http://nowhere.invalid/mcp"), timeout=4.0))
    lost(failed)
    assert failed.delivery == "never_sent"
    assert "nowhere.invalid" in str(failed)


@pytest.mark.parametrize(
    "url",
    ["", "mcp", "ftp://host/", "http://", "http://[::1", "http://host:99999/", "http://a b/"],
)
def test_urls_that_are_none(url):
    """Whatever is wrong is said where it is given, or by the future."""
    with pytest.raises((ValueError, snodo.Error)) as told:
        snodo.connect(("http", url)).get(timeout=5)
    assert "url" in str(told.value).lower()


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_node_that_is_stopped_ends_every_call(serve, backend, protocol):
    """Under way, in the queue, while connecting, by name: whoever waits is told."""
    server = serve(sessions=True)
    server.on("tool hold", lambda exchange: exchange.wait("never"))
    node = supervisors.Node(backend=backend)
    with node:
        client = server.connect(protocol=protocol, pool_size=4, timeout=30.0).get(timeout=5)
        calls = [client.call_tool("hold") for _ in range(20)]
        calls += [client.list_tools(), client.call_tool("hold", progress=print)]
        calls.append(snodo.client("nobody", timeout=30.0).call_tool("echo"))
        while server.waiting("never") < 4:
            threading.Event().wait(0.01)
        server.on("initialize", lambda exchange: exchange.wait("never"))
        opening = server.connect(timeout=30.0)
        while server.waiting("never") < 5:
            threading.Event().wait(0.01)
    with took(below=3):
        for call in [*calls, opening]:
            with pytest.raises(snodo.Error):
                call.get(timeout=3)
    server.open("never")
    server.sessions.clear()
