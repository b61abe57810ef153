"""A question inside an answer is answered by a message of its own, or fails the call at once."""

from __future__ import annotations

import threading

import anyio
import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, timed_out, took
from http_outcomes import refused, said_no
from http_server import error, note, result, text

import snodo_actors as snodo

FORM = {
    "mode": "form",
    "message": "Name?",
    "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}},
}
ACCEPTED = {"action": "accept", "content": {"n": "Ada"}}


def accept(params):
    return ACCEPTED


# ---- the case


@everywhere
async def test_a_question_inside_an_answer(at, case):
    server, where = case("B-066"), []

    def form(params):
        where.append((threading.current_thread(), params))
        return ACCEPTED

    client = await at.get(server.connect(input_handlers={"form": form}))
    with took(below=2):
        assert text_of(await at.get(client.call_tool("bug"))) == "answered true"
    (answer,) = server.facts("answer")
    assert (answer["id"], answer["result"], answer["sid"]) == ("srv-1", ACCEPTED, "s-66")
    ((thread, params),) = where
    assert thread is threading.current_thread(), "it runs where the call is waited for"
    assert params == FORM
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("mode", ["400", "500", "rst", "hang"])
@everywhere
async def test_an_answer_that_is_not_taken_fails_the_call(at, case, mode):
    server = case("B-066", CASE_REPLY=mode)
    client = await at.get(server.connect(input_handlers={"form": accept}, timeout=1.0, pool_size=1))
    with took(below=2.4 if mode == "hang" else 0.8):
        failed = await at.error(client.call_tool("bug"))
    if mode == "hang" and failed.code == -32001:
        timed_out(failed, 1.0)
    else:
        lost(failed)
        assert isinstance(failed.cause, snodo.Error)
        if mode in ("400", "500"):
            assert failed.cause.cause[:2] == ("http_status", int(mode))
    await at.until(lambda: server.facts("gone"), within=1.0)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("handlers", [{}, {"form": accept}])
@everywhere
async def test_a_ping_inside_an_answer(at, case, handlers):
    server = case("B-066")
    client = await at.get(server.connect(input_handlers=handlers))
    with took(below=4):
        said = text_of(await at.get(client.call_tool("bug", {"ask": "ping"})))
    assert said in ("answered true", "answered false")
    for answer in server.facts("answer"):
        assert (answer["id"], answer["result"]) == ("srv-1", {})
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_without_a_handler_the_call_goes_on(at, case):
    server = case("B-066")
    client = await at.get(server.connect())
    with took(below=4):
        assert text_of(await at.get(client.call_tool("bug"))) == "answered false"
    assert server.facts("answer") == [], "who answers nothing says nothing"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_handler_that_is_slower_than_the_call(at, case):
    server = case("B-066")

    async def form(params):
        await anyio.sleep(3.0)
        return ACCEPTED

    client = await at.get(server.connect(input_handlers={"form": form}, timeout=0.5))
    with took(below=3.5):
        timed_out(await at.error(client.call_tool("bug")), 0.5)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_handler_that_raises(at, case):
    server = case("B-066")

    def form(params):
        raise LookupError("no such form")

    client = await at.get(server.connect(input_handlers={"form": form}, timeout=5.0))
    with took(below=4), pytest.raises((LookupError, snodo.Error)):
        await at.get(client.call_tool("bug"))
    await echoes(at, client)
    await at.get(client.close())


# ---- questions of all kinds


def asks(server, id, method, params, then="own"):
    """A tool `bug` that asks that, and says then what came of it."""
    replies = []

    def bug(exchange):
        exchange.stream()
        question = {"jsonrpc": "2.0", "id": id, "method": method}
        exchange.event(question if params is None else {**question, "params": params})
        exchange.wait("reply")
        exchange.event(result(exchange.request["id"], text(then)))
        exchange.end()

    def reply(exchange):
        replies.append(exchange.request.message)
        exchange.respond(202, kind="")
        server.open("reply")

    server.on("tool bug", bug)
    server.on("reply", reply)
    return replies


SAMPLING = {"messages": [], "maxTokens": 5}
SAID = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
ROOTS = {"roots": [{"uri": "file:///srv"}]}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("id", ["srv-1", 0, 7, -1, "", "é", 10**12])
@across
async def test_the_answer_has_the_id_of_the_question(at, serve, id, streams):
    server = serve(sessions=True, streams=streams)
    replies = asks(server, id, "elicitation/create", FORM)
    client = await at.get(server.connect(input_handlers={"form": accept}, pool_size=1))
    with took(below=2):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    assert replies == [{"jsonrpc": "2.0", "id": id, "result": ACCEPTED}]
    (request,) = [request for request in server.requests if request.is_reply]
    assert request.first("mcp-session-id") == "session-1"
    assert request.first("mcp-protocol-version") == LEGACY
    await at.get(client.close())


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("sampling/createMessage", SAMPLING, SAID),
        ("roots/list", None, ROOTS),
        ("roots/list", {}, ROOTS),
        ("ping", None, {}),
        ("no/such/method", {}, -32601),
        (
            "elicitation/create",
            {"mode": "url", "message": "?", "elicitationId": "e", "url": "https://a"},
            -32602,
        ),
    ],
)
@across
async def test_what_may_be_asked(at, server, method, params, expected):
    replies = asks(server, "q", method, params)
    handlers = {"sampling": lambda _: SAID, "roots": lambda _: ROOTS, "form": accept}
    client = await at.get(server.connect(input_handlers=handlers))
    with took(below=2):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    (reply,) = replies
    if isinstance(expected, int):
        assert reply["error"]["code"] == expected
    else:
        assert reply["result"] == expected
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_many_questions_in_turn(at, server):
    order = []

    def bug(exchange):
        exchange.stream()
        for n in range(5):
            exchange.event({**note("elicitation/create", **FORM), "id": n})
            exchange.event(note(level="info", data="x"))
            exchange.wait(f"reply {n}")
        exchange.event(result(exchange.request["id"], text("own")))

    def reply(exchange):
        order.append(exchange.request["id"])
        exchange.respond(202, kind="")
        server.open(f"reply {exchange.request['id']}")

    server.on("tool bug", bug)
    server.on("reply", reply)
    client = await at.get(server.connect(input_handlers={"form": accept}, pool_size=1))
    with took(below=3):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    assert order == [0, 1, 2, 3, 4]
    await at.get(client.close())


@across
async def test_questions_that_are_sent_together(at, server):
    """Each is answered before the next is read."""
    order = []

    def bug(exchange):
        exchange.stream()
        for n in range(4):
            exchange.event({**note("elicitation/create", **FORM), "id": n})
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.until_gone()

    def reply(exchange):
        order.append(exchange.request["id"])
        exchange.respond(202, kind="")

    server.on("tool bug", bug)
    server.on("reply", reply)
    client = await at.get(server.connect(input_handlers={"form": accept}, pool_size=1))
    with took(below=3):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    assert order == [0, 1, 2, 3]
    await at.get(client.close())


@pytest.mark.parametrize("status", [200, 202, 204])
@across
async def test_an_answer_is_taken_by_any_2xx(at, server, status):
    asks(server, "q", "elicitation/create", FORM)

    def reply(exchange):
        exchange.respond(status, b"" if status == 204 else b"thanks", kind="text/plain")
        server.open("reply")

    server.on("reply", reply)
    client = await at.get(server.connect(input_handlers={"form": accept}, pool_size=1))
    with took(below=2):
        outcome = await at.outcome(client.call_tool("bug"))
    assert text_of(outcome) == "own"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_answer_that_is_refused_with_an_error(at, server):
    """The failure of the call shows what the server said about the answer."""
    asks(server, "q", "elicitation/create", FORM)
    server.on("reply", lambda e: e.json(error(None, -32602, "not that", data=1), 400))
    client = await at.get(server.connect(input_handlers={"form": accept}, pool_size=1))
    with took(below=1):
        failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert (failed.cause.code, failed.cause.message, failed.cause.data) == (-32602, "not that", 1)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_answer_that_is_redirected(at, serve):
    server, other = serve(), serve()
    asks(server, "q", "elicitation/create", FORM)
    server.on("reply", lambda e: e.respond(307, b"there", [("Location", other.url)]))
    client = await at.get(server.connect(input_handlers={"form": accept}, pool_size=1))
    with took(below=1):
        failed = await at.error(client.call_tool("bug"))
    lost(failed)
    refused(failed.cause, 307, b"there")
    assert other.connections == []
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_question_while_others_call(at, server):
    """Who is asked holds up nobody."""
    gate = threading.Event()
    replies = asks(server, "q", "elicitation/create", FORM)

    async def form(params):
        while not gate.is_set():
            await anyio.sleep(0.005)
        return ACCEPTED

    client = await at.get(server.connect(input_handlers={"form": form}, pool_size=1))

    async def asked():
        assert text_of(await at.get(client.call_tool("bug"))) == "own"

    async def others():
        await at.until(lambda: server.waiting("reply"))
        for n in range(5):
            await echoes(at, client, n=n)
        gate.set()

    await at.together(asked, others)
    assert len(replies) == 1
    await at.get(client.close())


@across
async def test_a_handler_may_call_the_same_client(at, server):
    """Though the pool has one place only."""
    asks(server, "q", "elicitation/create", FORM)
    box = []

    async def form(params):
        box.append(text_of(await box[0].call_tool("echo", {"n": 1})))
        return ACCEPTED

    client = await at.get(server.connect(input_handlers={"form": form}, pool_size=1))
    box.append(client)
    with took(below=3):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    assert box[1] == '{"n": 1}'
    await at.get(client.close())


@across
async def test_who_gives_up_while_it_is_asked(at, server):
    """The question is not answered any more, and the connection is closed."""
    asks(server, "q", "elicitation/create", FORM)
    client = await at.get(server.connect(timeout=20.0, pool_size=1))
    server.on("reply", lambda e: e.until_gone())
    call = client.call_tool("bug")
    await at.until(lambda: server.waiting("reply"))
    await at.give_up(call)
    bug = server.received("tool bug")[0]
    await at.until(lambda: server.connections[bug.connection - 1].closed, within=2.0)
    await echoes(at, client)
    await at.get(client.close())


# ---- the other way to ask


@pytest.mark.parametrize("streamed", [False, True])
@across
async def test_input_that_an_answer_asks_for(at, server, streamed):
    def bug(exchange):
        params = exchange.request.params
        if params.get("inputResponses") == {"a": ACCEPTED} and params.get("requestState") == "s":
            answer = result(exchange.request["id"], text("own"))
        else:
            question = {"method": "elicitation/create", "params": FORM}
            asked = {"resultType": "input_required", "inputRequests": {"a": question}}
            answer = result(exchange.request["id"], {**asked, "requestState": "s"})
        if streamed:
            exchange.stream()
            exchange.event(answer)
            exchange.end()
        else:
            exchange.json(answer)

    server.on("tool bug", bug)
    client = await at.get(
        server.connect(protocol=MODERN, input_handlers={"form": accept}, pool_size=1)
    )
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    first, second = server.received("tool bug")
    assert first["id"] != second["id"]
    asked = await at.get(client.call_tool("bug", answer_input=False))
    assert isinstance(asked, snodo.InputRequired)
    assert asked.request_state == "s"
    await at.get(client.close())


@across
async def test_the_second_round_fails_as_a_call_does(at, server):
    def bug(exchange):
        if "inputResponses" in exchange.request.params:
            exchange.json(error(exchange.request["id"], -32602, "state expired"), 400)
        else:
            question = {"method": "elicitation/create", "params": FORM}
            asked = {"resultType": "input_required", "inputRequests": {"a": question}}
            exchange.json(result(exchange.request["id"], asked))

    server.on("tool bug", bug)
    client = await at.get(
        server.connect(protocol=MODERN, input_handlers={"form": accept}, pool_size=1)
    )
    said_no(await at.error(client.call_tool("bug")), -32602, "state expired")
    await echoes(at, client)
    await at.get(client.close())


def asking(exchange, message="?", state=None):
    """Answer with the wish for a form."""
    question = {"method": "elicitation/create", "params": {**FORM, "message": message}}
    asked = {"resultType": "input_required", "inputRequests": {"a": question}}
    if state is not None:
        asked["requestState"] = state
    exchange.json(result(exchange.request["id"], asked))


@across
async def test_each_round_has_its_own_time(at, server):
    """The first takes most of it, and the second nearly as long; only the third takes too long."""

    def bug(exchange):
        state = exchange.request.params.get("requestState")
        match state, exchange.request.arguments["rounds"]:
            case None, _:
                exchange.connection.gone(0.4)
                asking(exchange, state="second")
            case "second", 2:
                exchange.connection.gone(0.4)
                exchange.json(result(exchange.request["id"], text("own")))
            case "second", 3:
                asking(exchange, state="third")
            case _:
                exchange.until_gone()

    server.on("tool bug", bug)
    handlers = {"form": accept}
    client = await at.get(server.connect(protocol=MODERN, input_handlers=handlers, timeout=0.6))
    with took(below=1.6, least=0.8):
        assert text_of(await at.get(client.call_tool("bug", {"rounds": 2}))) == "own"
    with took(below=1.8, least=1.0):
        failed = await at.error(client.call_tool("bug", {"rounds": 3}))
    timed_out(failed, 0.6)
    assert failed.delivery == "unknown"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_answers_and_state_go_with_their_own_call(at, server):
    """Two calls are in their rounds at the same time, and a third is not."""

    def bug(exchange):
        n = exchange.request.arguments["n"]
        if "inputResponses" not in exchange.request.params:
            exchange.wait("both")
            asking(exchange, message=f"for {n}", state=f"state {n}")
        else:
            exchange.wait("both again")
            exchange.json(result(exchange.request["id"], text(f"own {n}")))

    async def form(params):
        return {"action": "accept", "content": {"said": params["message"]}}

    server.on("tool bug", bug)
    client = await at.get(server.connect(protocol=MODERN, input_handlers={"form": form}))

    async def call(n):
        assert text_of(await at.get(client.call_tool("bug", {"n": n}))) == f"own {n}"

    async def watch():
        await at.until(lambda: server.waiting("both") == 2)
        server.open("both")
        await at.until(lambda: server.waiting("both again") == 2)
        await echoes(at, client)
        server.open("both again")

    await at.together(lambda: call(1), lambda: call(2), watch)
    for request in server.requests:
        extra = {key: request.params.get(key) for key in ("inputResponses", "requestState")}
        if request.tool == "bug" and request.params.get("requestState") is not None:
            n = request.arguments["n"]
            answer = {"action": "accept", "content": {"said": f"for {n}"}}
            assert extra == {"inputResponses": {"a": answer}, "requestState": f"state {n}"}
        else:
            assert extra == {"inputResponses": None, "requestState": None}
    assert len(server.received("tool bug")) == 4
    await at.get(client.close())
