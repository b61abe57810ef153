"""Streams of GET in older versions: the standing one, and the rest of one that broke off."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, took
from http_exchange import STREAM
from http_server import error, note

import supervisors

CHANGED = "notifications/tools/list_changed"


def is_told(message):
    return isinstance(message, tuple) and message[0] == "snodo_notification"


# ---- the standing stream


@everywhere
async def test_what_the_server_tells_goes_to_whom_it_should(at, serve):
    server = serve(sessions=True, get_stream=True)
    me = supervisors.self_()
    client = await at.get(server.connect(server_stream=me, headers=[("x-own", "1")]))
    await at.until(lambda: server.streams)
    (opened,) = server.received("GET")
    assert opened.all("accept") == [STREAM]
    assert opened.all("mcp-session-id") == ["session-1"]
    assert opened.all("mcp-protocol-version") == [LEGACY]
    assert opened.all("last-event-id") == []
    assert opened.all("x-own") == ["1"]
    server.push(CHANGED, n=1)
    told = await at.get(supervisors.receive(is_told, timeout=3.0))
    assert told == ("snodo_notification", CHANGED, {"n": 1})
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_what_the_server_asks_is_answered_in_the_session(at, serve):
    server, asked = serve(sessions=True, get_stream=True), []
    params = {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}}

    def form(question):
        asked.append(question)
        return {"action": "decline"}

    client = await at.get(server.connect(server_stream=True, input_handlers={"form": form}))
    (stream,) = await at.until(lambda: server.streams)
    stream.event({**note("elicitation/create", **params), "id": "q"})
    (reply,) = await at.until(lambda: [one for one in server.requests if one.is_reply])
    assert (reply["id"], reply["result"]) == ("q", {"action": "decline"})
    assert reply.first("mcp-session-id") == "session-1"
    assert asked == [params]
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_stream_that_ends_is_opened_again_when_the_server_says(at, serve):
    server = serve(sessions=True, get_stream=True)

    def once(exchange):
        exchange.stream()
        exchange.chunk(b"retry: 300\n\n")
        exchange.event(note(CHANGED, n=1), id="e-1")
        exchange.end()

    server.once("GET", once)
    client = await at.get(server.connect(server_stream=supervisors.self_()))
    for n in (1, 2):
        told = await at.get(supervisors.receive(is_told, timeout=5.0))
        assert told[2] == {"n": n}
        if n == 1:
            await at.until(lambda: server.streams)
            server.push(CHANGED, n=2)
    first, second = server.received("GET")
    assert second.first("last-event-id") == "e-1"
    assert 0.29 < second.at - first.at < 2.0
    await at.get(client.close())


@pytest.mark.parametrize("status", [404, 405])
@across
async def test_a_server_without_one_is_not_asked_again(at, serve, status):
    server = serve(sessions=True)
    server.on("GET", lambda e: e.respond(status, kind=""))
    with took(below=2):
        client = await at.get(server.connect(server_stream=True))
        await echoes(at, client)
    await at.sleep(0.2)
    assert len(server.received("GET")) == 1
    await at.get(client.close())


@pytest.mark.parametrize(("protocol", "wanted"), [(LEGACY, False), (MODERN, True)])
@across
async def test_it_is_opened_only_where_it_is_wanted_and_known(at, serve, protocol, wanted):
    server = serve(get_stream=True)
    client = await at.get(server.connect(protocol=protocol, server_stream=wanted))
    await echoes(at, client)
    await at.sleep(0.1)
    assert server.received("GET") == []
    await at.get(client.close())


# ---- an answer that broke off


@across
async def test_the_rest_of_an_answer_comes_when_the_server_says(at, serve):
    server = serve(sessions=True)
    server.breaks_off(retry=300)
    client = await at.get(server.connect())
    with took(below=2, least=0.29):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    (again,) = server.received("GET")
    assert again.all("accept") == [STREAM]
    assert again.all("last-event-id") == ["e-7"]
    assert again.first("mcp-session-id") == "session-1"
    assert len(server.received("tool bug")) == 1, "it is not sent again"
    await at.get(client.close())


REFUSALS = {
    "an error": lambda exchange: exchange.json(error(None, -32000, "no such session"), 400),
    "no message": lambda exchange: exchange.respond(404, kind=""),
    "nothing": lambda exchange: exchange.end(),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
@across
async def test_a_call_whose_rest_is_refused_may_have_run(at, serve, refusal):
    """What is refused is to hear of it."""
    server = serve(sessions=True)

    def bug(exchange):
        exchange.stream()
        exchange.chunk(b"retry: 10\n\n")
        exchange.event(note(level="info", data="x"), id="e-7")
        exchange.end()

    server.on("tool bug", bug)
    server.on("GET", refusal)
    client = await at.get(server.connect())
    failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert failed.delivery == "unknown"
    assert server.received("GET")
    await echoes(at, client)
    await at.get(client.close())
