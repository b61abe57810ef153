"""A header says what was meant, whatever its characters, and no header can be smuggled in."""

from __future__ import annotations

import base64
import dataclasses
import json
from types import SimpleNamespace

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, took
from http_outcomes import said_no
from http_server import decoded, error, result, text

import snodo_actors as snodo
from snodo_actors.wire.policy import Mirror

PLAIN = ["plain", "a.b/c-d_e", "two words", "~!@#$%^&*()", "=?base64?", "x=?base64?eA==?="]
ENCODED = [
    "café ☕ 漢字",
    " lead",
    "trail ",
    "tab\tname",
    "=?base64?x?=",
    "=?base64??=",
    "a\r\nX-Evil: 1",
    "a\nb",
    "\r",
    "a\0b",
    "\x7f",
    "\x1b[31m",
    "\u2028",
    "😀",
    "\u00a0",
    "a\u0085",
]


def sentinel(value):
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


@pytest.mark.parametrize(
    "name", ["café ☕ 漢字", " lead", "tab\tname", "=?base64?x?=", "", "plain"]
)
@everywhere
async def test_names_that_are_not_plain(at, case, name):
    server = case("B-059")
    client = await at.get(server.connect(protocol=MODERN))
    seen = json.loads(text_of(await at.get(client.call_tool(name))))
    expected = name if name in ("", "plain") else sentinel(name)
    assert seen["mcp-name"] == expected
    assert decoded(seen["mcp-name"]) == name
    await at.get(client.close())


@everywhere
async def test_names_that_would_be_headers(at, case):
    server = case("B-059")
    client = await at.get(server.connect(protocol=MODERN))
    seen = json.loads(text_of(await at.get(client.call_tool("a\r\nX-Evil: 1"))))
    assert seen["mcp-name"] == sentinel("a\r\nX-Evil: 1")
    await at.get(client.read_resource("file:///a\nb"))
    assert server.facts("names")[-1]["name"] == sentinel("file:///a\nb")
    assert {fact["evil"] for fact in server.facts("names")} == {None}
    await at.get(client.close())


@pytest.mark.parametrize(
    "header",
    [
        ("X-User", "s3cret\r\nX-Evil: 1"),
        ("X-Nul", "s3cret\0b"),
        ("X-User", "s3cret\n"),
        ("X-User", "\rs3cret"),
        ("X-Evil: 1\r\nX-User", "s3cret"),
        ("X User", "s3cret"),
        ("X-User:", "s3cret"),
        ("", "s3cret"),
        ("X-Ü", "s3cret"),
        ("X-User", "s3cret\ud800"),
        *((name, "s3cret") for name in ("Host", "content-type", "CONTENT-LENGTH")),
        *((name, "s3cret") for name in ("Transfer-Encoding", "connection", "Accept")),
        *((name, "s3cret") for name in ("Mcp-Session-Id", "mcp-protocol-version", "Mcp-Method")),
        *((name, "s3cret") for name in ("MCP-NAME", "Mcp-Param-Region", "last-event-id")),
    ],
)
@across
async def test_headers_that_cannot_be_sent(at, server, header):
    """Whoever gave them is told before anything is sent, and the value is not shown."""
    with pytest.raises((ValueError, snodo.Error)) as caught:
        await at.get(server.connect(headers=[header]))
    if isinstance(caught.value, snodo.Error):
        lost(caught.value)
    for shown in (str(caught.value), repr(caught.value)):
        assert "s3cret" not in shown
    assert server.connections == []


@pytest.mark.parametrize("value", ["Zoë Übel", "漢字", "\x01", "\x7f", "\t", " a ", ""])
@across
async def test_headers_with_any_other_value(at, server, value):
    """Sent in some form, or refused as a whole; the connection lives."""
    try:
        client = await at.get(server.connect(protocol=MODERN, headers=[("X-User", value)]))
    except UnicodeError:
        raise
    except (ValueError, snodo.Error):
        return
    outcome = await at.outcome(client.call_tool("echo"))
    if isinstance(outcome, Exception):
        lost(outcome)
        assert server.requests == []
    else:
        (sent,) = server.requests[0].all("x-user")
        assert sent.encode("latin-1").decode() == value.strip(" \t") or sent == value.strip(" \t")
    await at.get(client.close())


@across
async def test_headers_go_with_every_message_as_they_were_given(at, serve):
    server = serve(sessions=True)
    headers = [("X-One", "1"), ("x-two", "a, b"), ("X-Two", "c"), ("Authorization", "Bearer t")]
    client = await at.get(server.connect(headers=headers))
    await echoes(at, client)
    await at.get(client.close())
    assert [r.method for r in server.requests] == ["POST"] * 3 + ["DELETE"]
    for request in server.requests:
        assert request.all("x-one") == ["1"]
        assert ", ".join(request.all("x-two")) == "a, b, c"
        assert request.all("authorization") == ["Bearer t"]


# ---- what is mirrored


@pytest.mark.parametrize("what", ["tool", "resource", "prompt"])
@across
async def test_any_name_arrives(at, server, what):
    server.on("resources/read", lambda e: e.json(result(e.request["id"], {"contents": []})))
    server.on("prompts/get", lambda e: e.json(result(e.request["id"], {"messages": []})))
    client = await at.get(server.connect(protocol=MODERN))
    for name in [*PLAIN, *ENCODED]:
        match what:
            case "tool":
                await at.get(client.call_tool(name))
            case "resource":
                await at.get(client.read_resource(name))
            case "prompt":
                await at.get(client.get_prompt(name))
        (sent,) = server.requests[-1].all("mcp-name")
        assert sent == (name if name in PLAIN else sentinel(name))
        assert server.requests[-1].all("x-evil") == []
        assert server.requests[-1].params["uri" if what == "resource" else "name"] == name
    await at.get(client.close())


@pytest.mark.parametrize("method", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
@across
async def test_a_method_that_would_be_a_header(at, server, method):
    client = await at.get(server.connect(protocol=MODERN))
    failed = await at.error(client.request(method))
    assert failed.delivery == "never_sent"
    assert server.requests == []
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_what_is_mirrored_is_what_the_body_says(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    await echoes(at, client)
    await at.get(client.list_tools())
    await at.get(client.discover())
    for request in server.requests:
        assert request.all("mcp-method") == [request.rpc]
        assert request.all("mcp-protocol-version") == [MODERN]
        assert request.meta["io.modelcontextprotocol/protocolVersion"] == MODERN
        assert request.all("mcp-name") == (["echo"] if request.rpc == "tools/call" else [])
        assert request.all("mcp-session-id") == []
    await at.get(client.close())


@across
async def test_nothing_is_mirrored_in_older_versions(at, server):
    client = await at.get(server.connect(protocol=LEGACY))
    await echoes(at, client)
    for request in server.requests:
        assert request.all("mcp-method") == request.all("mcp-name") == []
    await at.get(client.close())


@across
async def test_the_head_of_a_request(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    await echoes(at, client)
    (request,) = server.requests
    assert request.target == "/mcp"
    assert request.all("host") == [f"127.0.0.1:{server.port}"]
    assert request.all("content-length") == [str(len(request.body))]
    assert request.all("content-type") == ["application/json"]
    assert request.all("accept") == ["application/json, text/event-stream"]
    assert isinstance(request.message, dict), "one message, no batch"
    assert set(request.all("accept-encoding")) <= {"identity"}
    await at.get(client.close())


@across
async def test_the_target_is_that_of_the_url(at, server):
    url = f"http://user:pass@127.0.0.1:{server.port}/a%20b/c?x=1&y=%C3%A9#part"
    client = await at.get(snodo.connect(("http", url), protocol=MODERN))
    await echoes(at, client)
    (request,) = server.requests
    assert request.target == "/a%20b/c?x=1&y=%C3%A9"
    assert request.all("host") == [f"127.0.0.1:{server.port}"]
    await at.get(client.close())


# ---- x-mcp-header

REGION = {
    "name": "query",
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "fast": {"type": "boolean", "x-mcp-header": "fast-Path"},
            "deep": {
                "type": "object",
                "properties": {"er": {"type": "string", "x-mcp-header": "Deep-er"}},
            },
            "other": {"type": "string"},
        },
    },
}


def params_of(request):
    return {name: value for name, value in request.fields if name.lower().startswith("mcp-param-")}


@pytest.mark.parametrize("how", ["definition", "listed"])
@across
async def test_arguments_in_headers(at, server, how):
    server.tools.append(REGION)
    client = await at.get(server.connect(protocol=MODERN))
    tool = REGION
    if how == "listed":
        tool = next(t for t in await at.get(client.list_tools()) if t["name"] == "query")
    for arguments, expected in [
        ({"region": "eu"}, {"Region": "eu"}),
        ({"region": ""}, {"Region": ""}),
        ({"region": "Zürich"}, {"Region": sentinel("Zürich")}),
        ({"region": "a\r\nX-Evil: 1"}, {"Region": sentinel("a\r\nX-Evil: 1")}),
        ({"region": " a"}, {"Region": sentinel(" a")}),
        ({"region": None, "other": "x"}, {}),
        ({"count": -7, "fast": True}, {"Count": "-7", "fast-Path": "true"}),
        ({"count": 0, "fast": False}, {"Count": "0", "fast-Path": "false"}),
        ({"deep": {"er": "x"}}, {"Deep-er": "x"}),
        ({"deep": {}}, {}),
        ({"region": {"a": 1}}, {}),
        ({"region": ["a"]}, {}),
        ({}, {}),
    ]:
        outcome = await at.outcome(client.call_tool(tool, arguments))
        if isinstance(outcome, Exception):  # a value that is not of the declared type
            assert isinstance(arguments.get("region"), dict | list)
            continue
        sent = server.received("tools/call")[-1]
        assert {name[10:].lower(): value for name, value in params_of(sent).items()} == {
            name.lower(): value for name, value in expected.items()
        }, arguments
        assert sent.arguments == arguments
        assert sent.all("x-evil") == []
    await at.get(client.close())


INVALID = {
    "empty": {"type": "string", "x-mcp-header": ""},
    "blank": {"type": "string", "x-mcp-header": "a b"},
    "colon": {"type": "string", "x-mcp-header": "a:b"},
    "line break": {"type": "string", "x-mcp-header": "a\r\nX-Evil: 1"},
    "not ASCII": {"type": "string", "x-mcp-header": "é"},
    "not a string": {"type": "string", "x-mcp-header": 5},
    "a number": {"type": "number", "x-mcp-header": "A"},
    "an object": {"type": "object", "x-mcp-header": "A"},
    "an array": {"type": "array", "x-mcp-header": "A"},
    "in items": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}},
    "in anyOf": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]},
}


@pytest.mark.parametrize("protocol", [MODERN, LEGACY])
@across
async def test_tools_whose_headers_are_not_valid_are_left_out(at, server, protocol, caplog):
    good = {"name": "good", "inputSchema": {"type": "object"}}
    twice = {
        "name": "twice",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "string", "x-mcp-header": "Same"},
                "b": {"type": "string", "x-mcp-header": "SAME"},
            },
        },
    }
    bad = [
        {"name": name, "inputSchema": {"type": "object", "properties": {"a": schema}}}
        for name, schema in INVALID.items()
    ]
    server.tools = [*bad[:5], good, *bad[5:], twice, REGION]
    client = await at.get(server.connect(protocol=protocol))
    assert [tool["name"] for tool in await at.get(client.list_tools())] == ["good", "query"]
    page = await at.get(client.list_page("tools"))
    assert [tool["name"] for tool in page.items] == ["good", "query"]
    assert len(page.result["tools"]) == len(server.tools)
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    for tool in (*bad, twice):
        assert [f"the tool {tool['name']!r} is left out" in one for one in warned].count(True) == 1
    await at.get(client.close())


@across
async def test_headers_the_server_misses_are_learnt(at, server):
    """-32020 to a call by name: the tools are listed, and the call is made once more."""
    server.tools.append(REGION)

    def query(exchange):
        if exchange.request.first("mcp-param-region") != "eu":
            exchange.json(error(exchange.request["id"], -32020, "Header mismatch"), 400)
        else:
            exchange.json(result(exchange.request["id"], text("own")))

    server.on("tool query", query)
    client = await at.get(server.connect(protocol=MODERN))
    assert text_of(await at.get(client.call_tool("query", {"region": "eu"}))) == "own"
    assert [r.rpc for r in server.requests] == ["tools/call", "tools/list", "tools/call"]
    first, _, second = server.requests
    assert first["id"] != second["id"]
    await at.get(client.call_tool("query", {"region": "eu"}))
    assert len(server.received("tools/list")) == 1, "what was listed is known"
    await at.get(client.close())


@pytest.mark.parametrize("by", ["name", "definition"])
@across
async def test_headers_that_are_never_right(at, server, by):
    server.tools.append(REGION)
    server.on("tool query", lambda e: e.json(error(e.request["id"], -32020, "Mismatch"), 400))
    client = await at.get(server.connect(protocol=MODERN))
    with took(below=2):
        tool = "query" if by == "name" else REGION
        said_no(await at.error(client.call_tool(tool, {"region": "eu"})), -32020, "Mismatch")
    assert len(server.received("tool query")) == (2 if by == "name" else 1)
    server.once("tool echo", lambda e: e.json(error(e.request["id"], -32020, "Mismatch"), 400))
    said_no(await at.error(client.call_tool("echo")), -32020, "Mismatch")
    await echoes(at, client)
    await at.get(client.close())


# ---- extensions


@across
async def test_an_extension_says_more_in_headers(at, server):
    def policy(message, policy):
        mirrors = (*policy.mirrors, Mirror("x-thing", ("params", "thing")))
        return dataclasses.replace(policy, mirrors=mirrors)

    things = SimpleNamespace(methods=[(MODERN, "things/get")], transport_policy=policy)
    server.on("things/get", lambda e: e.json(result(e.request["id"], {"resultType": "complete"})))
    client = await at.get(server.connect(protocol=MODERN))
    await at.get(client.request("things/get", {"thing": "a b"}, extension=things))
    (sent,) = server.requests
    assert sent.all("x-thing") == ["a b"]
    assert sent.all("mcp-method") == ["things/get"]
    failed = await at.error(client.request("others/get", extension=things))
    assert (failed.code, failed.delivery) == (-32000, "never_sent")
    assert len(server.requests) == 1
    await at.get(client.close())
