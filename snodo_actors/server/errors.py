"""What makes a request to the in-process server a JSON-RPC error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from snodo_actors.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from snodo_actors.words.types import JSONObject

RESOURCE_NOT_FOUND = -32002
"""What an unknown resource was before 2026-07-28."""


class JSONRPCError(Exception):
    """Raise it in a function of the server to answer the request with this error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} (code {self.code})"


def invalid_params(message: str, data: Any = None) -> JSONRPCError:
    """The params of the request are not what the method takes."""
    return JSONRPCError(INVALID_PARAMS, message, data)


def unknown_method(method: str) -> JSONRPCError:
    """The version has no such request."""
    return JSONRPCError(METHOD_NOT_FOUND, f"Method not found: {method}")


def not_offered(feature: str) -> JSONRPCError:
    """The server has nothing of the kind the method is about."""
    reason = f"Server does not support the {feature} capability"
    return JSONRPCError(
        METHOD_NOT_FOUND, f"{feature.capitalize()} not supported", {"reason": reason}
    )


def unsupported_version(requested: Any, supported: Sequence[str]) -> JSONRPCError:
    """The request names a version that is not enabled."""
    data = {"supported": list(supported), "requested": requested}
    return JSONRPCError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)


def missing_capability(needed: Mapping[str, Any], *, is_stateless: bool) -> JSONRPCError:
    """The client has not declared what the answer needs; only 2026-07-28 has a code for that."""
    message = f"Server requires the {' and '.join(needed)} capability for this request"
    if not is_stateless:
        return JSONRPCError(INTERNAL_ERROR, message)
    data: JSONObject = {"requiredCapabilities": dict(needed)}
    return JSONRPCError(MISSING_CLIENT_CAPABILITY, message, data)


def function_failed(what: str, error: Exception) -> JSONRPCError:
    """A function of the server raised."""
    return JSONRPCError(INTERNAL_ERROR, f"{what} failed: {said_by(error)}")


def said_by(error: Exception) -> str:
    """What an exception says, or what it is called where it says nothing."""
    return str(error) or type(error).__name__
