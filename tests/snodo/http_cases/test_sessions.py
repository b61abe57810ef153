"""A session begins with initialize, ends with DELETE, and is begun anew where it was forgotten."""

from __future__ import annotations

import pytest
from case_servers import (
    LEGACY,
    MODERN,
    across,
    echoes,
    everywhere,
    lost,
    program,
    said,
    text_of,
    timed_out,
    took,
)
from http_exchange import encode
from http_outcomes import refused, said_no
from http_server import error, initialized, result, text

import snodo_actors as snodo
import supervisors

OLDER = "2025-06-18"


@pytest.mark.parametrize("mode", ["405", "404", "500", "401", "rst", "hang", "drip"])
@everywhere
async def test_the_end_of_a_session(at, case, mode):
    server = case("B-048", CASE_DELETE=mode)
    client = await at.get(server.connect(timeout=1.0))
    await echoes(at, client)
    with took(below=1.4 if mode in ("hang", "drip") else 0.5):
        await at.get(client.close())
    with took(below=0.1):
        await at.get(client.close())
    (delete,) = server.facts("delete")
    assert (delete["sid"], delete["version"]) == ("s-48", LEGACY)


@across
async def test_the_end_of_a_session_takes_five_seconds_at_most(at, case):
    server = case("B-048", CASE_DELETE="hang")
    client = await at.get(server.connect(timeout=60.0))
    with took(below=5.6, least=4.5):
        await at.get(client.close())
    await at.until(lambda: server.facts("gone"), within=1)


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_without_a_session_there_is_nothing_to_end(at, case, protocol):
    env = {"CASE_NOSESSION": "1"} if protocol == LEGACY else {"CASE_ERA": "both"}
    server = case("B-048", **env)
    client = await at.get(server.connect(protocol=protocol))
    await echoes(at, client)
    await at.get(client.close())
    assert server.facts("delete") == []


@pytest.mark.parametrize("protocol", [LEGACY, OLDER])
@across
async def test_everything_is_said_in_the_session(at, serve, protocol):
    server = serve(sessions=True)
    client = await at.get(server.connect(protocol=protocol))
    assert client.session.id == "session-1"
    await echoes(at, client)
    await at.get(client.list_tools())
    await at.get(client.ping())
    await at.get(client.close())
    first, *others = server.requests
    assert first.rpc == "initialize"
    assert {other.first("mcp-session-id") for other in others} == {"session-1"}
    assert {other.first("mcp-protocol-version") for other in others} == {protocol}
    assert others[-1].method == "DELETE"
    assert others[-1].body == b""
    assert server.sessions == set()


@pytest.mark.parametrize("id", ["", "a", "~!@#$%^&*()", "x" * 4000])
@across
async def test_any_session_id_goes_back_as_it_came(at, server, id):
    def begin(exchange):
        answer = result(exchange.request["id"], initialized(LEGACY))
        exchange.json(answer, fields=[("Mcp-Session-Id", id)])

    def other(exchange):
        exchange.respond(202, kind="")

    server.on("initialize", begin)
    server.on("notifications/initialized", other)
    server.on("tools/call", lambda e: e.json(server.message(e.request)))
    server.on("DELETE", other)
    client = await at.get(server.connect())
    await echoes(at, client)
    await at.get(client.close())
    wanted = id or None
    assert {one.first("mcp-session-id") for one in server.requests[1:]} == {wanted}
    assert len(server.received("DELETE")) == (wanted is not None)


@across
async def test_a_session_id_in_a_stream(at, serve):
    server = serve(sessions=True, streams=True)
    client = await at.get(server.connect(pool_size=1))
    for n in range(3):
        await echoes(at, client, n=n)
    await at.get(client.close())
    assert server.sessions == set()


# ---- sessions the server has forgotten


@everywhere
async def test_a_session_that_was_forgotten_is_begun_anew(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(pool_size=1))
    for n in range(3):
        await echoes(at, client, n=n)
        server.sessions.clear()
    await echoes(at, client, n=3)
    await at.get(client.close())
    begins = server.received("initialize")
    assert len(begins) == 4
    assert [begin.first("mcp-session-id") for begin in begins] == [None] * 4
    assert len(server.received("notifications/initialized")) == 4
    echoed = [request.first("mcp-session-id") for request in server.received("tool echo")]
    assert echoed == [f"session-{n}" for n in (1, 1, 2, 2, 3, 3, 4)]
    assert server.sessions == set()
    assert len(server.received("DELETE")) == 1


@across
async def test_many_calls_begin_one_new_session(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(pool_size=8))
    await echoes(at, client)
    server.sessions.clear()
    with took(below=3):
        answers = await at.all(*(client.call_tool("echo", {"n": n}) for n in range(30)))
    assert [text_of(answer) for answer in answers] == [said(n=n) for n in range(30)]
    assert len(server.received("initialize")) == 2
    await at.get(client.close())
    assert server.sessions == set()


@across
async def test_a_server_that_was_started_anew(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(pool_size=2))
    await at.all(*(client.call_tool("echo", {"n": n}) for n in range(4)))
    server.restart()
    await at.sleep(0.02)
    for n in range(3):
        await echoes(at, client, n=n)
    assert len(server.received("initialize")) == 2
    await at.get(client.close())
    assert server.sessions == set()


@across
async def test_a_server_that_forgets_every_session(at, serve):
    """The call is sent twice at most, and fails."""
    server = serve(sessions=True)
    client = await at.get(server.connect(pool_size=1))
    server.on("tool bug", lambda e: e.json(error(None, -32001, "Session not found"), 404))
    with took(below=2):
        failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert failed.cause[:2] == ("http_status", 404)
    assert len(server.received("tool bug")) == 2
    assert len(server.received("initialize")) == 2
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_new_session_that_is_refused(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(pool_size=2))
    await echoes(at, client)
    server.sessions.clear()
    server.once("initialize", *[lambda e: e.respond(503, b"later")] * 2)
    with took(below=2):
        errors = await at.all(*(client.call_tool("echo") for _ in range(2)))
    assert any(isinstance(one, Exception) for one in errors)
    for one in errors:
        if isinstance(one, Exception):
            lost(one)
    server._once.clear()
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_new_session_that_does_not_come_in_time(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect(pool_size=2))
    await echoes(at, client)
    server.sessions.clear()
    server.once("initialize", lambda e: e.until_gone())
    with took(below=1.5):
        failed = await at.error(client.call_tool("echo", timeout=0.4))
    assert isinstance(failed, snodo.TransportError)
    with took(below=6):
        await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_404_that_is_no_end_of_a_session(at, serve):
    """With a session, only a 404 that says nothing else; without one, none."""
    server = serve()
    client = await at.get(server.connect(pool_size=1))
    server.once("tool bug", lambda e: e.respond(404, b"no such page", kind="text/plain"))
    refused(await at.error(client.call_tool("bug")), 404, b"no such page")
    said_no(await at.error(client.request("completion/complete", {})), -32601)
    assert len(server.received("initialize")) == 1
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_session_that_is_forgotten_at_the_end(at, serve):
    server = serve(sessions=True)
    client = await at.get(server.connect())
    await echoes(at, client)
    server.sessions.clear()
    server.on("DELETE", lambda e: e.respond(404))
    with took(below=1):
        await at.get(client.close())
    assert len(server.received("initialize")) == 1
    assert len(server.received("DELETE")) == 1


# ---- beginnings that fail


BEGINNINGS = {
    "error": lambda e: e.json(error(e.request["id"], -32603, "not now"), 400),
    "page": lambda e: e.respond(500, b"<p>no</p>"),
    "401": lambda e: e.respond(401, b"who?"),
    "202": lambda e: e.respond(202, kind=""),
    "end": lambda e: e.close(),
    "time": lambda e: e.until_gone(),
}


@pytest.mark.parametrize("how", [*BEGINNINGS])
@across
async def test_a_session_that_cannot_be_begun(at, serve, how):
    server = serve(sessions=True)
    server.on("initialize", BEGINNINGS[how])
    with took(below=1.5):
        failed = await at.error(server.connect(timeout=0.5))
    match how:
        case "error":
            said_no(failed, -32603, "not now")
        case "end":
            lost(failed)
        case "time":
            timed_out(failed, 0.5)
        case _:
            lost(failed)
            assert failed.cause[0] == "http_status"
    assert server.received("DELETE") == []


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("json", [True, False])
@across
async def test_a_beginning_that_is_not_acknowledged(at, serve, status, json):
    """The session was begun, so it is ended."""
    server = serve(sessions=True)

    def refuse(exchange):
        if json:
            exchange.json(error(None, -32602, "not so"), status)
        else:
            exchange.respond(status, b"not so", kind="text/plain")

    server.on("notifications/initialized", refuse)
    with took(below=1.5):
        failed = await at.error(server.connect(timeout=2.0))
    if json:
        assert (failed.code, failed.message) == (-32602, "not so")
    else:
        refused(failed, status, b"not so")
    await at.until(lambda: server.received("DELETE"), within=1.0)
    assert server.sessions == set()


@pytest.mark.parametrize("version", ["2024-11-05", "9999-01-01", "", None, 5, MODERN])
@across
async def test_a_version_that_was_not_asked_for(at, server, version):
    def begin(exchange):
        answer = initialized(version)
        if version is None:
            del answer["protocolVersion"]
        exchange.json(result(exchange.request["id"], answer), fields=[("Mcp-Session-Id", "s")])

    server.on("initialize", begin)
    with took(below=1):
        failed = await at.error(server.connect())
    if isinstance(version, str):
        assert isinstance(failed, snodo.ProtocolError)
        assert failed.code == -32602
        assert failed.data["negotiated"] == version
    else:
        lost(failed)
    assert [request.rpc for request in server.requests] == ["initialize"]


# ---- owners and programs


@everywhere
async def test_a_client_that_nobody_closed_is_closed_with_its_owner(at, serve):
    server, box = serve(sessions=True), []

    async def own():
        box.append(await server.connect())
        await supervisors.receive("go".__eq__)

    ref = supervisors.spawn(own)
    client = (await at.until(lambda: box))[0]
    await echoes(at, client)
    supervisors.exit(ref, "kill")
    await at.until(lambda: not server.open_connections(), within=3.0)
    failed = await at.error(client.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "never_sent"


ENDS = """
import sys
import snodo_actors as snodo
client = snodo.connect(("http", sys.argv[1]), protocol="2025-11-25").get()
client.call_tool("echo").get()
waiting = client.call_tool("bug", timeout=60.0) if sys.argv[2] == "busy" else None
print(1)
"""


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_program_ends_though_nobody_closed_the_client(serve, how):
    server = serve(sessions=True)
    server.on("tool bug", lambda e: e.until_gone())
    with took(below=8):
        assert program(ENDS, server.url, how, timeout=20) == 1
    assert not server.open_connections()


@across
async def test_a_body_that_looks_like_a_session(at, serve):
    """Session ids are those of `initialize`; what later answers say is not one."""
    server = serve(sessions=True)

    def bug(exchange):
        own = encode(result(exchange.request["id"], text("own")))
        exchange.respond(200, own, [("Mcp-Session-Id", "stolen")])

    server.on("tool bug", bug)
    client = await at.get(server.connect())
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())
    assert "stolen" not in {request.first("mcp-session-id") for request in server.requests}


@across
async def test_no_session_id_is_shown(at, server):
    """Neither in what a client or its session looks like, nor in an error."""

    def begin(exchange):
        answer = result(exchange.request["id"], initialized(LEGACY))
        exchange.json(answer, fields=[("Mcp-Session-Id", "s3cret")])

    server.on("initialize", begin)
    server.on("notifications/initialized", lambda e: e.respond(202, kind=""))
    server.on("tools/call", lambda e: e.respond(500, b"no", kind="text/plain"))
    server.on("DELETE", lambda e: e.respond(204, kind=""))
    client = await at.get(server.connect())
    failed = await at.error(client.call_tool("echo"))
    assert server.received("tools/call")[0].first("mcp-session-id") == "s3cret"
    tree = str(await at.get(supervisors.tree()))
    assert "Connection" in tree
    for shown in (repr(client), repr(client.session), str(failed), repr(failed), tree):
        assert "s3cret" not in shown
    await at.get(client.close())
