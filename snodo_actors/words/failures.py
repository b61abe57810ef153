"""The failures any connection may have: their codes, texts, data and causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snodo_actors.words.errors import (
    Delivery,
    InputError,
    ProtocolError,
    RequestTimeout,
    TransportError,
)
from snodo_actors.words.versions import VERSIONS

# No common version, or no such method


def unknown_protocol(requested: str) -> ProtocolError:
    """The `protocol` option names a version this client does not speak."""
    return ProtocolError(
        -32602,
        f"unknown protocol version {requested!r}; use one of {', '.join(VERSIONS)}",
        data={"requested": requested, "supported": list(VERSIONS)},
        delivery="never_sent",
    )


def not_enabled(requested: Sequence[str], enabled: Sequence[str]) -> ProtocolError:
    """The in-process server enables none of the allowed versions."""
    return ProtocolError(
        -32602,
        f"the server enables none of {', '.join(requested)}; it enables {', '.join(enabled)}",
        data={"requested": list(requested), "enabled": list(enabled)},
        delivery="never_sent",
    )


def no_common_version(requested: Sequence[str], supported: Sequence[Any]) -> ProtocolError:
    """The server listed its versions, and none of them is allowed."""
    return ProtocolError(
        -32602,
        f"the server supports none of {', '.join(requested)}; "
        f"it supports {', '.join(map(str, supported))}",
        data={"requested": list(requested), "supported": list(supported)},
        delivery="answered",
    )


def version_not_allowed(negotiated: str, requested: Any) -> ProtocolError:
    """The server answered `initialize` with a version that is not allowed."""
    return ProtocolError(
        -32602,
        f"the server negotiated version {negotiated!r}, which is not allowed here",
        data={"negotiated": negotiated, "requested": requested},
        delivery="answered",
    )


def cannot_notify(requested: Sequence[str]) -> ProtocolError:
    """The transport has no `notify`, which `initialize` needs."""
    return ProtocolError(
        -32602,
        f"the transport cannot send notifications, which {' and '.join(requested)} need; "
        "give it a notify(), or allow 2026-07-28",
        data={"requested": list(requested)},
        delivery="never_sent",
    )


def method_not_found(method: str, version: str) -> ProtocolError:
    """The version's catalog has no such client request."""
    return ProtocolError(
        -32601,
        f"{method!r} is not a request a client sends in {version}",
        data={"method": method, "protocolVersion": version},
        delivery="never_sent",
    )


# Answers that are none


def malformed_initialize(result: Any) -> TransportError:
    """The answer to `initialize` has no protocolVersion, or asks for input."""
    return TransportError(
        -32000,
        "the server answered initialize without a protocolVersion",
        cause=result,
        delivery="answered",
    )


def malformed_response(response: Any) -> TransportError:
    """The answer is not a JSON-RPC response this version allows."""
    return TransportError(
        -32000,
        "the server sent a malformed response",
        cause=response,
        delivery="answered",
    )


def malformed_page(result: Any) -> TransportError:
    """The answer to a list request is not a page."""
    return TransportError(
        -32000,
        "the server answered a list request with something that is not a page",
        cause=result,
        delivery="answered",
    )


def repeated_cursor(kind: str, cursor: str) -> TransportError:
    """A page names a cursor that was followed before."""
    return TransportError(
        -32000,
        f"the server repeated a cursor while listing {kind}",
        cause=(kind, cursor),
        delivery="answered",
    )


def too_many_pages(kind: str, max_pages: int) -> TransportError:
    """The last allowed page still names a next one."""
    return TransportError(
        -32000,
        f"listing {kind} did not end within {max_pages} pages; "
        "follow the pages with list_page(), or raise max_pages",
        cause=(kind, max_pages),
        delivery="answered",
    )


# No answer in time


def milliseconds(seconds: float) -> int | float:
    """Write a time as the wire data do."""
    exact = seconds * 1000
    whole = round(exact)
    return whole if abs(exact - whole) < 1e-6 else exact


def timed_out(timeout: float, *, delivery: Delivery = "unknown") -> RequestTimeout:
    """No answer, acknowledgement or free connection came within *timeout* seconds."""
    return RequestTimeout(
        -32001,
        f"the request timed out after {timeout:g} s",
        data={"timeoutMs": milliseconds(timeout)},
        cause="timeout",
        delivery=delivery,
    )


def total_timed_out(max_total_timeout: float) -> RequestTimeout:
    """Progress kept the request alive, up to *max_total_timeout* seconds."""
    return RequestTimeout(
        -32001,
        "Maximum total timeout exceeded",
        data={"maxTotalTimeoutMs": milliseconds(max_total_timeout)},
        cause="max_total_timeout",
    )


# Input the server asked for


def no_input_handler(id: str, kind: str | None, result: Any) -> InputError:
    """No handler is installed for the kind of the input request *id*."""
    return InputError(
        -32602,
        f"no input handler for {kind or 'a request without a method'} (input request {id!r})",
        data={"inputRequest": id},
        cause=("no_input_handler", kind, result),
        delivery="answered",
    )


def input_handler_failed(id: str, reason: Any, result: Any) -> InputError:
    """The handler of the input request *id* refused, or returned nothing valid."""
    return InputError(
        -32603,
        f"the input handler for request {id!r} failed",
        cause=("input_handler", id, reason, result),
        delivery="answered",
    )


def too_many_input_rounds(limit: int, result: Any) -> InputError:
    """The server still asks after *limit* answered results."""
    return InputError(
        -32000,
        f"the server still asks for input after {limit} rounds",
        data={"maxInputRounds": limit},
        kind="transport",
        cause=("max_input_rounds", result),
        delivery="answered",
    )


def malformed_input(result: Any) -> InputError:
    """The answer that asks for input cannot be answered."""
    return InputError(
        -32000,
        "the server asked for input in a malformed way",
        kind="transport",
        cause=result,
        delivery="answered",
    )
