"""A server may ask while a call waits; the question is answered once, and holds up nobody else."""

from __future__ import annotations

import threading
import time

import anyio
import pytest
from case_servers import PLACES, across, echoes, everywhere, lost, program, text_of, timed_out, took

FORM_PARAMS = {
    "mode": "form",
    "message": "Name?",
    "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}},
}
ACCEPTED = {"action": "accept", "content": {"n": "Ada"}}


def accept(params):
    return ACCEPTED


@pytest.fixture
def asking(server_of):
    return server_of("asking")


def answers(server):
    return [
        (f["id"], f["result"], f["error"] and f["error"]["code"]) for f in server.facts("answer")
    ]


# ---- the case, over stdio


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_a_question_inside_a_call_is_answered_once(at, asking):
    seen = []

    def form(params):
        seen.append(params)
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}))
    with took(below=2.5):
        assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    await echoes(at, client)
    await at.get(client.close())

    assert seen == [FORM_PARAMS]
    assert answers(asking) == [("srv-1", ACCEPTED, None)]


@everywhere
async def test_an_async_handler_does_as_well(at, asking):
    async def form(params):
        await anyio.sleep(0.01)
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}))
    assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    await at.get(client.close())

    assert answers(asking) == [("srv-1", ACCEPTED, None)]


@pytest.mark.parametrize("handlers", [{}, {"form": accept}])
@everywhere
async def test_a_ping_is_answered_with_and_without_handlers(at, asking, handlers):
    client = await at.get(asking.connect(input_handlers=handlers))
    assert text_of(await at.get(client.call_tool("ping"))) == "answered true"
    await at.get(client.close())

    assert answers(asking) == [("srv-1", {}, None)]


@everywhere
async def test_without_a_handler_the_question_is_refused_and_the_call_goes_on(at, asking):
    client = await at.get(asking.connect())
    with took(below=2.5):
        assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    await echoes(at, client)
    await at.get(client.close())

    assert answers(asking) == [("srv-1", None, -32601)]


@everywhere
async def test_a_slow_handler_does_not_hold_up_the_timeout_nor_others(at, asking):
    gate = threading.Event()

    def form(params):
        gate.wait(10)
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}))
    try:
        call = client.call_tool("asks_and_forgets", timeout=0.6)
        with took(below=2):
            await echoes(at, client)
            timed_out(await at.error(call), 0.6)
        await echoes(at, client)
    finally:
        gate.set()
    await at.until(lambda: answers(asking))
    await at.get(client.close())


@everywhere
async def test_a_handler_that_raises_is_an_error_to_the_server_only(at, asking):
    def form(params):
        raise LookupError("no such form")

    client = await at.get(asking.connect(input_handlers={"form": form}))
    assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    await echoes(at, client)
    await at.get(client.close())

    assert answers(asking) == [("srv-1", None, -32603)]


# ---- more of the kind


@pytest.mark.parametrize("id", ["", "0", 0, -1, 7, 2**60, 1.5, None, "é\n\u2028", "x" * 1000])
@across
async def test_the_answer_has_the_id_of_the_question(at, asking, id):
    client = await at.get(asking.connect(input_handlers={"form": accept}))
    outcome = text_of(await at.get(client.call_tool("form", {"id": id, "wait": 1.5})))
    if id is not None:  # a request cannot have null for its id
        assert outcome == "answered true"
        assert answers(asking) == [(id, ACCEPTED, None)]
    await echoes(at, client)
    await at.get(client.close())


ODD_RETURNS = [
    None,
    5,
    "accept",
    [],
    {},
    {"action": "maybe"},
    {"action": None},
    {"action": "accept", 5: 1},
]


@pytest.mark.parametrize("value", ODD_RETURNS, ids=repr)
@across
async def test_a_handler_that_returns_nonsense_is_an_error_to_the_server(at, asking, value):
    client = await at.get(asking.connect(input_handlers={"form": lambda params: value}))
    assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    await echoes(at, client)
    await at.get(client.close())

    assert answers(asking) == [("srv-1", None, -32603)]


@across
async def test_a_handler_whose_answer_is_no_json(at, asking):
    answer = {"action": "accept", "content": {"n": object()}}
    client = await at.get(asking.connect(input_handlers={"form": lambda params: answer}))
    with took(below=4):
        assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    await echoes(at, client)
    await at.get(client.close())

    assert answers(asking) == [("srv-1", None, -32603)]


ODD_QUESTIONS = [
    ("no/such/method", {}, -32601),
    ("tools/list", {}, -32601),
    ("", {}, -32601),
    ("elicitation/create", None, -32602),
    ("elicitation/create", {}, -32602),
    ("elicitation/create", {"message": "x"}, -32602),
    ("elicitation/create", [1], -32602),
    ("elicitation/create", "x", -32602),
    ("sampling/createMessage", {"messages": [], "maxTokens": 1}, -32601),
    ("roots/list", {}, -32601),
]


@across
async def test_questions_that_cannot_be_answered_are_refused(at, asking):
    client = await at.get(asking.connect(input_handlers={"form": accept}))
    for number, (method, params, _) in enumerate(ODD_QUESTIONS):
        await at.get(client.call_tool("asks", {"id": number, "method": method, "params": params}))
    await at.until(lambda: len(answers(asking)) == len(ODD_QUESTIONS))
    await echoes(at, client)
    await at.get(client.close())

    codes = {id: code for id, _, code in answers(asking)}
    assert codes == {n: code for n, (_, _, code) in enumerate(ODD_QUESTIONS)}


@across
async def test_at_most_so_many_questions_at_a_time(at, asking):
    gate = threading.Event()

    def form(params):
        gate.wait(10)
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}, max_server_requests=2))
    try:
        call = client.call_tool("many", {"n": 5})
        await at.until(lambda: len(answers(asking)) == 3)
        assert {code for _, _, code in answers(asking)} == {-32603}
        await echoes(at, client)
    finally:
        gate.set()
    assert text_of(await at.get(call)) == "answered 5"
    await at.get(client.close())


@across
async def test_many_questions_at_a_time(at, asking):
    handlers = {"form": accept}
    client = await at.get(asking.connect(input_handlers=handlers, max_server_requests=200))
    assert text_of(await at.get(client.call_tool("many", {"n": 100}))) == "answered 100"
    await at.get(client.close())

    assert len(answers(asking)) == 100


@across
async def test_the_same_question_twice_breaks_nothing(at, asking):
    client = await at.get(asking.connect(input_handlers={"form": accept}))
    assert text_of(await at.get(client.call_tool("same_id_twice"))) == "answered True"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_question_taken_back_is_not_answered(at, asking):
    started, ended = threading.Event(), []

    async def form(params):
        started.set()
        try:
            await anyio.sleep(5)
        finally:
            ended.append(True)
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}))
    with took(below=3):
        await at.get(client.call_tool("takes_it_back"))
    assert started.is_set()
    await at.until(lambda: ended)
    await echoes(at, client)
    await at.get(client.close())

    assert answers(asking) == []


@across
async def test_an_exit_while_the_handler_runs(at, asking):
    def form(params):
        time.sleep(0.6)
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}))
    with took(below=2):
        lost(await at.error(client.call_tool("asks_and_exits")), ("exit_status", 3))
    with took(below=2):
        await at.get(client.close())


@across
async def test_in_the_modern_version_a_client_answers_no_requests(at, asking):
    client = await at.get(asking.connect(protocol="2026-07-28", input_handlers={"form": accept}))
    assert text_of(await at.get(client.call_tool("form", {"wait": 0.5}))) == "answered false"
    await at.get(client.close())

    assert answers(asking) == []


@across
async def test_a_handler_may_use_its_client(at, asking):
    held = []

    def form(params):
        held.append(text_of(held[0].call_tool("echo", {"inside": 1}).get(timeout=5)))
        return ACCEPTED

    client = await at.get(asking.connect(input_handlers={"form": form}))
    held.append(client)
    assert text_of(await at.get(client.call_tool("form"))) == "answered true"
    assert held[1:] == ['{"inside": 1}']
    await at.get(client.close())


PINGS = """
import json, sys
from case_servers import Memory, Server
from pathlib import Path
import snodo_actors as snodo
import supervisors

script, log, backend = sys.argv[1:4]
with supervisors.Node(backend=backend):
    client = Server(Path(script), Path(log)).connect(timeout=8.0).get()
    client.call_tool("echo").get()
    memory = Memory()
    try:
        client.call_tool("pings_and_does_not_read", {"n": 2500, "size": 100_000}).get()
    except snodo.Error as error:
        pass
    peak = memory.peak()
    client.close().get()
print(json.dumps({"peak": peak}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_answers_nobody_reads_are_not_kept_without_limit(asking, backend):
    """250 MB of pings, whose answers the server does not read."""
    ran = program(PINGS, asking.script, asking.log, backend)

    assert ran["peak"] < 110, f"{ran['peak']:.0f} MiB"
