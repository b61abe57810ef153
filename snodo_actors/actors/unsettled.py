"""Who waits on a connection whose version is not settled yet, each call within its own time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from snodo_actors.actors.request import Profile, Ready, Request
from snodo_actors.words.errors import Error
from snodo_actors.words.failures import timed_out
from snodo_actors.words.lost import connection_closed
from supervisors import ExitReason, Node

MAX_WAITING = 100_000
"""Calls that may wait for one connection to be settled."""


class Unsettled:
    """The calls that wait, and those who asked to be told."""

    __slots__ = ("_node", "_ready", "_waiting")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: deque[Request] = deque()
        self._ready: list[Ready] = []

    def take(self, request: Request) -> None:
        """Let *request* wait."""
        if len(self._waiting) >= MAX_WAITING:
            request.refuse(connection_closed(("max_pending", MAX_WAITING), delivery="never_sent"))
            return
        self._waiting.append(request)
        timeout = request.timeouts.timeout
        if timeout is not None:
            refused = timed_out(timeout, delivery="never_sent")
            timer = self._node.after(timeout, request.refuse, refused)
            request.add_done_callback(lambda _request: timer.cancel())

    def tell(self, ready: Ready) -> None:
        """Let *ready* be told."""
        self._ready.append(ready)

    def settled(self, profile: Profile) -> Iterator[Request]:
        """Tell of the *profile*, and give the calls, in their order."""
        ready, self._ready = self._ready, []
        for one in ready:
            one.try_set(profile)
        while self._waiting:
            yield self._waiting.popleft()

    def refuse_calls(self, reason: ExitReason) -> None:
        """Fail the calls, or let them do otherwise: the connection ended with *reason*."""
        while self._waiting:
            self._waiting.popleft().server_ended(reason)

    def refuse_ready(self, error: Error, who: str) -> None:
        """Fail those who asked to be told."""
        ready, self._ready = self._ready, []
        for one in ready:
            one.try_fail(error.again().named(who))
