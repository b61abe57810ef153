"""What a function of the server asks the user of the client for, before it can answer.

In 2026-07-28 the client gets the questions as the result, and sends the request again with the
answers. For the older versions they are asked as requests of the server, while the client waits.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from snodo_actors.words.types import InputRequired, JSONObject, is_object

FORM_ONLY: Final = "2025-06-18"
"""The version that knows no other elicitation than forms, and so no modes."""


class InputNeeded(Exception):
    """Raise it in a function of a tool, prompt or resource, or return it, to ask for input.

    *requests* are `ask_form(...)` and the like, each by a name of your choice. The function is
    called again with the answers in `call.input_responses`, by the same names, and with *state*
    unchanged in `call.request_state`. The client could change the state: do not trust it.
    """

    def __init__(
        self, requests: Mapping[str, JSONObject] | None = None, state: str | None = None
    ) -> None:
        if not requests and state is None:
            raise ValueError("InputNeeded needs requests, a state or both")
        super().__init__(requests, state)
        self.requests = dict(requests or {})
        self.state = state


def ask_form(message: str, schema: Mapping[str, Any]) -> JSONObject:
    """Ask for values; *schema* is flat: an object of strings, numbers, booleans and choices."""
    params = {"mode": "form", "message": message, "requestedSchema": dict(schema)}
    return {"method": "elicitation/create", "params": params}


def ask_url(message: str, url: str) -> JSONObject:
    """Ask the user to go to *url*."""
    return {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": message, "url": url},
    }


def ask_sampling(
    messages: Sequence[Mapping[str, Any]], max_tokens: int, **params: Any
) -> JSONObject:
    """Ask the client's model; *params* are the other fields of the request."""
    needed = {"messages": list(messages), "maxTokens": max_tokens}
    return {"method": "sampling/createMessage", "params": {**needed, **params}}


def ask_roots() -> JSONObject:
    """Ask for the client's roots."""
    return {"method": "roots/list"}


def read_needed(value: Any) -> InputNeeded | None:
    """Read what a function returned; None if it is no wish for input."""
    if isinstance(value, InputRequired):
        return InputNeeded(value.input_requests, value.request_state)
    return value if isinstance(value, InputNeeded) else None


def needed_result(needed: InputNeeded) -> JSONObject:
    """Build the result that asks, for 2026-07-28."""
    result: JSONObject = {"resultType": "input_required"}
    if needed.requests:
        result["inputRequests"] = needed.requests
    if needed.state is not None:
        result["requestState"] = needed.state
    return result


def needed_capabilities(requests: Mapping[str, JSONObject], declared: JSONObject) -> JSONObject:
    """Say which capabilities the client would have to declare to be asked this."""
    missing: JSONObject = {}
    for request in requests.values():
        name, part = _capability(request)
        own = declared.get(name)
        if is_object(own) and (part is None or part in own or (part == "form" and not own)):
            continue
        missing.setdefault(name, {}).update({} if part is None else {part: {}})
    return missing


def _capability(request: JSONObject) -> tuple[str, str | None]:
    params = request.get("params", {})
    match request.get("method"):
        case "elicitation/create":
            return "elicitation", params.get("mode", "form")
        case "sampling/createMessage":
            return "sampling", "tools" if "tools" in params or "toolChoice" in params else None
        case "roots/list":
            return "roots", None
        case method:
            raise ValueError(f"no client can be asked {method!r}")


def as_server_request(request: JSONObject, version: str) -> JSONObject:
    """Build the request of the server that asks the same in an initialize-era *version*."""
    message: JSONObject = {"jsonrpc": "2.0", "id": f"input-{uuid.uuid4().hex}", **request}
    if request["method"] == "elicitation/create":
        params = dict(request["params"])
        if version == FORM_ONLY:
            params.pop("mode", None)
        elif params.get("mode") == "url":
            params.setdefault("elicitationId", uuid.uuid4().hex)
        message["params"] = params
    return message
