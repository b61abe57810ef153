"""The worker that owns one HTTP/1.1 connection.

It is given one exchange at a time, writes it, reads the answer, and sets the caller's future
itself. An answer that turns out to be a long stream takes the worker out of the pool; it ends with
the stream. What only the connection as a whole can decide goes back to the port.
"""

from __future__ import annotations

from collections import deque
from http import HTTPStatus
from math import inf
from typing import Any

import anyio

from snodo_actors.actors.http_exchange import CallExchange, Exchange
from snodo_actors.actors.http_messages import (
    Came,
    Delivered,
    Family,
    HeadersRefused,
    Refused,
    Reply,
    SessionLost,
    TimedOut,
)
from snodo_actors.actors.http_worker_streams import Due, Resume, StreamingWorker
from snodo_actors.machines import answer as says
from snodo_actors.ports.http.link import Outgoing
from snodo_actors.ports.http.open import open_link
from snodo_actors.wire.headers import Fields, session_fields
from snodo_actors.wire.http1 import Item
from snodo_actors.wire.jsonrpc import HEADER_MISMATCH
from snodo_actors.words.errors import Delivery, Error
from snodo_actors.words.lost import answer_not_delivered, could_not_connect, exchange_failed
from snodo_actors.words.types import JSONObject, is_object
from supervisors import SHUTDOWN, ExitReason, Future, Ok, Ref, Stop, when_down
from supervisors import exit as send_exit

OUTSIDE = 0
"""The slot of a worker that is not in the pool, and ends with its only exchange."""
PATIENCE = 0.01
"""Seconds a stream may last before it leaves the pool; most end with the answer in their first."""
LINGER = 0.25
"""Seconds the end of a stream may come after the answer, for its connection to be used again."""


class _Lasts:
    """The stream of the exchange lasts longer than most."""

    __slots__ = ("exchange",)

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange


class _Lost:
    __slots__ = ("link",)

    def __init__(self, link: Any) -> None:
        self.link = link


class _Events:
    """Tells the worker what its connection brings."""

    __slots__ = ("_worker",)

    def __init__(self, worker: Ref) -> None:
        self._worker = worker

    def came(self, items: list[Item]) -> None:
        self._worker.send(Came(items))

    def lost(self, reason: Any) -> None:
        self._worker.send(_Lost(reason))


class HttpWorker(StreamingWorker):
    """The actor of one connection."""

    def init(self, family: Family, slot: int, first: Exchange) -> Ok:
        """Begin with the exchange it was started for."""
        self._begin_books(slot)
        self._family = family
        port = self._port = family.port
        assert port is not None
        self._port_down = when_down(port)
        self._port_down.add_done_callback(self._port_ended)
        when_down(self.ref).add_done_callback(self._let_go)
        return Ok(then=first)

    async def handle_continue(self, term: Exchange) -> Any:
        """Open the connection and send the first exchange."""
        return await self._open_and_send(term)

    def handle_info(self, message: Any) -> Any:
        """Handle what the connection brought, and the next exchange."""
        if isinstance(message, Came):
            return self._came(message)
        if isinstance(message, Exchange):
            return self._begin(message)
        match message:
            case Due():
                return self._expire()
            case _Lasts(exchange=exchange):
                if exchange is self._exchange:
                    self._detach()
            case _Lost():
                return self._lost()
            case Reply(answer):
                self._deliver(answer)
            case Delivered(outcome):
                return self._delivered(outcome)
            case Resume(last_event_id=last_event_id):
                return self._resume(last_event_id)
            case _:
                return super().handle_info(message)
        return None

    def format_status(self) -> Any:
        """What reports show: no headers, no bodies."""
        exchange = self._exchange
        return {
            "who": self._family.who,
            "slot": self._slot,
            "busy_with": None if exchange is None else exchange.method,
        }

    def _port_ended(self, _down: Future[ExitReason]) -> None:
        """End with the port, as one that is started anew knows nothing of this worker."""
        send_exit(self.ref, SHUTDOWN)

    def _let_go(self, down: Future[ExitReason]) -> None:
        """Close the connection, whatever the worker ended with."""
        self._port_down.remove_done_callback(self._port_ended)
        if self._link is not None:
            self._link.close()
        if self._timer is not None:
            self._timer.cancel()
        exchange = self._exchange
        if exchange is not None and not exchange.done() and not down.get().is_calm:
            exchange.refuse(exchange_failed(down.get()), None if exchange.sent else "never_sent")

    # ---- sending

    async def _open_and_send(self, exchange: Exchange) -> Any:
        """Open a connection within the time there is, and send the *exchange* on it."""
        family, node = self._family, self.node
        self._exchange = exchange
        left = exchange.deadline.left(node.now())
        limit = family.connect_timeout
        try:
            with anyio.fail_after(min(left, inf if limit is None else limit)):
                self._link = await open_link(node, family.origin, _Events(self.ref))
        except TimeoutError:
            if left <= (inf if limit is None else limit):
                exchange.refuse(exchange.deadline.error(), self._unsent())
            else:
                exchange.refuse(could_not_connect("timeout"), self._unsent())
            return Stop("normal")
        except Error as error:
            exchange.refuse(error, self._unsent())
            return Stop("normal")
        return self._send(exchange)

    def _begin(self, exchange: Exchange) -> Any:
        """Take the next exchange, on the connection there is if that still is one."""
        link = self._link
        if exchange.done():
            self._report(self._finished[True])
            return None
        if link is None or not link.is_usable():
            if link is not None:
                link.close()
            return self._open_and_send(exchange)
        self._exchange = exchange
        return self._send(exchange)

    def _send(self, exchange: Exchange) -> Any:
        link, family = self._link, self._family
        assert link is not None
        session = exchange.session
        try:
            fields = self._fields(exchange)
        except Error as error:  # of the token provider
            exchange.refuse(error, self._unsent())
            return Stop("normal")
        self._answer = says.Answer(
            exchange.id,
            max_bytes=family.http.max_response_bytes,
            guard=family.guard,
            tried=exchange.tried,
            in_session=session is not None and session.id is not None and exchange.verb == "POST",
        )
        if exchange.deadline.at < self._timer_at:
            self._set_timer(exchange.deadline.at)
        exchange.sent = True
        link.send(
            Outgoing(exchange.verb, fields, exchange.body),
            max_bytes=family.http.max_response_bytes,
        )
        return None

    def _fields(self, exchange: Exchange) -> Fields:
        fields = exchange.fields
        if exchange.token is not None:
            authorization = self._family.authorization
            fields = authorization.fields(exchange.token, exchange.verb) + fields
        session = exchange.session
        if session is not None:
            fields += session_fields(session.version, session.id)
        return fields + self._family.headers

    # ---- reading

    def _came(self, came: Came) -> Any:
        if self._held is not None:
            self._held.append(came)
            return None
        answer, exchange = self._answer, self._exchange
        if answer is None or exchange is None:
            return None
        deeds = answer.take(came.items)
        for at, deed in enumerate(deeds):
            stop = self._carry_out(exchange, deed)
            if stop is not None:
                return stop
            if self._is_held():
                self._keep(deeds[at + 1 :])
                return None
        return self._after_reading(exchange)

    def _go_on(self, exchange: Exchange, left: deque[says.Deed | Came]) -> Any:
        """Carry out what is *left*, up to a request of the server."""
        while left:
            one = left.popleft()
            stop = self._came(one) if isinstance(one, Came) else self._carry_out(exchange, one)
            if stop is not None:
                return stop
            if self._is_held():
                self._keep(left)
                return None
        return self._after_reading(exchange)

    def _after_reading(self, exchange: Exchange) -> Any:
        """Decide what a stream that goes on means for the pool."""
        answer = self._answer
        if answer is None or not answer.is_streaming:
            return Stop("normal") if answer is None and self._slot == OUTSIDE else None
        if answer.is_answered:
            self._set_timer(min(self._timer_at, self.node.now() + LINGER))
        elif not self._detached and exchange.worker is None:
            self.node.after(PATIENCE, self.ref.send, _Lasts(exchange))
            exchange.worker = self.ref
        return None

    def _carry_out(self, exchange: Exchange, deed: says.Deed) -> Any:  # one arm for each deed
        match deed:
            case says.Over():
                self._answer = None
                if self._detached:
                    return None
                self._exchange = None
                exchange.worker = None
                self._report(self._finished[deed.reusable])
            case says.Response():
                if self._broke_off is not None and deed.head.status >= HTTPStatus.BAD_REQUEST:
                    exchange.refuse(self._broke_off, "unknown")  # no answer: it refuses to go on
                else:
                    self._answered(exchange, deed)
                if self._detached:
                    return Stop("normal")
            case says.Streaming():
                pass
            case says.Message(message):
                self._detach()
                self._told(exchange, message)
            case says.Accepted():
                exchange.accepted()
            case says.Unauthenticated(status, challenge, same_token):
                self._report(Refused(exchange, status, challenge, same_token))
            case says.SessionGone():
                self._report(SessionLost(exchange))
            case says.Failed(error):
                exchange.refuse(error, self._delivery(error))
                if self._detached:
                    return Stop("normal")
            case says.Interrupted(last_event_id, retry, error):
                return self._interrupted(exchange, last_event_id, retry, error)
            case says.Began(head):
                self._family.authorization.answered(exchange.verb, head)
        return None

    def _answered(self, exchange: Exchange, response: says.Response) -> None:
        message, method = response.message, exchange.method
        if method == "tools/list":
            self._learn(exchange, message, response.data)
        elif method == "tools/call" and not exchange.listed:
            error = message.get("error")
            if is_object(error) and error.get("code") == HEADER_MISMATCH:
                self._report(HeadersRefused(exchange, response))
                return
        exchange.answered(message, response.head)

    def _learn(self, exchange: Exchange, message: JSONObject, data: bytes | bytearray) -> None:
        result = message.get("result")
        if is_object(result):
            may_be_annotated = self._family.tools.listed(result, data)
            if isinstance(exchange, CallExchange):
                exchange.request.may_be_annotated = may_be_annotated

    def _unsent(self) -> Delivery:
        return "never_sent" if self._broke_off is None else "unknown"

    def _delivery(self, error: Error) -> Delivery:
        if self._broke_off is not None:
            return "unknown"
        sent = self._link is None or self._link.sent_bytes > 0
        return error.delivery if sent else "never_sent"

    def _lost(self) -> Any:
        """The connection ended while nothing was asked."""
        return Stop("normal") if self._exchange is None else None

    # ---- streams

    def _delivered(self, outcome: Any) -> Any:
        exchange, held = self._exchange, self._held
        if exchange is None or held is None:
            return None
        if isinstance(outcome, Error):
            exchange.refuse(answer_not_delivered(outcome))
            return Stop("normal")
        self._held = None
        if self._link is not None:
            self._link.resume()
        return self._go_on(exchange, held)

    def _resume(self, last_event_id: str) -> Any:
        """Take the stream up where it broke off."""
        exchange = self._exchange
        if exchange is None or exchange.done():
            return Stop("normal")
        if self._link is not None:
            self._link.close()
            self._link = None
        exchange.verb, exchange.body = "GET", b""
        exchange.fields = (
            (b"accept", b"text/event-stream"),
            (b"last-event-id", last_event_id.encode()),
        )
        return self._open_and_send(exchange)

    # ---- time

    def _expire(self) -> Any:
        self._timer, self._timer_at = None, inf
        exchange, answer = self._exchange, self._answer
        if exchange is None:
            return None
        if answer is not None and answer.is_answered:
            self._exchange = None
            self._report(self._finished[False])
            return Stop("normal")
        if not exchange.deadline.has_passed(self.node.now()):
            self._set_timer(exchange.deadline.at)
            return None
        exchange.refuse(exchange.deadline.error(), self._delivery(exchange.deadline.error()))
        self._report(TimedOut(exchange))
        return Stop("normal")
