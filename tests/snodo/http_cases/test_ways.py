"""The ways to a server: TLS, proxies, and transports of httpx."""

from __future__ import annotations

import contextlib
import json
import ssl

import httpx
import pytest
from byte_servers import ByteServer
from case_servers import MODERN, across, echoes, everywhere, lost, text_of
from certificates import Authority
from http_outcomes import not_connected
from proxy_servers import Proxying

import snodo_actors as snodo


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def at_https(server, **options):
    url = f"https://127.0.0.1:{server.port}/mcp"
    return snodo.connect(("http", url), timeout=5.0, **options)


@pytest.mark.parametrize("form", ["path", "mapping", "context"])
@across
async def test_tls(at, serve, authority, form):
    server = serve(tls=authority.server())
    given = {
        "path": authority.file,
        "mapping": {"cafile": authority.file},
        "context": ssl.create_default_context(cafile=authority.file),
    }
    client = await at.get(at_https(server, ssl=given[form], protocol=MODERN))
    for n in range(3):
        await echoes(at, client, n=n)
    stream = await at.get(client.listen({"toolsListChanged": True}))
    await at.until(lambda: server.push("notifications/tools/list_changed", n=1))
    assert (await at.get(stream.next(timeout=3.0)))[2]["n"] == 1
    await at.get(stream.close())
    await at.get(client.close())


@across
async def test_a_server_nobody_vouches_for(at, serve, authority):
    server = serve(tls=authority.server())
    client = await at.get(at_https(server, protocol=MODERN))
    failed = await at.error(client.call_tool("echo"))
    not_connected(failed)
    assert server.requests == []
    await at.get(client.close())


@everywhere
async def test_a_proxy(at, serve, authority):
    server, proxying = serve(tls=authority.server()), Proxying()
    with contextlib.closing(ByteServer(proxying)) as proxy:
        url = f"http://ann:s3cret@127.0.0.1:{proxy.port}"
        options = {"ssl": authority.file, "proxy": url, "protocol": MODERN}
        client = await at.get(at_https(server, **options))
        await echoes(at, client)
        await at.get(client.close())
    (asked,) = proxying.asked
    assert asked.startswith(b"CONNECT 127.0.0.1:%d " % server.port)
    assert server.requests[0].all("proxy-authorization") == []


# ---- transports of httpx


def answer(request):
    message = json.loads(request.content)
    said = {"content": [{"type": "text", "text": str(request.url)}], "resultType": "complete"}
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "result": said})


@everywhere
async def test_a_transport_of_ones_own(at):
    made = []

    def make():
        made.append(httpx.MockTransport(answer))
        return made[-1]

    url = "http://nowhere.test/mcp"
    client = await at.get(snodo.connect(("http", url), protocol=MODERN, transport=make))
    for _ in range(3):
        assert text_of(await at.get(client.call_tool("echo"))) == url
    assert len(made) == 1
    await at.get(client.close())


@across
async def test_a_transport_that_connects(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(transport=httpx.AsyncHTTPTransport))
    await echoes(at, client)
    await at.get(client.close())
    assert server.sessions == set()


@across
async def test_a_transport_that_fails(at):
    def fail(request):
        raise httpx.ReadError("gone")

    url = "http://nowhere.test/mcp"
    make = lambda: httpx.MockTransport(fail)  # noqa: E731  # as one would write it
    client = await at.get(snodo.connect(("http", url), protocol=MODERN, transport=make))
    failed = await at.error(client.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "unknown"
    await at.get(client.close())
