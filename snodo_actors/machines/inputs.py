"""The rounds of one request whose answer asks for input.

Knows what to ask next, what to send again and when to give up; knows nothing of handlers or
connections. Every request of a round is looked at before the first handler runs. A failure's cause
ends with the last answer, so the caller can finish by hand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from snodo_actors.machines.input_requests import Malformed, Unanswerable, read_input_request
from snodo_actors.machines.input_responses import HandlerFailure, read_handler_return
from snodo_actors.words.errors import Error
from snodo_actors.words.failures import (
    input_handler_failed,
    malformed_input,
    no_input_handler,
    too_many_input_rounds,
)
from snodo_actors.words.types import InputKind, JSONObject, is_object

STATE_ONLY_DELAY: Final = 0.25
"""Seconds before a request is sent again that was answered with nothing but a state."""


@dataclass(frozen=True, slots=True)
class Run:
    """Run the handler for *kind* with *params*, then call `returned`."""

    id: str
    kind: InputKind
    params: JSONObject


@dataclass(frozen=True, slots=True)
class SendAgain:
    """After *delay* seconds send the original request, with *params* added, on a fresh id."""

    params: JSONObject
    delay: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Fail the request with *error*."""

    error: Error


Deed: TypeAlias = Run | SendAgain | Failed


class InputRounds:
    """The rounds of one request: at most *max_rounds* answers that ask for input are met."""

    __slots__ = ("_can_answer", "_max_rounds", "_responses", "_result", "_rounds", "_waiting")

    def __init__(self, can_answer: Container[str], max_rounds: int) -> None:
        self._can_answer = can_answer
        self._max_rounds = max_rounds
        self._rounds = 0
        self._result: JSONObject = {}
        self._waiting: deque[Run] = deque()
        self._responses: JSONObject = {}

    def required(self, result: JSONObject) -> Deed:
        """Begin a round with the *result* that asks for input."""
        if self._rounds >= self._max_rounds:
            return Failed(too_many_input_rounds(self._max_rounds, result))
        requests = result.get("inputRequests", {})
        if not is_object(requests) or not (requests or "requestState" in result):
            return Failed(malformed_input(result))
        self._rounds += 1
        self._result, self._responses = result, {}
        for id in sorted(requests):
            asked = self._read(id, requests[id])
            if isinstance(asked, Failed):
                return asked
            self._waiting.append(asked)
        return self._next()

    def returned(self, value: Any) -> Deed:
        """Go on with what the handler returned."""
        run = self._waiting.popleft()
        answer = read_handler_return(run.kind, value)
        if isinstance(answer, HandlerFailure):
            return Failed(input_handler_failed(run.id, answer.reason, self._result))
        self._responses[run.id] = answer
        return self._next()

    def _read(self, id: str, request: Any) -> Run | Failed:
        if not is_object(request):
            return Failed(malformed_input(self._result))
        reading = read_input_request(request, self._can_answer)
        if isinstance(reading, Malformed):
            return Failed(malformed_input(self._result))
        if isinstance(reading, Unanswerable):
            return Failed(no_input_handler(id, reading.kind, self._result))
        return Run(id, reading.kind, reading.params)

    def _next(self) -> Deed:
        if self._waiting:
            return self._waiting[0]
        params: JSONObject = {}
        if self._responses:
            params["inputResponses"] = self._responses
        if "requestState" in self._result:
            params["requestState"] = self._result["requestState"]
        return SendAgain(params, 0.0 if self._responses else STATE_ONLY_DELAY)
