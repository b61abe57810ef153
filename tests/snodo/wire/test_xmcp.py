from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol_schemas import examples

from snodo_actors.wire.xmcp import (
    Annotation,
    Invalid,
    invalid_reason,
    param_headers,
    read_annotations,
)


def at(name, type="string", **more):
    return {"type": type, "x-mcp-header": name, **more}


def schema(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("annotations", "input_schema"),
    [
        ((), None),
        ((), True),
        ((), []),
        ((), {}),
        ((), schema()),
        ((), schema(a={"type": "string"}, b=True)),
        ((), {"properties": None}),
        ([("A", "a")], schema(a=at("A"))),
        ([("A", "a"), ("b-1", "b")], schema(a=at("A"), b=at("b-1", "integer"))),
        ([("A", "a")], schema(a=at("A", "boolean"))),
        ([("Method", "a")], schema(a=at("Method"))),
        ([("!#$%&'*+-.^_`|~09Az", "a")], schema(a=at("!#$%&'*+-.^_`|~09Az"))),
        # nested objects
        ([("A", "a", "b", "c")], schema(a=schema(b=schema(c=at("A"))))),
        ([("X", "a"), ("Y", "b", "a")], schema(a=at("X"), b=schema(a=at("Y")))),
        # a property may have any name
        ([("A", "x-mcp-header")], schema(**{"x-mcp-header": at("A")})),
        ([("A", "properties")], schema(properties=at("A"))),
        ([("A", "default")], schema(default=at("A"))),
        ([("A", "items", "enum")], schema(items=schema(enum=at("A")))),
        # data that looks like one
        ((), schema(a={"type": "object", "default": at("A")})),
        ((), schema(a={"const": at("A")}, b={"enum": [at("A")]}, c={"examples": [[at("")]]})),
        ([("A", "a")], schema(a=at("A", default={"x-mcp-header": 5}, enum=["x-mcp-header"]))),
    ],
)
def test_annotations(annotations, input_schema) -> None:
    expected = tuple(Annotation(name, tuple(path)) for name, *path in annotations)

    assert read_annotations(input_schema) == expected
    assert invalid_reason({"name": "t", "inputSchema": input_schema}) is None


OUT_OF_REACH = "reached through properties alone"


@pytest.mark.parametrize(
    ("reason", "input_schema"),
    [
        ("no string", schema(a=at(None))),
        ("no string", schema(a=at(5))),
        ("no string", schema(a=at(["A"]))),
        ("empty", schema(a=at(""))),
        ("characters", schema(a=at("A B"))),
        ("characters", schema(a=at("A:"))),
        ("characters", schema(a=at("A\r\n"))),
        ("characters", schema(a=at("é"))),
        ("twice", schema(a=at("A"), b=at("A"))),
        ("twice", schema(a=at("Region"), b=schema(c=at("rEGION")))),
        ("'a.b' is not of type", schema(a=schema(b=at("A", "number")))),
        ("not of type", schema(a=at("A", "object"))),
        ("not of type", schema(a=at("A", "null"))),
        ("not of type", schema(a=at("A", ["string"]))),
        ("not of type", schema(a=at("A", ["string", "null"]))),
        ("not of type", schema(a={"x-mcp-header": "A"})),
        (OUT_OF_REACH, {"type": "string", "x-mcp-header": "A"}),
        (OUT_OF_REACH, {"x-mcp-header": None}),
        (OUT_OF_REACH, schema(a={"type": "array", "items": at("A")})),
        (OUT_OF_REACH, schema(a={"type": "array", "items": schema(b=at("A"))})),
        (OUT_OF_REACH, schema(a={"type": "array", "prefixItems": [at("A")]})),
        (OUT_OF_REACH, {"oneOf": [schema(a=at("A"))]}),
        (OUT_OF_REACH, schema(a={"anyOf": [{}, [at("A")]]})),
        (OUT_OF_REACH, schema(a={"allOf": [at("A")]})),
        (OUT_OF_REACH, {"not": at("A")}),
        (OUT_OF_REACH, {"if": schema(a=at("A"))}),
        (OUT_OF_REACH, {"$defs": {"x": at("A")}}),
        (OUT_OF_REACH, {"$defs": {"x": schema(a=at("A"))}}),
        (OUT_OF_REACH, {"additionalProperties": at("A")}),
        (OUT_OF_REACH, {"patternProperties": {"^a": at("A")}}),
        (OUT_OF_REACH, {"dependentSchemas": {"a": schema(b=at("A"))}}),
        (OUT_OF_REACH, {"unknown": at("A")}),
        (OUT_OF_REACH, {"properties": [at("A")]}),
    ],
)
def test_an_annotation_that_breaks_the_rules_makes_the_tool_invalid(reason, input_schema) -> None:
    read = read_annotations(input_schema)

    assert isinstance(read, Invalid)
    assert reason in read.reason
    assert invalid_reason({"name": "t", "inputSchema": input_schema}) == read.reason


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ({"A": "x", "B": "y"}, {"a": "x", "b": {"c": "y"}}),
        ({"A": ""}, {"a": ""}),
        ({"A": " é "}, {"a": " é "}),
        ({"A": "true"}, {"a": True}),
        ({"A": "false"}, {"a": False}),
        ({"A": "0"}, {"a": 0}),
        ({"A": "-12345678901234567890"}, {"a": -12345678901234567890}),
        ({"A": "1.5"}, {"a": 1.5}),
        ({"A": "0.1"}, {"a": 0.1}),
        ({"A": "42.0"}, {"a": 42.0}),
        ({"A": "1e300"}, {"a": 1e300}),
        ({}, {"a": None}),
        ({}, {"a": ["x"]}),
        ({}, {"a": {"x": "y"}}),
        ({}, {}),
        ({}, {"b": None}),
        ({}, {"b": "c"}),
        ({}, {"b": {"d": "y"}}),
        ({}, None),
        ({}, ["a"]),
    ],
)
def test_arguments_become_headers(sent, arguments) -> None:
    annotations = read_annotations(schema(a=at("A"), b=schema(c=at("B", "integer"))))
    assert not isinstance(annotations, Invalid)

    assert param_headers(annotations, arguments) == tuple(
        (f"Mcp-Param-{name}", value) for name, value in sent.items()
    )


def test_published_tools_have_no_annotations() -> None:
    for tool in examples("Tool"):
        assert read_annotations(tool["inputSchema"]) == ()


KEYS = st.sampled_from(["properties", "x-mcp-header", "type", "items", "a", "default", "$defs"])
SCHEMAS = st.recursive(
    st.sampled_from(["string", "A", None, 5, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(SCHEMAS)
def test_any_schema_is_read(input_schema) -> None:
    assert isinstance(read_annotations(input_schema), tuple | Invalid)


def test_a_deep_schema_is_read() -> None:
    deep = at("A")
    for _ in range(50_000):
        deep = {"items": deep}

    assert isinstance(read_annotations(deep), Invalid)
