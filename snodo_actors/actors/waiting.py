"""Requests for a connection that is down right now, until it is back or their time is over.

By name, as a name is what stays when a connection is restarted; each node has names of its own.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from snodo_actors.actors.request import Request, ended_because
from snodo_actors.words.errors import TransportError
from snodo_actors.words.failures import timed_out
from supervisors import ExitReason, Future, Node, when_down

MAX_WAITING = 10_000
"""Requests that may wait for one name."""

_lock = threading.Lock()
_waiting: dict[tuple[Node, str], deque[Request]] = {}


class Wait:
    """What a request by *name* does where there is no connection: it waits for the next one.

    Again, if that one fails before it took the request; all in all as long as its timeout, and no
    longer than its node is there.
    """

    __slots__ = ("_begun", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun = False

    def __call__(self, request: Request) -> None:
        """Let *request* wait until a connection of that name claims it."""
        if request.done():
            return
        name = self._name
        if not _put_in(name, request):
            request.refuse(
                TransportError(
                    -32000,
                    f"{MAX_WAITING} requests wait for {name!r} to come back already",
                    cause=("max_waiting", MAX_WAITING),
                    delivery="never_sent",
                )
            )
            return
        if not self._begun:
            self._begin(request)
        found = request.node.names.get(name)
        if found is not None and found.ref.is_alive():  # it came back while nobody looked
            for other in claim(request.node, name):
                other.port = found.ref
                found.ref.send(other)

    def _begin(self, request: Request) -> None:
        """See to it that the waiting ends, and that nobody counts who does not wait any more."""
        self._begun = True
        name, node, timeout = self._name, request.node, request.timeouts.timeout
        timer = None if timeout is None else node.after(timeout, self._give_up, request)
        gone = when_down(node.root)

        def node_ended(down: Future[ExitReason]) -> None:
            if _take_out(name, request):
                request.refuse(ended_because(down.get()), "never_sent")

        def done(_request: Future[Any]) -> None:
            gone.remove_done_callback(node_ended)
            if timer is not None:
                timer.cancel()
            _take_out(name, request)

        gone.add_done_callback(node_ended)
        request.add_done_callback(done)

    def _give_up(self, request: Request) -> None:
        timeout = request.timeouts.timeout
        if _take_out(self._name, request) and timeout is not None:
            request.refuse(timed_out(timeout, delivery="never_sent"))


def claim(node: Node, name: str | None) -> list[Request]:
    """Take what waits for *name* on *node*."""
    if name is None:
        return []
    with _lock:
        return [request for request in _waiting.pop((node, name), ()) if not request.done()]


def _put_in(name: str, request: Request) -> bool:
    with _lock:
        queue = _waiting.setdefault((request.node, name), deque())
        if len(queue) >= MAX_WAITING:
            return False
        queue.append(request)
        return True


def _take_out(name: str, request: Request) -> bool:
    with _lock:
        queue = _waiting.get((request.node, name), deque())
        if request not in queue:
            return False
        queue.remove(request)
        if not queue:
            del _waiting[request.node, name]
        return True
