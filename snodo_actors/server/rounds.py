"""What becomes of a wish for input: a result in 2026-07-28, else requests of the server."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from snodo_actors.ports.calls import Flow
from snodo_actors.server.errors import JSONRPCError, function_failed, missing_capability
from snodo_actors.server.inputs import (
    InputNeeded,
    as_server_request,
    needed_capabilities,
    needed_result,
)
from snodo_actors.server.methods import Answer, Method, Question
from snodo_actors.wire.jsonrpc import INTERNAL_ERROR
from snodo_actors.words.types import JSONObject, is_object

MAY_ASK: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
MAX_ROUNDS: Final = 100
"""How often one call may ask where the client waits, and cannot give up by itself."""

Ask = Callable[[JSONObject], Any]
"""Sends a request of the server to the client; returns the response, or an awaitable."""


def answer(method: Method, question: Question, ask: Ask | None) -> Flow[Answer]:
    """Answer *question*, as often as it takes until there is no more to ask."""
    call = question.call
    for _ in range(MAX_ROUNDS):
        try:
            return (yield from method(question))
        except InputNeeded as needed:
            _check(needed, question)
            if question.dialect.is_stateless:
                return Answer(needed_result(needed))
            call.input_responses = yield from _ask_all(needed, call.version, ask)
            call.request_state = needed.state
    raise JSONRPCError(INTERNAL_ERROR, f"the function asked for input {MAX_ROUNDS} times")


def _check(needed: InputNeeded, question: Question) -> None:
    call = question.call
    if call.method not in MAY_ASK:
        raise function_failed(call.method, TypeError("it cannot ask for input"))
    try:
        missing = needed_capabilities(needed.requests, call.client_capabilities)
    except ValueError as error:
        raise function_failed(call.method, error) from error
    if missing:
        raise missing_capability(missing, is_stateless=question.dialect.is_stateless)


def _ask_all(needed: InputNeeded, version: str, ask: Ask | None) -> Flow[JSONObject]:
    if ask is None and needed.requests:
        raise JSONRPCError(INTERNAL_ERROR, "the connection cannot carry requests of the server")
    responses: JSONObject = {}
    for name in sorted(needed.requests):
        request = as_server_request(needed.requests[name], version)
        assert ask is not None
        response = yield functools.partial(ask, request)
        result = response.get("result") if is_object(response) else None
        if not is_object(result):
            error = response.get("error") if is_object(response) else None
            raise JSONRPCError(
                INTERNAL_ERROR, f"the client did not answer {request['method']}", error
            )
        responses[name] = result
    return responses
