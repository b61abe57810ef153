"""Refusals by the transport of a server, which are no answers of its own.

Knows JSON-RPC errors that came with an HTTP status of 400 or more; knows nothing of connections.
"""

from __future__ import annotations

from snodo_actors.wire.jsonrpc import server_error
from snodo_actors.words.types import JSONObject


def is_refusal(message: JSONObject) -> bool:
    """Tell whether a transport refused the request under a name it made up, as some servers do."""
    return isinstance(message.get("id"), str) and server_error(message.get("error")) is not None


def tells_of_session(message: JSONObject) -> bool:
    """Tell whether a refusal means that the session is not known, where a 404 would be due.

    So say servers made with version 1 of the TypeScript SDK.
    """
    refused = server_error(message.get("error")) if message.get("id") is None else None
    return refused is not None and refused.code == -32000 and "session" in refused.message.lower()
