"""What a worker does about an answer that is a stream, and its timer.

Such an answer takes the worker out of the pool, unless it ends at once. What the server asks in it
is answered by the caller, and read no further until then; what is interrupted is taken up again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Any

from snodo_actors.actors.http_exchange import CallExchange, Exchange, OwnExchange
from snodo_actors.actors.http_messages import (
    Came,
    Delivered,
    Detached,
    Family,
    Finished,
    Post,
    Reply,
)
from snodo_actors.machines import answer as says
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.machines.input_requests import answerable
from snodo_actors.machines.server_requests import Reply as ReplyNow
from snodo_actors.machines.server_requests import decide, reply_to
from snodo_actors.ports.http.link import Link
from snodo_actors.wire.headers import Fields
from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject, is_object
from snodo_actors.words.versions import is_stateless
from supervisors import GenServer, Ref, Stop, TimerHandle

RETRY = 1.0
"""Seconds before an interrupted stream is taken up again, where the server names no time."""
MAX_RESUMED = 10
"""How often a stream is taken up again without any event in between."""
POSTED: Fields = (
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
)


class Due:
    """The timer rang."""

    __slots__ = ()


class Resume:
    """It is time to take an interrupted stream up again."""

    __slots__ = ("last_event_id",)

    def __init__(self, last_event_id: str) -> None:
        self.last_event_id = last_event_id


DUE = Due()


class StreamingWorker(GenServer):
    """The part of a worker that knows streams."""

    _family: Family
    _resumed = 0
    _last_event_id = ""
    _retry = RETRY

    def _begin_books(self, slot: int) -> None:
        # What is read for every call is in the actor itself: to read what only its class has takes
        # several times as long.
        self._slot = slot
        self._finished = (Finished(slot, reusable=False), Finished(slot, reusable=True))
        """What it reports for each exchange, by whether the connection is reusable."""
        self._port: Ref | None = None
        """Whose pool it is in; the family's may be a later one."""
        self._link: Link | None = None
        self._exchange: Exchange | None = None
        self._answer: says.Answer | None = None
        self._detached = False
        self._held: deque[says.Deed | Came] | None = None
        """What came after a request of the server, until that is answered."""
        self._broke_off: Error | None = None
        """What ended a stream that was to be taken up: its request was sent, whatever follows."""
        self._timer: TimerHandle | None = None
        self._timer_at = inf

    def _detach(self) -> None:
        """Leave the pool: the connection is the stream's from now on."""
        exchange = self._exchange
        if exchange is not None and not self._detached:
            self._detached = True
            exchange.worker = self.ref
            self._report(Detached(exchange, self.ref))

    def _told(self, exchange: Exchange, message: JSONObject) -> None:
        method, params = message["method"], message.get("params")
        self._resumed = 0
        if "id" in message:
            self._asked(exchange, message)
        elif method == "notifications/progress" and is_object(params):
            exchange.progressed(params, self.node.now())

    def _asked(self, exchange: Exchange, message: JSONObject) -> None:
        """Let the caller answer a request of the server; until then nothing more is read."""
        family, id = self._family, message["id"]
        version = family.version
        if version is None or is_stateless(version) or not isinstance(message["method"], str):
            return
        client = family.client
        if not client.input_handlers and message["method"] != "ping":
            return  # as in the Elixir library: a client that answers nothing says nothing
        decision = decide(message, answerable(client.input_handlers, client.capabilities))
        conversation = exchange.request.conversation if isinstance(exchange, CallExchange) else None
        if isinstance(decision, ReplyNow):
            self._hold()
            self._deliver(decision.message)
        elif conversation is not None:
            self._hold()
            send, kind = self.ref.send, decision.kind

            def answered(value: Any) -> None:
                send(Reply(reply_to(id, kind, value).message))

            conversation.serve(client.input_handlers[kind], decision.params, answered)

    def _hold(self) -> None:
        self._held = deque()
        if self._link is not None:
            self._link.pause()

    def _is_held(self) -> bool:
        return self._held is not None

    def _keep(self, left: Iterable[says.Deed | Came]) -> None:
        """Keep what is *left* until the server has its answer."""
        if self._held is not None:
            self._held.extend(left)

    def _deliver(self, answer: JSONObject) -> None:
        """Post the answer to a request of the server."""
        exchange = self._exchange
        if exchange is None or self._held is None:
            return
        send = self.ref.send
        deadline = Deadline(Timeouts(self._family.client.timeout), self.node.now())
        own = OwnExchange(answer, POSTED, deadline, lambda outcome, _: send(Delivered(outcome)))
        own.session = exchange.session
        self._report(Post(own))

    def _interrupted(
        self, exchange: Exchange, last_event_id: str, retry: int | None, error: Error
    ) -> Any:
        version = self._family.version
        old = version is not None and not is_stateless(version)
        self._answer = None
        last_event_id = self._last_event_id = last_event_id or self._last_event_id
        self._retry = self._retry if retry is None else retry / 1000
        if not old or not last_event_id or self._resumed >= MAX_RESUMED:
            self._exchange = None
            if not self._detached:
                self._report(self._finished[False])
            exchange.refuse(error)
            return Stop("normal")
        self._broke_off = error
        self._resumed += 1
        self._detach()
        self.node.after(self._retry, self.ref.send, Resume(last_event_id))
        return None

    # ---- time, and the port

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at == inf else self.node.after(at - self.node.now(), self._ring)

    def _ring(self) -> None:
        self.ref.send(DUE)

    def _report(self, message: Any) -> None:
        if self._port is not None:
            self._port.send(message)
