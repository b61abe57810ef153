from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.machines.tool_headers import ToolHeaders


def tool(name, **headers):
    """Define a tool, each of whose properties travels in the header it is given with."""
    properties = {
        property: {"type": "string"} | ({} if header is None else {"x-mcp-header": header})
        for property, header in headers.items()
    }
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def listed(known, *tools, dumps=json.dumps, **more):
    """List *tools*, which stay as they are."""
    result = {"tools": list(tools), **more}
    known.listed(result, dumps(result).encode())
    assert result == {"tools": list(tools), **more}


def call(known, name, definition=None, **arguments):
    return known.fields({"name": name, "arguments": arguments}, definition)


def sent(**headers):
    return tuple((f"Mcp-Param-{name}".encode(), value.encode()) for name, value in headers.items())


PLAIN, A, B = tool("plain", x=None), tool("a", x="A"), tool("b", x="X", y="Y")
BAD = tool("bad", x="no good")
NAMELESS = {"inputSchema": BAD["inputSchema"]}


@pytest.mark.parametrize(
    "tools",
    [
        [],
        [PLAIN],
        [BAD],
        [BAD, PLAIN, tool("c", x="t", y="T")],
        [NAMELESS],
        [BAD | {"name": ["bad"]}],
        [None, 5, "a", [BAD], {}, {"name": 5}],
        [{"name": "a"}],
        [A | {"inputSchema": True}],
        [{"name": "a", "title": "x-mcp-header"}],
        [{"name": "a", "x-mcp-header": ""}],
    ],
)
def test_nothing_is_learnt_from_what_has_no_valid_annotation(tools):
    known = ToolHeaders()
    listed(known, *tools, nextCursor="c")
    for name in ["a", "bad", "plain", "c", None, 5, ["bad"]]:
        assert not known.knows(name)
        assert known.fields({"name": name, "arguments": {"x": "y", "y": "z"}}, None) == ()


@pytest.mark.parametrize("tools", [None, {}, {"a": BAD}, "x-mcp-header", 5])
def test_a_list_that_is_none_is_left_as_it_is(tools):
    result = {"tools": tools, "_meta": BAD}
    before = json.dumps(result)

    ToolHeaders().listed(result, before.encode())
    ToolHeaders().listed({"notools": [BAD]}, before.encode())
    assert json.dumps(result) == before


# ---- calls

EVERY = {
    "name": "every",
    "inputSchema": {
        "properties": {
            "s": {"type": "string", "x-mcp-header": "S"},
            "b": {"type": "boolean", "x-mcp-header": "b-1"},
            "i": {"type": "integer", "x-mcp-header": "I"},
            "in": {"properties": {"ner": {"type": "string", "x-mcp-header": "In"}}},
            "not": {"type": "string"},
        }
    },
}


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({}, {}),
        ({}, {"not": "x", "other": "y"}),
        ({"S": "x"}, {"s": "x"}),
        ({"S": ""}, {"s": ""}),
        ({"S": "=?base64?w7w=?="}, {"s": "ü"}),
        ({"S": "=?base64?IHg=?="}, {"s": " x"}),
        ({"S": "=?base64?YQ0KYjogYw==?="}, {"s": "a\r\nb: c"}),
        ({"b-1": "true"}, {"b": True}),
        ({"b-1": "false", "I": "-5"}, {"i": -5, "b": False}),
        ({"I": "1.5"}, {"i": 1.5}),  # the type is the server's to check
        ({"I": "12345678901234567890123"}, {"i": 12345678901234567890123}),
        ({}, {"s": None, "b": [True], "i": {}}),
        ({"In": "x"}, {"in": {"ner": "x"}}),
        ({}, {"in": {}, "ner": "x"}),
        ({}, {"in": "ner"}),
        ({}, {"in": None}),
    ],
)
def test_arguments_travel_in_headers(fields, arguments):
    known = ToolHeaders()
    assert known.fields({"name": "every", "arguments": arguments}, None) == ()
    assert known.fields({"name": "every", "arguments": arguments}, EVERY) == sent(**fields)
    listed(known, EVERY)
    assert known.fields({"name": "every", "arguments": arguments}, None) == sent(**fields)


@pytest.mark.parametrize(
    "params",
    [
        {"name": "a"},
        {"name": "a", "arguments": None},
        {"name": "a", "arguments": ["x"]},
        {"name": "b", "arguments": {"z": "1"}},
        {"name": "plain", "arguments": {"x": "1"}},
        {"name": "unknown", "arguments": {"x": "1"}},
        # calls no server would take, but which are the server's to refuse
        {},
        {"arguments": {"x": "1"}},
        {"name": None, "arguments": {"x": "1"}},
        {"name": ["a"], "arguments": {"x": "1"}},
        {"name": {"a": 1}, "arguments": {"x": "1"}},
    ],
)
def test_where_there_is_nothing_to_tell_there_is_no_header(params):
    known = ToolHeaders()
    listed(known, A, B, PLAIN)

    assert known.fields(params, None) == ()
    assert not known.knows(params.get("name")) or params["name"] in ("a", "b")


@pytest.mark.parametrize(
    ("fields", "definition"),
    [
        ({"Mine": "1"}, tool("a", x="Mine")),
        ({"Mine": "1"}, tool("other", x="Mine")),
        ({}, PLAIN),
        ({}, {"name": "a"}),
        ({}, {"name": "a", "inputSchema": None}),
        ({}, {"name": "a", "inputSchema": []}),
        ({}, BAD),
    ],
)
def test_the_caller_s_definition_is_the_one_that_counts(fields, definition):
    known = ToolHeaders()
    listed(known, A)

    assert call(known, "a", definition, x="1") == sent(**fields)
    assert call(known, "a", x="1") == sent(A="1")


# what a call of "a" with x="1" carries after each list
@pytest.mark.parametrize(
    "lists",
    [
        [({"A": "1"}, [A]), ({"New": "1"}, [tool("a", x="New")])],
        [({"A": "1"}, [A]), ({}, [tool("a", x=None)])],
        [({"A": "1"}, [A]), ({}, [{"name": "a"}]), ({"A": "1"}, [A])],
        [({"A": "1"}, [A]), ({}, [tool("a", x="no good")]), ({"A": "1"}, [A])],
        [({}, [tool("a", x="no good")]), ({"A": "1"}, [A])],
        # a page says nothing of the tools of another
        [({}, [B]), ({"A": "1"}, [A]), ({"A": "1"}, [PLAIN]), ({"A": "1"}, [])],
    ],
)
def test_the_last_list_counts(lists):
    known = ToolHeaders()
    for number, (fields, tools) in enumerate(lists):
        listed(known, *tools)
        assert (number, sent(**fields)) == (number, call(known, "a", x="1"))
        assert known.knows("a") == bool(fields)


def test_there_is_a_limit_to_what_is_remembered():
    known = ToolHeaders(max_tools=2)
    listed(known, A, B, tool("c", x="C"), BAD)
    assert [known.knows(name) for name in "abc"] == [True, True, False]

    listed(known, tool("a", x="New"), tool("b", x=None), tool("c", x="C"))
    assert [known.knows(name) for name in "abc"] == [True, False, True]
    assert call(known, "a", x="1") == sent(New="1")


@pytest.mark.parametrize(
    "dumps",
    [
        json.dumps,
        lambda value: json.dumps(value, indent=2),
        lambda value: json.dumps(value).replace("x-mcp-header", "x\\u002Dmcp-header"),
        lambda value: json.dumps(value).replace("x-mcp-header", "\\u0078-mcp-header"),
    ],
)
def test_how_the_list_was_written_makes_no_difference(dumps):
    known = ToolHeaders()

    listed(known, A, BAD, dumps=dumps)
    assert call(known, "a", x="1") == sent(A="1")


KEYS = st.sampled_from(
    ["tools", "name", "inputSchema", "properties", "x-mcp-header", "type", "items", "a"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "A", "string", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(st.lists(VALUES, max_size=4), max_size=3), VALUES)
def test_whatever_is_listed_can_be_called(lists, arguments):
    known = ToolHeaders()
    listed(known, A)
    for tools in lists:
        listed(known, *tools)
    for name in ["a", "", None, arguments]:
        known.fields({"name": name, "arguments": arguments}, None)
    known.fields({"name": "a", "arguments": arguments}, {"inputSchema": arguments})
