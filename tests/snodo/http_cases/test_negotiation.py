"""Which version is spoken is settled with any server: old, new, slow, or in bad order."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, timed_out, took
from http_exchange import LAST_CHUNK, chunk, event
from http_outcomes import not_connected, refused, said_no
from http_server import discovered, error, initialized, result

import snodo_actors as snodo

OLDER = "2025-06-18"


def methods(server):
    return [request.rpc for request in server.requests]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("versions", "allowed", "settled"),
    [
        ([MODERN, LEGACY, OLDER], None, MODERN),
        ([MODERN], None, MODERN),
        ([LEGACY], None, LEGACY),
        ([OLDER], None, OLDER),
        ([LEGACY, OLDER], [MODERN, OLDER], OLDER),
        ([MODERN, LEGACY], LEGACY, LEGACY),
        ([MODERN, OLDER], [LEGACY, OLDER], OLDER),
        ([MODERN], MODERN, MODERN),
    ],
)
@across
async def test_the_newest_common_version(at, serve, *, versions, allowed, settled, streams):
    server = serve(versions=versions, streams=streams, sessions=True)
    client = await at.get(server.connect(protocol=allowed))
    assert client.protocol == settled
    await echoes(at, client)
    await at.get(client.close())
    assert server.sessions == set()


@everywhere
async def test_one_version_that_is_known_costs_no_question(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    assert server.connections == []
    await echoes(at, client)
    assert methods(server) == ["tools/call"]
    await at.get(client.close())


PROBES = {
    "400 with nothing": lambda e: e.respond(400),
    "400 with a page": lambda e: e.respond(400, b"<h1>Bad Request</h1>", kind="text/html"),
    "400 with an error": lambda e: e.json(error(None, -32600, "no session"), 400),
    "404": lambda e: e.respond(404, b"Not Found", kind="text/plain"),
    "405": lambda e: e.respond(405, b"", [("Allow", "GET")]),
    "406": lambda e: e.respond(406, b"no"),
    "415": lambda e: e.respond(415, b"no"),
    "422": lambda e: e.respond(422, b'{"detail":"no"}'),
    "method not found": lambda e: e.json(error(e.request["id"], -32601, "what?"), 200),
    "another error": lambda e: e.json(error(e.request["id"], -32000, "what?"), 200),
    "a result of another kind": lambda e: e.json(result(e.request["id"], {"ok": True})),
    "versions that are none": lambda e: e.json(
        result(e.request["id"], {**discovered([]), "supportedVersions": "all"})
    ),
    "nothing": lambda e: e.respond(200, b""),
    "202": lambda e: e.respond(202, kind=""),
    "not JSON": lambda e: e.respond(200, b"ok"),
    "an answer to another": lambda e: e.json(result(10**9, discovered([MODERN]))),
    "the end": lambda e: e.close(),
    "a reset": lambda e: e.reset(),
    "garbage": lambda e: (e.send(b"garbage\r\n\r\n"), e.close()),
    "an empty stream": lambda e: (e.stream(), e.end()),
    "an error in a stream": lambda e: (
        e.stream(),
        e.send(chunk(event(error(e.request["id"], -32601, "what?"))), LAST_CHUNK),
    ),
}  # fmt: skip


@pytest.mark.parametrize("probe", [*PROBES])
@across
async def test_a_server_that_does_not_understand_the_first_question(at, serve, probe):
    server = serve(versions=[LEGACY, OLDER], sessions=True)
    server.on("server/discover", PROBES[probe])
    with took(below=2):
        client = await at.get(server.connect(protocol=None))
    assert client.protocol == LEGACY
    assert methods(server)[:3] == ["server/discover", "initialize", "notifications/initialized"]
    await echoes(at, client)
    await at.get(client.close())
    assert server.sessions == set()


@across
async def test_a_first_question_without_an_answer(at, serve):
    server = serve(versions=[LEGACY])
    server.on("server/discover", lambda e: e.until_gone())
    with took(below=1.2, least=0.35):
        client = await at.get(server.connect(protocol=None, probe_timeout=0.4))
    assert client.protocol == LEGACY
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("status", [200, 400])
@across
async def test_a_server_that_lists_its_versions_in_a_refusal(at, serve, status):
    server = serve(versions=[OLDER])
    data = {"supported": [OLDER], "requested": MODERN}
    refusal = error(None, -32022, "Unsupported protocol version", data=data)
    server.on("server/discover", lambda e: e.json({**refusal, "id": e.request["id"]}, status))
    client = await at.get(server.connect(protocol=None))
    assert client.protocol == OLDER
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["result", "refusal"])
@across
async def test_no_common_version(at, serve, how):
    server = serve(versions=[MODERN])
    if how == "result":
        answer = {**discovered(["2099-01-01"]), "resultType": "complete"}
        server.on("server/discover", lambda e: e.json(result(e.request["id"], answer)))
    else:
        data = {"supported": ["2099-01-01"], "requested": MODERN}
        server.on(
            "server/discover",
            lambda e: e.json(error(e.request["id"], -32022, "no", data=data), 400),
        )
    failed = await at.error(server.connect(protocol=None))
    assert isinstance(failed, snodo.ProtocolError)
    assert failed.code == -32602
    assert failed.data["supported"] == ["2099-01-01"]
    assert methods(server) == ["server/discover"]


@across
async def test_nobody_is_there(at, server):
    server.stop()
    for protocol in (None, LEGACY):
        with took(below=1):
            not_connected(await at.error(server.connect(protocol=protocol)))
    server.start()


@pytest.mark.parametrize("how", ["page", "error", "silence"])
@across
async def test_neither_question_is_understood(at, serve, how):
    """The error is that of the second."""
    server = serve(versions=[LEGACY])
    answer = {
        "page": lambda e: e.respond(403, b"go away", kind="text/plain"),
        "error": lambda e: e.json(error(e.request["id"], -32603, "not today"), 500),
        "silence": lambda e: e.until_gone(),
    }[how]
    server.on("server/discover", answer)
    server.on("initialize", answer)
    with took(below=1.6):
        failed = await at.error(server.connect(protocol=None, timeout=0.4, probe_timeout=0.3))
    match how:
        case "page":
            refused(failed, 403, b"go away")
        case "error":
            said_no(failed, -32603, "not today")
        case "silence":
            timed_out(failed, 0.4)


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside"], indirect=True)
@everywhere
async def test_who_gives_up_while_it_connects_leaves_nothing(at, server):
    server.on("initialize", lambda e: e.wait("never"))
    opening = server.connect(timeout=20.0)
    await at.until(lambda: server.waiting("never"))
    await at.give_up(opening)
    await at.until(lambda: not server.open_connections(), within=2.0)


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@pytest.mark.parametrize("how", ["time", "giving up"])
@across
async def test_the_beginning_is_never_cancelled(at, server, how):
    server.on("initialize", lambda e: e.wait("never"))
    opening = server.connect(timeout=0.4 if how == "time" else 20.0)
    await at.until(lambda: server.waiting("never"))
    if how == "time":
        timed_out(await at.error(opening), 0.4)
    else:
        await at.give_up(opening)
    await at.until(lambda: not server.open_connections(), within=2.0)
    assert methods(server) == ["initialize"]


@across
async def test_what_the_handshake_says(at, server):
    client = await at.get(
        server.connect(
            client_info={"name": "me", "version": "7"},
            client_capabilities={"experimental": {"x": {}}},
            input_handlers={"roots": lambda _: {"roots": []}},
        )
    )
    (begin,) = server.received("initialize")
    assert begin.params == {
        "protocolVersion": LEGACY,
        "clientInfo": {"name": "me", "version": "7"},
        "capabilities": {"experimental": {"x": {}}, "roots": {"listChanged": False}},
    }
    assert client.session.server_info == {"name": "ours", "version": "0"}
    assert client.session.id is None
    await at.get(client.close())


@across
async def test_a_result_that_lacks_what_it_should_have(at, server):
    """A missing capability or name does not matter."""

    def begin(exchange):
        answer = initialized(LEGACY)
        del answer["serverInfo"], answer["capabilities"]
        exchange.json(result(exchange.request["id"], answer))

    server.on("initialize", begin)
    client = await at.get(server.connect())
    assert client.session.server_info == {}
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize(
    "url",
    ["", "http://", "ftp://a/b", "a b", "http:///mcp", "//a/b", "http://a:b/", "http://a:99999/", "ws://a"],
)  # fmt: skip
@across
async def test_what_is_no_url(at, url):
    failed = await at.error(snodo.connect(("http", url), protocol=MODERN))
    lost(failed, url)
    assert failed.delivery == "never_sent"


@across
async def test_hosts_of_all_kinds(at, serve):
    server = serve()
    for host in ("127.0.0.1", "localhost", "LOCALHOST"):
        url = f"http://{host}:{server.port}/mcp"
        client = await at.get(snodo.connect(("http", url), protocol=MODERN))
        await echoes(at, client)
        assert server.requests[-1].first("host").lower() == f"{host.lower()}:{server.port}"
        await at.get(client.close())
    failed = await at.error(
        snodo.connect(("http", "http://no-such-host.invalid/mcp"), protocol=LEGACY, timeout=10.0)
    )
    not_connected(failed)


@across
async def test_ipv6(at, serve):
    try:
        server = serve(host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    client = await at.get(server.connect(protocol=MODERN))
    await echoes(at, client)
    assert server.requests[0].first("host") == f"[::1]:{server.port}"
    await at.get(client.close())


@across
async def test_what_was_not_declared_is_asked_all_the_same(at, server):
    """The server answers for itself: many declare less than they have."""

    def begin(exchange):
        hello = initialized(LEGACY)
        exchange.json(result(exchange.request["id"], {**hello, "capabilities": {}}))

    server.on("initialize", begin)
    client = await at.get(server.connect())
    assert client.session.server_capabilities == {}
    await echoes(at, client)
    assert await at.get(client.list_tools()) == server.tools
    said_no(await at.error(client.list_prompts()), -32601)
    await at.get(client.close())
