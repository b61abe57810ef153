"""What the other side may want of the client while it works on one request.

Progress functions and input handlers are called where that side asks, which is where the call is
awaited. What they raise is the caller's, whatever the other side makes of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from snodo_actors.machines.input_requests import answerable
from snodo_actors.machines.server_requests import Reply, decide, reply_to
from snodo_actors.ports.calls import Flow, carry_out
from snodo_actors.wire.jsonrpc import INVALID_REQUEST, error_response
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.types import JSONObject


class Exchange:
    """The client's side of one request."""

    __slots__ = ("_client", "_on_progress", "failure")

    def __init__(
        self, client: ClientOptions, on_progress: Callable[[JSONObject], Any] | None = None
    ) -> None:
        self._client = client
        self._on_progress = on_progress
        self.failure: BaseException | None = None

    def progress(self, params: JSONObject) -> Any:
        """Hand over a progress notification; an async function makes it an awaitable."""
        if self._on_progress is None or self.failure is not None:
            return None
        return self._guarded(functools.partial(self._on_progress, params))

    def answer(self, message: JSONObject) -> Any:
        """Make the response to a request of the server; an async handler makes it an awaitable."""
        return self._guarded(lambda: carry_out(self._answer(message)))

    def _answer(self, message: JSONObject) -> Flow[JSONObject]:
        if "id" not in message or not isinstance(message.get("method"), str):
            return error_response(message.get("id"), INVALID_REQUEST, "not a request")
        client = self._client
        decision = decide(message, answerable(client.input_handlers, client.capabilities))
        if isinstance(decision, Reply):
            return decision.message
        handler = client.input_handlers[decision.kind]
        value = yield functools.partial(handler, decision.params)
        return reply_to(message["id"], decision.kind, value).message

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            value = call()
        except BaseException as error:
            self.failure = error
            raise
        return _Guarded(self, value) if inspect.isawaitable(value) else value


class _Guarded:
    """What an async function of the user's returns, with its failure noted."""

    __slots__ = ("_exchange", "_value")

    def __init__(self, exchange: Exchange, value: Awaitable[Any]) -> None:
        self._exchange = exchange
        self._value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            return (yield from self._value.__await__())
        except BaseException as error:
            self._exchange.failure = error
            raise

    def close(self) -> None:
        """Let it be, as it is not waited for."""
        close = getattr(self._value, "close", None)
        if close is not None:
            close()
