"""Several requests that make one call: each answer decides what is sent next."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from snodo_actors.actors.request import Request
from snodo_actors.words.errors import Error
from supervisors import Future, Node

Flow = Generator[Request, Any, Any]
"""Yields the requests of a call, is sent what came of each, and returns the call's result."""


class Conversation(Future[Any]):
    """Follows a flow from answer to answer, in the thread where the answers come."""

    __slots__ = ("_flow", "_send_request")

    def __init__(self, node: Node, flow: Flow, send: Callable[[Request], object]) -> None:
        super().__init__(node)
        self._flow = flow
        self._send_request = send
        self._advance(None)

    def _advance(self, outcome: Any) -> None:
        try:
            request = self._flow.send(outcome)
        except StopIteration as done:
            self.try_set(done.value)
        except Error as error:
            self.try_fail(error)
        else:
            request.add_done_callback(self._answered)
            self._send_request(request)

    def _answered(self, request: Any) -> None:
        error = request.exception()
        if error is None:
            self._advance(request.get())
        elif isinstance(error, Error):
            self._advance(error)
        else:
            self._flow.close()
            self.try_fail(error)
