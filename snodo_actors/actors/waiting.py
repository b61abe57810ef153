"""Requests for a connection that is down right now, until it is back or their time is over.

By name, as a name is what stays when a connection is restarted.
"""

from __future__ import annotations

import threading
from collections import deque

from snodo_actors.actors.request import Request
from snodo_actors.words.errors import TransportError
from snodo_actors.words.failures import timed_out

MAX_WAITING = 10_000
"""Requests that may wait for one name."""

_lock = threading.Lock()
_waiting: dict[str, deque[Request]] = {}


def wait_for(name: str, request: Request) -> None:
    """Let *request* wait until a connection named *name* claims it."""
    with _lock:
        queue = _waiting.setdefault(name, deque())
        full = len(queue) >= MAX_WAITING
        if not full:
            queue.append(request)
    if full:
        request.refuse(
            TransportError(
                -32000,
                f"{MAX_WAITING} requests wait for {name!r} to come back already",
                cause=("max_waiting", MAX_WAITING),
                delivery="never_sent",
            )
        )
        return
    timeout = request.timeouts.timeout
    if timeout is None:
        return
    timer = request.node.after(timeout, lambda: _give_up(name, request))
    request.add_done_callback(lambda _request: timer.cancel())


def claim(name: str | None) -> list[Request]:
    """Take what waits for *name*."""
    if name is None:
        return []
    with _lock:
        return [request for request in _waiting.pop(name, ()) if not request.done()]


def _give_up(name: str, request: Request) -> None:
    with _lock:
        queue = _waiting.get(name)
        if queue is not None and request in queue:
            queue.remove(request)
            if not queue:
                del _waiting[name]
    timeout = request.timeouts.timeout
    if timeout is not None:
        request.refuse(timed_out(timeout, delivery="never_sent"))
