"""The standing stream of a session, on which a server speaks of its own accord.

Servers of the initialize era have it. It is opened when the session is, and again whenever it ends,
where it broke off. The input handlers answer what the server asks on it, each answer with a message
of its own; notifications go to the process that was named for them. Whatever becomes of it harms no
request.
"""

from __future__ import annotations

from math import inf
from typing import Any

import anyio

from snodo_actors.actors import caching
from snodo_actors.actors.handlers import Handlers, Raised, Returned
from snodo_actors.actors.http_exchange import Exchange, OwnExchange
from snodo_actors.actors.http_messages import (
    Came,
    Family,
    Post,
    Refused,
    ServerStreamAgain,
    ServerStreamUp,
)
from snodo_actors.actors.http_stream import StreamEvents
from snodo_actors.actors.http_worker_streams import POSTED
from snodo_actors.machines.answer_deeds import Unauthenticated
from snodo_actors.machines.answer_head import refused
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.machines.input_requests import answerable
from snodo_actors.machines.server_requests import Reply, ServerRequests
from snodo_actors.ports.http.link import Link, Outgoing
from snodo_actors.ports.http.open import open_link
from snodo_actors.wire import codec
from snodo_actors.wire.headers import Fields, session_fields
from snodo_actors.wire.http1 import Head, Item
from snodo_actors.wire.sse import Event, EventStream
from snodo_actors.words.errors import Error
from snodo_actors.words.stdio_options import MAX_SERVER_REQUESTS
from snodo_actors.words.types import JSONObject, Session, is_object
from supervisors import Down, ExitReason, Future, GenServer, Ok, Ref, Stop, when_down

RETRY = 1.0
"""Seconds before the stream is opened again, where the server names no time."""
MIN_RETRY = 0.1
"""The shortest wait before that, whatever the server names: some close it again and again."""
MAX_RETRY = 60.0
"""The longest a server's `retry`, or attempts that fail, may put it off."""


class _Again:
    __slots__ = ()


_AGAIN = _Again()


class StandingStream(Exchange):
    """Stands for the standing stream of a session where it waits for a token."""

    __slots__ = ()

    def __init__(self, session: Session) -> None:
        super().__init__(None, "", (), b"", Deadline(Timeouts(None), 0.0), verb="GET")
        self.session = session


class Reopen:
    """Open the stream again, with the token it has now."""

    __slots__ = ()


REOPEN = Reopen()


class HttpServerStream(GenServer):
    """The actor of one session's standing stream."""

    def init(self, family: Family, standing: StandingStream) -> Ok:
        """Begin."""
        assert standing.session is not None
        self._family = family
        self._standing = standing
        self._session = standing.session
        client = family.client
        can_answer = answerable(client.input_handlers, client.capabilities)
        self._requests = ServerRequests(can_answer, MAX_SERVER_REQUESTS)
        self._handlers = Handlers(self.node, dict(client.input_handlers), MAX_SERVER_REQUESTS)
        self._link: Link | None = None
        self._events: EventStream | None = None
        self._last_event_id = ""
        self._retry = RETRY
        self._failures = 0
        when_down(self.ref).add_done_callback(self._let_go)
        return Ok(then=None)

    async def handle_continue(self, term: Any) -> Any:
        """Open it."""
        del term
        return await self._open()

    def handle_info(self, message: Any) -> Any:
        """Handle what comes on it, and what the handlers return."""
        match message:
            case Came(items=items):
                return self._came(items)
            case _Again():
                return self._open_again()
            case Reopen():
                return self._open()
            case Returned(key, value):
                self._reply(self._requests.returned(key, value))
            case Raised(key, text):
                self._reply(self._requests.raised(key, text))
            case Down():
                ended = self._handlers.ended(message)
                if ended is not None:
                    self._reply(self._requests.killed(ended[0], str(ended[1])))
            case _:
                return super().handle_info(message)
        return None

    def format_status(self) -> Any:
        """What reports show: not what is said on it."""
        return {"who": self._family.who, "failures": self._failures}

    # ---- the connection

    async def _open(self) -> Any:
        family = self._family
        limit = family.connect_timeout
        try:
            with anyio.fail_after(inf if limit is None else limit):
                self._link = await open_link(self.node, family.origin, StreamEvents(self.ref))
            fields = self._fields()
        except (TimeoutError, Error):
            return self._try_later()
        self._link.send(Outgoing("GET", fields, b"", keep_alive=False), max_bytes=None)
        return None

    def _open_again(self) -> Any:
        """Open it again; where there are tokens, it needs one that is good now."""
        if self._family.guard is None or self._family.port is None:
            return self._open()
        self._family.port.send(ServerStreamAgain(self._standing))
        return None

    def _fields(self) -> Fields:
        family, session, token = self._family, self._session, self._standing.token
        fields: Fields = () if token is None else family.authorization.fields(token, "GET")
        fields += (
            (b"accept", b"text/event-stream"),
            *session_fields(session.version, session.id),
            *family.headers,
        )
        if self._last_event_id:
            fields += ((b"last-event-id", self._last_event_id.encode()),)
        return fields

    def _came(self, items: list[Item]) -> Any:
        for item in items:
            if isinstance(item, Head):
                self._family.authorization.answered("GET", item)
                if self._is_refused(item):
                    return None
                if item.status == 200 and item.is_event_stream:
                    self._events = EventStream(self._family.http.max_response_bytes)
                    self._failures = 0
                    self._report_up()
                elif item.status < 500:
                    self._report_up()
                    return Stop("normal")  # the server has none, or not for us
            elif isinstance(item, bytes):
                if self._events is not None and not self._read(self._events, item):
                    return self._try_later()
            else:
                return self._try_later()
        return None

    def _is_refused(self, head: Head) -> bool:
        """Tell whether a token may help, and let the port see to that; `Reopen` comes then."""
        guard, port, standing = self._family.guard, self._family.port, self._standing
        outcome = None if guard is None else refused(head, guard, standing.tried)
        if port is None or not isinstance(outcome, Unauthenticated):
            return False
        self._close_link()
        status, challenge = outcome.status, outcome.challenge
        port.send(Refused(standing, status, challenge, outcome.same_token))
        return True

    def _close_link(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    def _try_later(self) -> None:
        """Open it again after a while: a short one at first, if it was open."""
        self._report_up()
        events, self._events = self._events, None
        if events is not None:
            self._last_event_id = events.last_event_id or self._last_event_id
            if events.retry is not None:
                self._retry = events.retry / 1000
        self._close_link()
        delay = min(max(self._retry, MIN_RETRY) * 2**self._failures, MAX_RETRY)
        self._failures = min(self._failures + 1, 16)
        self.node.after(delay, self.ref.send, _AGAIN)

    def _report_up(self) -> None:
        """Let calls begin: it is open, or will not be soon."""
        if self._family.port is not None:
            self._family.port.send(ServerStreamUp())

    def _let_go(self, _down: Future[ExitReason]) -> None:
        if self._link is not None:
            self._link.close()

    # ---- what is said on it

    def _read(self, events: EventStream, data: bytes) -> bool:
        for event in events.feed(data):
            if not isinstance(event, Event):
                return False  # too large an event: whatever follows cannot be read
            if event.type != "message":
                continue
            try:
                message = codec.decode(event.data)
            except codec.MalformedJSON:
                continue
            if is_object(message) and isinstance(message.get("method"), str):
                self._told(message)
        return True

    def _told(self, message: JSONObject) -> None:
        family, method = self._family, message["method"]
        if "id" in message:
            decided = self._requests.asked(message)
            if isinstance(decided, Reply):
                self._reply(decided)
            else:
                self._handlers.run(decided.key, decided.kind, decided.params)
            return
        params = message.get("params", {})
        if not is_object(params):
            return
        if method == "notifications/cancelled":
            self._handlers.stop(self._requests.cancelled(params.get("requestId")))
            return
        caching.STORE.notified(family.namespaces, method, params)
        if isinstance(family.http.server_stream, Ref):
            family.http.server_stream.send(("snodo_notification", method, params))

    def _reply(self, reply: Reply | None) -> None:
        if reply is None or self._family.port is None:
            return
        deadline = Deadline(Timeouts(self._family.client.timeout), self.node.now())
        own = OwnExchange(reply.message, POSTED, deadline, lambda _outcome, _headers: None)
        own.session = self._session
        self._family.port.send(Post(own))
