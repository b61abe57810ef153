"""What a caller adds to `_meta`: it goes out as given, or is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

import snodo_actors as snodo
from snodo_actors.server import Call, Server

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def server() -> tuple[Server, list[dict[str, Any]]]:
    made, seen = Server("meta", "1"), []

    @made.tool()
    def look(call: Call) -> str:
        seen.append(call.meta)
        return ""

    return made, seen


def test_what_is_valid_goes_out_as_given() -> None:
    made, seen = server()
    client = snodo.direct(made.runtime(), protocol="2025-11-25").get(timeout=10)
    own = {"com.example/a": [1], "progressToken": "mine", "": None, "traceparent": TRACE}

    client.call_tool("look", meta=own).get(timeout=10)
    client.request("tools/call", {"name": "look", "_meta": own}).get(timeout=10)

    assert seen == [own, own]


def test_what_the_version_says_can_be_said_otherwise() -> None:
    made, seen = server()
    client = snodo.direct(made.runtime(), protocol="2026-07-28").get(timeout=10)
    info = {"name": "other", "version": "2"}

    client.call_tool("look", meta={"io.modelcontextprotocol/clientInfo": info}).get(timeout=10)

    assert seen[0]["io.modelcontextprotocol/clientInfo"] == info


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (ValueError, {"not a key": 1}),
        (ValueError, {"traceparent": "00"}),
        (TypeError, {"baggage": None}),
    ],
)
def test_what_is_not_valid_is_refused_at_once(error: type[Exception], wrong: Any) -> None:
    made, seen = server()
    client = snodo.direct(made.runtime()).get(timeout=10)

    with pytest.raises(error, match="meta"):
        client.call_tool("look", meta=wrong)
    with pytest.raises(error, match="meta"):
        client.list_tools(meta=wrong)
    with pytest.raises(error, match="meta"):
        client.listen({}, meta=wrong)
    with pytest.raises(error, match="meta"):
        client.request("tools/call", {"name": "look", "_meta": wrong})

    assert seen == []


def test_what_is_overridden_is_not_looked_at() -> None:
    """`trace_context` wins over `meta`, and both over the `_meta` of the params."""
    made, seen = server()
    client = snodo.direct(made.runtime(), protocol="2025-11-25").get(timeout=10)
    mine, params = {"traceparent": "mine"}, {"name": "look", "_meta": {"traceparent": "mine"}}
    trace = {"traceparent": TRACE}

    client.call_tool("look", meta=mine, trace_context=trace).get(timeout=10)
    client.request("tools/call", params, trace_context=trace).get(timeout=10)
    client.request("tools/call", params, meta=trace).get(timeout=10)

    assert seen == [trace] * 3
    with pytest.raises(ValueError, match="traceparent in params"):
        client.request("tools/call", params, meta={"tracestate": "a=1"})
    with pytest.raises(TypeError, match="meta must be"):
        client.request("tools/call", params, meta="mine", trace_context=trace)
