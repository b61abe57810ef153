"""JSON-RPC messages: how they are built, and what a response says.

Knows no ids, waiters or bytes. The `jsonrpc` member and the id of a response are the business of
whoever matches it to its request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from snodo_actors.words.errors import Error, ServerError
from snodo_actors.words.failures import malformed_response
from snodo_actors.words.types import InputRequired, JSONObject, is_object
from snodo_actors.words.versions import is_stateless

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

# What a response says: the result as it came, a wish for input, or what went wrong.
Outcome: TypeAlias = JSONObject | InputRequired | Error


def request(id: int, method: str, params: Mapping[str, Any]) -> JSONObject:
    """Build a request; params are always sent, even when empty."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, params: Mapping[str, Any]) -> JSONObject:
    """Build a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def cancelled(request_id: int, reason: str) -> JSONObject:
    """Build the notification that ends the request or stream *request_id*."""
    return notification("notifications/cancelled", {"requestId": request_id, "reason": reason})


def result_response(id: Any, result: Mapping[str, Any]) -> JSONObject:
    """Build the answer to a request of the server."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_response(id: Any, code: int, message: str, data: Any = None) -> JSONObject:
    """Build the refusal of a request of the server."""
    error: JSONObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def result_types(method: str, client_capabilities: Mapping[str, Any]) -> tuple[str, ...]:
    """Say which values of `resultType` an answer to *method* may have."""
    extensions: Any = client_capabilities.get("extensions")
    may_be_task = method == "tools/call" or method.startswith("tasks/")
    if may_be_task and isinstance(extensions, Mapping) and TASKS_EXTENSION in extensions:
        return ("complete", "task")
    return ("complete",)


def read_response(
    response: Mapping[str, Any],
    version: str | None = None,
    result_types: tuple[str, ...] = ("complete",),
) -> Outcome:
    """Say what *response* means on a connection that speaks *version*.

    In 2026-07-28 a `resultType` outside *result_types* is malformed; an absent one means complete.
    Before a version is settled, and in the older ones, it is not looked at.
    """
    result = response.get("result")
    if is_object(result) and "error" not in response:
        result_type = result.get("resultType", "complete")
        if result_type == "input_required":
            return InputRequired(result)
        if result_type not in result_types and version is not None and is_stateless(version):
            return malformed_response(response)
        return result
    if "result" in response:
        return malformed_response(response)
    return server_error(response.get("error")) or malformed_response(response)


def server_error(error: Any) -> ServerError | None:
    """Read the `error` member of a response; None if it is not one."""
    if not is_object(error):
        return None
    code, message = error.get("code"), error.get("message")
    if type(code) is not int or not isinstance(message, str):
        return None
    return ServerError(code, message, data=error.get("data"), delivery="answered")
