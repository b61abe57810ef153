"""What happens is told to whoever wants to know, and to OpenTelemetry."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import snodo_actors as snodo
from snodo_actors import telemetry
from snodo_actors.server import Call, Server
from supervisors import Node

SERVER = (
    "stdio",
    sys.executable,
    [str(Path(__file__).parent.parent / "cases" / "B-001" / "server.py")],
)


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def events() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    seen: list[tuple[str, dict[str, Any]]] = []
    detach = telemetry.attach(lambda event, what: seen.append((event, what)))
    yield seen
    detach()


def test_a_connection_and_its_requests_are_told(events, node: Node) -> None:
    with snodo.connect(SERVER, owner=node).get(timeout=20) as client:
        client.call_tool("echo", {"a": 1}).get(timeout=10)
        with pytest.raises(snodo.ServerError):
            client.request("no/such").get(timeout=10)

    assert [event for event, _ in events] == [
        "connect.start",
        "connect.stop",
        "request.start",
        "request.stop",
        "request.start",
        "request.stop",
    ]
    stops = [what for event, what in events if event == "request.stop"]
    assert (stops[0]["error"], stops[0]["result"]["isError"]) == (None, False)
    assert (stops[1]["error"].code, stops[1]["method"]) == (-32601, "no/such")
    assert all(what["duration"] >= 0 for what in stops)


def test_a_failed_connect_is_told(events, node: Node) -> None:
    with pytest.raises(snodo.TransportError):
        snodo.connect(("stdio", "no-such-command", []), owner=node).get(timeout=20)

    assert events[-1][0] == "connect.stop"
    assert events[-1][1]["error"].cause == "enoent"


@pytest.mark.parametrize(
    ("sent", "carried"),
    [
        ({}, {"tracestate": "a=1"}),
        ({"traceparent": TRACE}, {"traceparent": TRACE, "more": 1}),
        ({"traceparent": TRACE, "tracestate": "a=1"}, {"traceparent": TRACE, "tracestate": "a=1"}),
        (None, {"traceparent": "00", "tracestate": "a=1"}),
        (None, {"traceparent": TRACE, "tracestate": 5}),
    ],
)
def test_a_trace_context_of_a_handler_travels_if_it_is_one(
    sent, carried, caplog: pytest.LogCaptureFixture
) -> None:
    def carry(event: str, what: dict[str, Any]) -> None:
        if event == "request.start":
            what["carrier"].update(carried)

    server = Server("traced", "1")
    seen: list[Any] = []

    @server.tool()
    def look(call: Call) -> str:
        seen.append(call.meta)
        return ""

    client = snodo.direct(server.runtime(), protocol="2025-11-25").get(timeout=10)
    detach = telemetry.attach(carry)
    client.call_tool("look").get(timeout=10)
    detach()

    assert seen == [sent or {}]
    assert len(caplog.records) == (sent is None)


def test_a_handler_that_raises_is_taken_off(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: str, what: dict[str, Any]) -> None:
        raise RuntimeError("oops")

    detach = telemetry.attach(broken)
    telemetry.emit("connect.start", who="x")
    telemetry.emit("connect.start", who="x")
    detach()

    assert len(caplog.records) == 1
    assert telemetry.handlers == ()


def test_a_handler_must_be_callable() -> None:
    with pytest.raises(TypeError, match="function of two arguments"):
        telemetry.attach("me")  # type: ignore[arg-type]  # that is the point


def test_a_tool_call_is_a_client_span_whose_context_travels(node: Node) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import SpanKind

    from snodo_actors.adapters.opentelemetry import instrument

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    detach = instrument(provider.get_tracer("test"))
    try:
        with snodo.connect(SERVER, owner=node).get(timeout=20) as client:
            client.call_tool("echo", {"a": 1}).get(timeout=10)
            with pytest.raises(snodo.ServerError):
                client.request("no/such").get(timeout=10)
    finally:
        detach()
        provider.shutdown()
    call, failed = exporter.get_finished_spans()

    assert (call.name, call.kind) == ("tools/call echo", SpanKind.CLIENT)
    assert call.attributes is not None
    assert call.attributes["gen_ai.tool.name"] == "echo"
    assert call.attributes["mcp.method.name"] == "tools/call"
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "-32601"
