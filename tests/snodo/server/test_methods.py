"""What each method answers, in each version; results are checked against the published schemas."""

from __future__ import annotations

from typing import Any

import pytest
from everything import FIRST, ICON, LATER, STATELESS, VERSIONS, Asker, make
from protocol_schemas import check

SERVER = make()
INFO = {
    "name": "everything",
    "version": "1.2",
    "title": "Everything",
    "description": "All there is",
    "icons": [ICON],
}


@pytest.fixture(scope="module", params=VERSIONS)
def asker(request: pytest.FixtureRequest) -> Asker:
    return Asker(SERVER, request.param, auth="secret")


def body(asker: Asker, result: Any, name: str) -> Any:
    """Check *result* by its schema, and take what the version adds off it."""
    check(result, asker.version, name)
    if asker.version != STATELESS:
        return result
    assert result.pop("resultType") == "complete"
    assert result.pop("_meta")["io.modelcontextprotocol/serverInfo"] == INFO
    return result


def fresh(asker: Asker, result: Any, name: str) -> tuple[Any, Any]:
    """As `body`, with how long it may be kept."""
    result = body(asker, result, name)
    if asker.version != STATELESS:
        return result, None
    return result, (result.pop("ttlMs"), result.pop("cacheScope"))


def test_the_introduction_of_a_stateless_server() -> None:
    asker = Asker(SERVER, STATELESS)

    result, kept = fresh(asker, asker.ask("server/discover"), "DiscoverResult")

    assert kept == (1500, "public")
    assert result == {
        "supportedVersions": [STATELESS],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "extensions": {"example/things": {}},
        },
        "instructions": "Try it all.",
    }


@pytest.mark.parametrize("version", [LATER, FIRST])
def test_the_introduction_of_the_initialize_era(version: str) -> None:
    asker = Asker(SERVER, version)
    known = INFO if version == LATER else {k: INFO[k] for k in ("name", "version", "title")}

    check(asker.hello, version, "InitializeResult")
    assert asker.hello == {
        "protocolVersion": version,
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
        "serverInfo": known,
        "instructions": "Try it all.",
    }
    assert asker.ask("ping") == {}


def test_the_list_of_tools(asker: Asker) -> None:
    result, kept = fresh(asker, asker.ask("tools/list"), "ListToolsResult")
    tools = {tool["name"]: tool for tool in result["tools"]}

    assert kept in (None, (1500, "public"))
    expected = {
        "name": "add",
        "title": "Adds",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "integer", "description": "the second", "default": 2},
            },
            "required": ["a"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {"result": {"type": "integer"}},
            "required": ["result"],
        },
        "annotations": {"readOnlyHint": True},
        "icons": [ICON],
        "_meta": {"a/b": 1},
    }
    if asker.version == FIRST:
        del expected["icons"]
    assert tools["add"] == expected
    assert tools["who"]["inputSchema"]["properties"] == {}
    assert tools["later"]["inputSchema"]["required"] == ["point"]
    assert tools["schema-given"]["inputSchema"] == {"type": "object"}
    assert ("outputSchema" in tools["schema-given"]) == (asker.version == STATELESS)
    assert [name for name in tools if "outputSchema" in tools[name]][:3] == [
        "add",
        "later",
        "notes",
    ]


CALLS = [
    ("add", {"a": 1}, ["3"], {"result": 3}),
    ("add", {"a": 1, "b": -1}, ["0"], {"result": 0}),
    ("later", {"point": {"x": 1}, "colour": "blue"}, ['{"x":2,"y":2.0}'], {"x": 2, "y": 2.0}),
    (
        "notes",
        {},
        ['[{"title":"one","tags":["a"]}]'],
        {"result": [{"title": "one", "tags": ["a"]}]},
    ),
    ("notes", {"kind": "none"}, ["[]"], {"result": []}),
    ("nothing", {}, [], None),
    ("steps", {"count": 3}, ["3"], {"result": 3}),
]


@pytest.mark.parametrize(("tool", "arguments", "texts", "structured"), CALLS)
def test_a_call_of_a_tool(
    asker: Asker, tool: str, arguments: Any, texts: list[str], structured: Any
) -> None:
    result = body(asker, asker.ask("tools/call", name=tool, arguments=arguments), "CallToolResult")

    expected: dict[str, Any] = {"content": [{"type": "text", "text": said} for said in texts]}
    if structured is not None:
        expected["structuredContent"] = structured
    assert result == expected


def test_structured_content_that_is_no_object_is_of_2026_only(asker: Asker) -> None:
    result = body(
        asker,
        asker.ask("tools/call", name="schema-given", arguments={"b": 1, "a": 2}),
        "CallToolResult",
    )

    assert result["content"] == [{"type": "text", "text": '["a","b"]'}]
    assert result.get("structuredContent") == (["a", "b"] if asker.version == STATELESS else None)


def test_blocks_of_every_kind(asker: Asker) -> None:
    result = body(asker, asker.ask("tools/call", name="blocks"), "CallToolResult")

    assert result["content"] == [
        {"type": "text", "text": "hello", "annotations": {"priority": 0.5}},
        {"type": "image", "data": "AQ==", "mimeType": "image/png"},
        {"type": "audio", "data": "Ag==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "notes://1", "name": "one"},
        {
            "type": "resource",
            "resource": {"uri": "notes://2", "mimeType": "application/x-thing", "blob": "Aw=="},
        },
    ]


def test_a_result_that_says_all_itself(asker: Asker) -> None:
    result = asker.ask("tools/call", name="whole")
    check(result, asker.version, "CallToolResult")

    assert result["content"] == [{"type": "text", "text": "no"}]
    assert (result["isError"], result["structuredContent"]) == (True, {"why": "no"})
    assert result["_meta"]["m"] == 1


@pytest.mark.parametrize(("how", "said"), [("plain", "it broke"), ("wordless", "LookupError")])
def test_what_a_tool_raises_is_its_result(asker: Asker, how: str, said: str) -> None:
    asked = asker.ask("tools/call", name="fails", arguments={"how": how})
    result = body(asker, asked, "CallToolResult")

    text = f"Error executing tool fails: {said}"
    assert result == {"content": [{"type": "text", "text": text}], "isError": True}


def test_arguments_that_do_not_fit(asker: Asker) -> None:
    asked = asker.ask("tools/call", name="add", arguments={"a": "one"})
    why = "Invalid arguments for tool add: Expected `int`, got `str` - at `$.a`"

    if asker.version == FIRST:
        assert asked == {"code": -32602, "message": why}
    else:
        result = body(asker, asked, "CallToolResult")
        assert result == {"content": [{"type": "text", "text": why}], "isError": True}


def test_what_the_call_says(asker: Asker) -> None:
    result = body(asker, asker.ask("tools/call", name="who"), "CallToolResult")

    assert result["structuredContent"] == {
        "auth": "secret",
        "version": asker.version,
        "method": "tools/call",
        "client": "asker",
        "capabilities": {},
    }


def test_the_lists_of_resources(asker: Asker) -> None:
    listed, _ = fresh(asker, asker.ask("resources/list"), "ListResourcesResult")
    templates, _ = fresh(
        asker, asker.ask("resources/templates/list"), "ListResourceTemplatesResult"
    )

    first = listed["resources"][0]
    assert ("icons" in first) == (asker.version != FIRST)
    first.pop("icons", None)
    assert first == {
        "uri": "notes://today",
        "name": "today",
        "title": "Today",
        "description": "What is today.",
        "mimeType": "text/plain",
        "size": 5,
    }
    assert templates["resourceTemplates"] == [
        {"uriTemplate": "notes://by/{author}/{number}", "name": "note", "mimeType": "text/plain"},
        {"uriTemplate": "files://{+path}", "name": "file"},
    ]


READS = [
    ("notes://today", [{"mimeType": "text/plain", "text": "today"}], (1500, "public")),
    ("notes://raw", [{"blob": "AAE="}], (9000, "private")),
    ("notes://data", [{"mimeType": "application/json", "text": '{"a":1}'}], (1500, "public")),
    (
        "notes://by/ann%20b/7",
        [{"mimeType": "text/plain", "text": "ann b wrote 7"}],
        (1500, "public"),
    ),
    ("files://a/b?c", [{"text": "a/b?c in {version}"}], (1500, "public")),
]


@pytest.mark.parametrize(("uri", "expected", "kept"), READS)
def test_a_resource_is_read(asker: Asker, uri: str, expected: list[Any], kept: Any) -> None:
    result, is_kept = fresh(asker, asker.ask("resources/read", uri=uri), "ReadResourceResult")

    assert is_kept == (kept if asker.version == STATELESS else None)
    contents = [{"uri": uri, **part} for part in expected]
    for part in contents:
        if "text" in part:
            part["text"] = part["text"].replace("{version}", asker.version)
    assert result == {"contents": contents}


def test_a_resource_of_many_parts(asker: Asker) -> None:
    result, _ = fresh(asker, asker.ask("resources/read", uri="notes://many"), "ReadResourceResult")

    assert [(part["uri"], part["text"]) for part in result["contents"]] == [
        ("notes://many/1", "one"),
        ("notes://many/2", "two"),
    ]


def test_prompts(asker: Asker) -> None:
    listed, _ = fresh(asker, asker.ask("prompts/list"), "ListPromptsResult")
    assert listed["prompts"][0] == {
        "name": "review",
        "title": "Review",
        "description": "Review some code.",
        "arguments": [
            {"name": "code", "description": "what to look at", "required": True},
            {"name": "style", "required": False},
        ],
    }

    asked = asker.ask("prompts/get", name="review", arguments={"code": "x = 1"})
    assert body(asker, asked, "GetPromptResult") == {
        "description": "Review some code.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Review (short): x = 1"}}
        ],
    }
    talk = body(asker, asker.ask("prompts/get", name="talk"), "GetPromptResult")
    assert [(m["role"], m["content"]["text"]) for m in talk["messages"]] == [
        ("user", "hello"),
        ("assistant", "hi"),
        ("user", "secret"),
    ]


REVIEW = {"type": "ref/prompt", "name": "review"}
BY = {"type": "ref/resource", "uri": "notes://by/{author}/{number}"}
TALK = {"type": "ref/prompt", "name": "talk"}
SETTLED = {"arguments": {"number": "7"}}
COMPLETIONS = [
    (REVIEW, ("style", "s"), {}, {"values": ["short", "long"], "total": 7, "hasMore": True}),
    (BY, ("author", "a"), {}, {"values": ["ann", "anton"]}),
    (BY, ("author", "7"), SETTLED, {"values": ["7"]}),
    (BY, ("number", "7"), {}, {"values": []}),
    (TALK, ("any", ""), {}, {"values": []}),
]


@pytest.mark.parametrize(("ref", "argument", "context", "completion"), COMPLETIONS)
def test_a_completion(asker: Asker, ref: Any, argument: Any, context: Any, completion: Any) -> None:
    named = dict(zip(("name", "value"), argument, strict=True))
    params = {"ref": ref, "argument": named, "context": context}
    result = body(asker, asker.ask("completion/complete", **params), "CompleteResult")

    assert result == {"completion": completion}


def test_a_completion_has_a_hundred_values_at_most(asker: Asker) -> None:
    params = {"ref": REVIEW, "argument": {"name": "code", "value": "c"}}
    result = body(asker, asker.ask("completion/complete", **params), "CompleteResult")

    completion = result["completion"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (
        100,
        150,
        True,
    )


def test_a_method_of_an_extension(asker: Asker) -> None:
    assert body(asker, asker.ask("example/do", what="it"), "Result") == {"did": "it"}


def test_progress_is_told_while_the_function_runs(asker: Asker) -> None:
    told: list[Any] = []
    token = {"_meta": {"progressToken": "t"}}
    options = {"on_progress": told.append}

    asker.ask("tools/call", options, name="steps", arguments={"count": 2}, **token)
    assert told == [
        {"progressToken": "t", "progress": 1, "total": 2, "message": "step 1"},
        {"progressToken": "t", "progress": 2, "total": 2, "message": "step 2"},
    ]
    for params in told:
        notification = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        check(notification, asker.version, "ProgressNotification")


def test_there_is_no_progress_without_a_token(asker: Asker) -> None:
    told: list[Any] = []
    asker.ask("tools/call", {"on_progress": told.append}, name="steps", arguments={"count": 2})

    assert told == []
