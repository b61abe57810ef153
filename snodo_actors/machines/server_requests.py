"""What becomes of the requests a server sends of its own accord.

Knows which are answered, with what, and how many at a time; knows nothing of handlers or pipes. A
ping is answered on the spot and takes no place among the running ones.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, TypeAlias

from snodo_actors.machines.input_requests import Asked, Malformed, read_input_request
from snodo_actors.machines.input_responses import HandlerFailure, read_handler_return
from snodo_actors.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    error_response,
    result_response,
)
from snodo_actors.words.types import InputKind, JSONObject
from snodo_actors.words.versions import is_stateless


@dataclass(frozen=True, slots=True)
class Run:
    """Run the handler for *kind*, under *key*; then call `returned`, `raised` or `killed`."""

    key: int
    kind: InputKind
    params: JSONObject


@dataclass(frozen=True, slots=True)
class Reply:
    """Send the response *message*."""

    message: JSONObject


Deed: TypeAlias = Run | Reply


def answers_server_requests(version: str | None) -> bool:
    """Tell whether a client may answer: in 2026-07-28 it never sends a response."""
    return version is None or not is_stateless(version)


def decide(message: JSONObject, can_answer: Container[str]) -> Asked | Reply:
    """Decide about the request *message*: run a handler, or reply at once."""
    id, method = message["id"], message["method"]
    if method == "ping":
        return Reply(result_response(id, {}))
    reading = read_input_request(message, can_answer)
    if isinstance(reading, Asked):
        return reading
    if isinstance(reading, Malformed):
        return Reply(error_response(id, INVALID_PARAMS, "invalid params"))
    if _is_undeclared_mode(method, can_answer):
        return Reply(error_response(id, INVALID_PARAMS, "elicitation mode not supported"))
    return Reply(error_response(id, METHOD_NOT_FOUND, "method not found"))


def reply_to(id: Any, kind: InputKind, value: Any) -> Reply:
    """Make the reply to the request *id* from what its handler returned."""
    answer = read_handler_return(kind, value)
    if not isinstance(answer, HandlerFailure):
        return Reply(result_response(id, answer))
    match answer.reason:
        case ("invalid_return", _):
            text = "the input handler returned an unexpected value"
        case ("invalid_response", _):
            text = "the input handler returned an invalid response"
        case _:
            text = "the input handler returned an error"
    return Reply(error_response(id, INTERNAL_ERROR, text))


@dataclass(frozen=True, slots=True)
class _Running:
    id: Any
    kind: InputKind


class ServerRequests:
    """At most *limit* requests of the server that run at the same time."""

    __slots__ = ("_can_answer", "_last_key", "_limit", "_running")

    def __init__(self, can_answer: Container[str], limit: int) -> None:
        self._can_answer = can_answer
        self._limit = limit
        self._running: dict[int, _Running] = {}
        self._last_key = 0

    def asked(self, message: JSONObject) -> Deed:
        """Take the request *message*."""
        decision = decide(message, self._can_answer)
        if isinstance(decision, Reply):
            return decision
        id = message["id"]
        if len(self._running) >= self._limit:
            text = f"more than {self._limit} requests at the same time (max_server_requests)"
            return Reply(error_response(id, INTERNAL_ERROR, text))
        self._last_key += 1
        self._running[self._last_key] = _Running(id, decision.kind)
        return Run(self._last_key, decision.kind, decision.params)

    def returned(self, key: int, value: Any) -> Reply | None:
        """Make the reply from what the handler of *key* returned; None: nobody wants it."""
        running = self._running.pop(key, None)
        return None if running is None else reply_to(running.id, running.kind, value)

    def raised(self, key: int, text: str) -> Reply | None:
        """Make the reply that tells of the handler's exception."""
        return self._failed(key, f"the input handler raised: {text}")

    def killed(self, key: int, reason: str) -> Reply | None:
        """Make the reply that tells of the end of the handler's process."""
        return self._failed(key, f"the input handler exited: {reason}")

    def cancelled(self, id: Any) -> list[int]:
        """Forget what runs for the request *id*, and return the keys to stop."""
        keys = [key for key, running in self._running.items() if _is_same_id(running.id, id)]
        for key in keys:
            del self._running[key]
        return keys

    def close(self) -> list[int]:
        """Forget all that runs, and return the keys to stop."""
        keys = list(self._running)
        self._running.clear()
        return keys

    def __len__(self) -> int:
        return len(self._running)

    def _failed(self, key: int, text: str) -> Reply | None:
        running = self._running.pop(key, None)
        return None if running is None else Reply(error_response(running.id, INTERNAL_ERROR, text))


def _is_undeclared_mode(method: str, can_answer: Container[str]) -> bool:
    return method == "elicitation/create" and ("form" in can_answer or "url" in can_answer)


def _is_same_id(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other
