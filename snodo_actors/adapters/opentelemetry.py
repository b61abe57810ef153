"""Spans of OpenTelemetry for requests, with the names and attributes the official SDK uses.

`detach = instrument()` begins, `detach()` ends. Needs `opentelemetry-api`, in the extra `otel`.
Each request gets a client span named after its method and tool, whose context travels in `_meta`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry.propagate import inject
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_tracer, set_span_in_context

from snodo_actors.actors import telemetry

_MAX_OPEN = 100_000


def instrument(tracer: Tracer | None = None) -> Callable[[], None]:
    """Make a span of every request from now on, with *tracer* or the program's; returns the end."""
    return telemetry.attach(_Spans(tracer or get_tracer("snodo-actors")))


class _Spans:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open: dict[int, Span] = {}

    def __call__(self, event: str, what: dict[str, Any]) -> None:
        if event == "request.start":
            self._start(what)
        elif event == "request.stop":
            span = self._open.pop(what["id"], None)
            if span is not None:
                _end(span, what)

    def _start(self, what: dict[str, Any]) -> None:
        method, params = what["method"], what["params"]
        target = params.get("name") if method in ("tools/call", "prompts/get") else None
        attributes: dict[str, Any] = {
            "mcp.method.name": method,
            "jsonrpc.request.id": str(what["id"]),
        }
        if method == "tools/call":
            attributes["gen_ai.operation.name"] = "execute_tool"
            attributes["gen_ai.tool.name"] = str(target)
        elif method == "prompts/get":
            attributes["gen_ai.prompt.name"] = str(target)
        elif method == "resources/read":
            attributes["mcp.resource.uri"] = str(params.get("uri"))
        name = f"{method} {target}" if target else method
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)
        inject(what["carrier"], context=set_span_in_context(span))
        if len(self._open) < _MAX_OPEN:
            self._open[what["id"]] = span
        else:
            span.end()


def _end(span: Span, what: dict[str, Any]) -> None:
    error, result = what["error"], what["result"]
    if error is not None:
        code = str(getattr(error, "code", type(error).__qualname__))
        span.set_attributes({"error.type": code, "rpc.response.status_code": code})
        span.set_status(StatusCode.ERROR, getattr(error, "message", str(error)))
    elif isinstance(result, dict) and result.get("isError") is True:  # pyright: ignore[reportUnknownMemberType]  # a result may hold anything
        span.set_attribute("error.type", "tool_error")
        span.set_status(StatusCode.ERROR)
    span.end()
