"""An answer that is none fails its call, and only that, at once."""

from __future__ import annotations

import pytest
from case_servers import across, echoes, everywhere, lost, text_of, took

import snodo_actors as snodo

MALFORMED = ["none", "both", "errstr", "errnull", "codestr", "resstr", "reslist", "resnull"]


@pytest.fixture
def shapes(server_of):
    return server_of("B-025")


@pytest.fixture
def answers(server_of):
    return server_of("answers")


# ---- the case


@everywhere
async def test_a_malformed_answer_fails_its_call_at_once(at, shapes):
    client = await at.get(shapes.connect())
    for shape in MALFORMED:
        call = client.call_tool("bug", {"shape": shape}, timeout=20.0)
        with took(below=1):
            error = await at.error(call)
        lost(error)
        assert error.cause["id"] == call.id, "its cause is the message"
        assert error.delivery == "answered"
        await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_an_error_without_a_message_is_an_error(at, shapes):
    client = await at.get(shapes.connect())
    with took(below=1):
        error = await at.error(client.call_tool("bug", {"shape": "nomsg"}))
    assert error.code in (-5, -32000)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("shape", ["nojsonrpc", "v1"])
@everywhere
async def test_another_version_of_json_rpc_is_decided_at_once(at, shapes, shape):
    client = await at.get(shapes.connect())
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug", {"shape": shape}))
    if isinstance(outcome, Exception):
        lost(outcome)
    else:
        assert text_of(outcome) in ("no jsonrpc member", "version 1.0")
    await echoes(at, client)
    await at.get(client.close())


# ---- more of the kind

NEITHER = [
    {},
    {"result": None},
    {"result": 0},
    {"result": True},
    {"result": ""},
    {"result": []},
    {"result": [{}]},
    {"error": None},
    {"error": False},
    {"error": []},
    {"error": ["code", -1]},
    {"error": {}},
    {"error": {"message": "no code"}},
    {"error": {"code": None, "message": "x"}},
    {"error": {"code": "-32603", "message": "x"}},
    {"error": {"code": 1.5, "message": "x"}},
    {"error": {"code": True, "message": "x"}},
    {"error": {"code": -1, "message": None}},
    {"error": {"code": -1, "message": ["x"]}},
    {"error": {"code": [-1], "message": "x"}},
    {"result": {}, "error": {"code": -1, "message": "x"}},
    {"result": {}, "error": None},
    {"result": None, "error": {"code": -1, "message": "x"}},
    {"Result": {}},
    {"results": {}},
    {"params": {}},
    {"method": None},
    {"method": 5, "result": []},
]


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@across
async def test_neither_a_result_nor_an_error(at, answers, protocol):
    client = await at.get(answers.connect(protocol=protocol, timeout=20.0))
    for members in NEITHER:
        with took(below=1.5):
            outcome = await at.outcome(client.call_tool("shape", {"members": members}))
        lost(outcome)
    await echoes(at, client)
    await at.get(client.close())


ERRORS = [
    (-32700, "json_rpc"),
    (-32600, "json_rpc"),
    (-32601, "protocol"),
    (-32602, "protocol"),
    (-32603, "execution"),
    (-32000, "protocol"),
    (-32001, "protocol"),
    (-32042, "protocol"),
    (0, "protocol"),
    (1, "protocol"),
    (404, "protocol"),
    (-(10**20), "protocol"),
]


@across
async def test_a_servers_own_error_is_passed_on(at, answers):
    client = await at.get(answers.connect())
    for code, kind in ERRORS:
        for data in (None, {"a": [1]}, "text", 0, False, []):
            given = {"code": code, "message": "no ☹", "data": data}
            error = await at.error(client.call_tool("shape", {"members": {"error": given}}))
            assert isinstance(error, snodo.ServerError)
            assert not isinstance(error, snodo.TransportError)
            assert (error.code, error.message, error.data) == (code, "no ☹", data)
            assert (error.kind, error.cause, error.delivery) == (kind, None, "answered")
    await at.get(client.close())


RESULTS = [
    {},
    {"isError": True, "content": []},
    {"isError": True, "content": [{"type": "text", "text": "the tool failed"}]},
    {"content": None},
    {"structuredContent": {"deep": [[[{}]]]}, "content": []},
    {"_meta": {"x": 1}, "": "", "unknown": 1.0e300, "negative": -0.0},
    {"id": 5, "jsonrpc": "3.0", "error": {"code": 1}},
    {"n": 10**63, "m": -(10**63)},
]


@across
async def test_a_result_comes_as_the_server_sent_it(at, answers):
    client = await at.get(answers.connect())
    for result in RESULTS:
        assert await at.get(client.call_tool("shape", {"members": {"result": result}})) == result
    await at.get(client.close())


@pytest.mark.parametrize("type", ["complete", None, "strange", "", 5, "task"])
@across
async def test_the_type_of_a_result_is_looked_at_in_the_modern_version_only(at, answers, type):
    result = {"content": []} if type is None else {"content": [], "resultType": type}
    for protocol in ("2025-11-25", "2026-07-28"):
        client = await at.get(answers.connect(protocol=protocol))
        outcome = await at.outcome(client.call_tool("shape", {"members": {"result": result}}))
        if protocol == "2026-07-28" and type not in ("complete", None):
            lost(outcome)
        else:
            assert outcome == result
        await at.get(client.close())


@across
async def test_input_required_without_a_handler_is_returned(at, answers):
    client = await at.get(answers.connect(protocol="2026-07-28"))
    result = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
    outcome = await at.get(client.call_tool("shape", {"members": {"result": result}}))
    assert isinstance(outcome, snodo.InputRequired)
    assert outcome.result == result
    await at.get(client.close())


LITERAL = [
    ('{"id":ID,"result":{}}', "result"),
    ('{"result":{},"id":ID,"jsonrpc":"2.0"}', "result"),
    ('\t{ "jsonrpc" : "2.0" , "id" : ID , "result" : { } }\t', "result"),
    ('{"jsonrpc":2.0,"id":ID,"result":{}}', "any"),
    ('{"jsonrpc":"2.0","id":ID,"result":{},"extra":{"id":0}}', "result"),
    ('{"jsonrpc":"2.0","\\u0069d":ID,"result":{}}', "result"),
    ('{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}', "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"id":ID,"result":{}}', "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"result":{"x":1e999}}', "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"result":{"x":Infinity}}', "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"result":{"x":01}}', "dropped"),
    ("{'jsonrpc':'2.0','id':ID,'result':{}}", "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"result":{}', "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"result":{}},', "dropped"),
    ('{"jsonrpc":"2.0","id":ID,"result":{}}{}', "dropped"),
    ('data: {"jsonrpc":"2.0","id":ID,"result":{}}', "dropped"),
    ('Content-Length: 38\r\n\r\n{"jsonrpc":"2.0","id":ID,"result":{}}', "result"),
]


@pytest.mark.parametrize(("line", "outcome"), LITERAL)
@across
async def test_an_answer_written_so(at, answers, line, outcome):
    client = await at.get(answers.connect())
    got = await at.outcome(client.call_tool("literally", {"line": line}, timeout=1.0))
    if outcome == "result":
        assert got == {}
    elif outcome == "dropped":
        assert isinstance(got, snodo.TransportError)
        assert got.code in (-32001, -32000)
    await echoes(at, client)
    await at.get(client.close())
