"""What a server answers is that call's answer, or an error at once: whole, and nobody else's."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, echoes, lost, said, text_of, timed_out, took
from http_exchange import STREAM, chunk, encode, event, head
from http_outcomes import said_no
from http_server import error, note, result, text

import snodo_actors as snodo

OTHERS = {
    "zero": lambda own: 0,
    "the next": lambda own: own + 1,
    "the one before": lambda own: own - 1,
    "true": lambda own: True,
    "a fraction": lambda own: own + 0.5,
    "a list": lambda own: [own],
    "an object": lambda own: {"id": own},
    "negative": lambda own: -own,
    "very long": lambda own: int("9" * 40),
}
ALIKE = {
    "a string": str,
    "a float": float,
    "null": lambda own: None,
}


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("which", [*OTHERS, *ALIKE])
@across
async def test_a_body_with_the_answer_to_another(at, server, which, protocol):
    """It is the only answer there will be, so the call fails at once."""

    def script(exchange):
        other = (OTHERS | ALIKE)[which](exchange.request["id"])
        exchange.json(result(other, text("not yours")))

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=protocol, pool_size=1))
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug"))
    if which in OTHERS or isinstance(outcome, Exception):
        lost(outcome)
        assert outcome.delivery == "answered"
    else:
        assert text_of(outcome) == "not yours"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("which", [*OTHERS, *ALIKE])
@across
async def test_an_event_with_the_answer_to_another(at, server, which):
    """The right one may still come; this one is nobody's."""

    def script(exchange):
        exchange.stream()
        other = (OTHERS | ALIKE)[which](exchange.request["id"])
        exchange.event(result(other, text("not yours")))
        exchange.wait("go")
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.end()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    call = client.call_tool("bug")
    await at.until(lambda: server.waiting("go"))
    await echoes(at, client)
    server.open("go")
    outcome = await at.outcome(call)
    assert text_of(outcome) in (("own",) if which in OTHERS else ("own", "not yours"))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_answers_that_are_swapped_reach_nobody(at, server):
    """Two calls at a time, each with the other's answer as its body."""
    seen = []

    def script(exchange):
        seen.append(exchange.request)
        server.gate("both").waiting += 1
        while len(seen) < 2:
            exchange.until_gone(0.01)
        other = next(one for one in seen if one is not exchange.request)
        exchange.json(server.message(other))

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=2))
    calls = [client.call_tool("bug", {"n": n}) for n in range(2)]
    for outcome in await at.all(*calls):
        lost(outcome)
    await echoes(at, client)
    await at.get(client.close())


SHAPES = {
    "none": {},
    "both": {"result": {}, "error": {"code": -5, "message": "x"}},
    "error a string": {"error": "broken"},
    "error null": {"error": None},
    "error a list": {"error": []},
    "error empty": {"error": {}},
    "code a string": {"error": {"code": "-5", "message": "x"}},
    "code a fraction": {"error": {"code": -5.5, "message": "x"}},
    "code true": {"error": {"code": True, "message": "x"}},
    "code null": {"error": {"code": None, "message": "x"}},
    "message a number": {"error": {"code": -5, "message": 7}},
    "result null": {"result": None},
    "result a list": {"result": []},
    "result a string": {"result": "ok"},
    "result a number": {"result": 0},
    "result true": {"result": True},
    "a request": {"method": "ping"},
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("shape", [*SHAPES])
@across
async def test_an_answer_of_no_known_shape(at, server, shape, streamed):
    def script(exchange):
        message = {"jsonrpc": "2.0", "id": exchange.request["id"], **SHAPES[shape]}
        if streamed:
            exchange.stream()
            exchange.event(message)
            exchange.end()
        else:
            exchange.json(message)

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        lost(await at.error(client.call_tool("bug")))
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("streamed", [False, True])
@across
async def test_answers_that_are_nearly_right(at, server, streamed):
    """A missing message, or `jsonrpc` missing or another: at once, whatever it is."""

    def script(exchange):
        message = {"jsonrpc": "2.0", "id": exchange.request["id"], "result": text("own")}
        match exchange.request.arguments["n"]:
            case 0:
                del message["result"]
                message["error"] = {"code": -5}
            case 1:
                del message["jsonrpc"]
            case 2:
                message["jsonrpc"] = "1.0"
            case 3:
                message["extra"] = {"a": 1}
        if streamed:
            exchange.stream()
            exchange.event(message)
            exchange.end()
        else:
            exchange.json(message)

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for n in range(4):
        with took(below=1):
            outcome = await at.outcome(client.call_tool("bug", {"n": n}))
        if n == 0:
            assert outcome.code in (-5, -32000)
        elif n == 3 or not isinstance(outcome, Exception):
            assert text_of(outcome) == "own"
        else:
            lost(outcome)
        await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("streamed", [False, True])
@across
async def test_kinds_of_results(at, server, streamed):
    """One that is not known is malformed on 2026-07-28; none means that it is complete."""

    def script(exchange):
        value = {**text("own"), "resultType": exchange.request.arguments["kind"]}
        if value["resultType"] is None:
            del value["resultType"]
        message = result(exchange.request["id"], value)
        if streamed:
            exchange.stream()
            exchange.event(message)
        else:
            exchange.json(message)

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    for kind in (None, "complete"):
        assert text_of(await at.get(client.call_tool("bug", {"kind": kind}))) == "own"
    for kind in ("later", "", 5, []):
        lost(await at.error(client.call_tool("bug", {"kind": kind})))
    asked = await at.get(client.call_tool("bug", {"kind": "input_required"}))
    assert isinstance(asked, snodo.InputRequired)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_error_without_an_id_in_a_stream(at, server):
    """It belongs to nobody there: the call goes on."""

    def script(exchange):
        exchange.stream()
        exchange.event(error(None, -32700, "Parse error"))
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.end()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug"))
    if isinstance(outcome, Exception):
        said_no(outcome, -32700)
    else:
        assert text_of(outcome) == "own"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_ids_are_never_used_again(at, server):
    one = await at.get(server.connect(protocol=MODERN))
    two = await at.get(server.connect(protocol=LEGACY))
    for n in range(50):
        await at.all(one.call_tool("echo", {"n": n}), two.call_tool("echo", {"n": n}))
    ids = [request["id"] for request in server.requests if request["id"] is not None]
    assert len(ids) == len(set(ids)) == 101
    assert {type(id) for id in ids} == {int}
    await at.get(one.close())
    await at.get(two.close())


@across
async def test_concurrent_answers_in_any_order(at, server):
    def script(exchange):
        n = exchange.request.arguments["n"]
        if n < 9:
            exchange.wait(f"{n + 1}")  # the last that was asked is the first to be answered
        if n % 2:
            exchange.json(server.message(exchange.request))
        else:
            exchange.stream()
            exchange.event(note(level="info", data="x"))
            exchange.event(server.message(exchange.request))
        server.open(f"{n}")

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=10))
    answers = await at.all(*(client.call_tool("bug", {"n": n}) for n in range(10)))
    assert [text_of(answer) for answer in answers] == [said(n=n) for n in range(10)]
    await at.get(client.close())


@across
async def test_a_late_answer_is_nobodys(at, server):
    """The connection it would come on is closed at the timeout."""

    def script(exchange):
        exchange.until_gone()
        fields = [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]
        late = event(result(exchange.request["id"], text("late")))
        exchange.send(head(200, fields) + chunk(late), encode({}))

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for n in range(3):
        timed_out(await at.error(client.call_tool("bug", timeout=0.2)), 0.2)
        await echoes(at, client, n=n)
    await at.get(client.close())
