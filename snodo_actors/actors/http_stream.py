"""The actor that reads one listen stream, over a connection of its own.

It hands what comes to the actor of the subscription. Whatever it ends with, the connection is
closed, which is how the server learns that nobody listens.
"""

from __future__ import annotations

from math import inf
from typing import Any

import anyio

from snodo_actors.actors import caching
from snodo_actors.actors.http_exchange import Exchange
from snodo_actors.actors.http_messages import Came, Family, StreamRefused
from snodo_actors.actors.http_profile import core_fields
from snodo_actors.actors.streams import Answered, Batch, Cancelled, Disconnected, Lost, Notified
from snodo_actors.machines import answer as says
from snodo_actors.ports.http.link import Link, Outgoing
from snodo_actors.ports.http.open import open_link
from snodo_actors.wire.catalog import LISTEN
from snodo_actors.wire.http1 import Item
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import could_not_connect
from snodo_actors.words.types import JSONObject, is_object
from snodo_actors.words.versions import STATELESS
from supervisors import ExitReason, Future, GenServer, Ok, Ref, Stop, when_down


class HttpStream(GenServer):
    """The actor of one stream's connection."""

    def init(
        self,
        family: Family,
        exchange: Exchange,
        subscriber: Ref,
    ) -> Ok:
        """Begin with the *exchange* that stands for the stream in the books of the port."""
        assert exchange.id is not None
        self._family = family
        self._id = exchange.id
        self._subscriber = subscriber
        self._link: Link | None = None
        http = family.http
        self._answer = says.Answer(
            exchange.id,
            max_bytes=http.max_response_bytes,
            guard=family.guard,
            tried=exchange.tried,
            by_event=True,
        )
        when_down(self.ref).add_done_callback(self._let_go)
        return Ok(then=exchange)

    async def handle_continue(self, term: Exchange) -> Any:
        """Open the connection and send the request; the subscription minds the time."""
        family = self._family
        limit, events = family.connect_timeout, StreamEvents(self.ref)
        try:
            with anyio.fail_after(inf if limit is None else limit):
                self._link = link = await open_link(self.node, family.origin, events)
        except TimeoutError:
            return self._fail(could_not_connect("timeout"))
        except Error as error:
            return self._fail(error)
        fields = core_fields(STATELESS, LISTEN, STATELESS, None)
        assert not isinstance(fields, Error)
        if term.token is not None:
            try:
                fields = family.authorization.fields(term.token, "POST") + fields
            except Error as error:
                return self._fail(error.again("never_sent"))
        fields += family.headers
        request = Outgoing("POST", fields, term.body, keep_alive=False, streams=True)
        if family.http.token_provider is None:
            term.body = b""  # nobody asks for it again, and the stream may last for days
        link.send(request, max_bytes=family.http.max_response_bytes)
        return None

    def handle_info(self, message: Any) -> Any:
        """Handle what the connection brought."""
        if not isinstance(message, Came):
            return super().handle_info(message)
        batch: list[Notified] = []
        try:
            for deed in self._answer.take(message.items):
                stop = self._carry_out(deed, batch)
                if stop is not None:
                    return stop
        finally:
            self._hand_over(batch)
        return None

    def format_status(self) -> Any:
        """What reports show: not what the events hold."""
        return {"who": self._family.who, "stream": self._id}

    def _carry_out(self, deed: says.Deed, batch: list[Notified]) -> Any:
        match deed:
            case says.Message(message):
                return self._told(message, batch)
            case says.Response(message):
                self._hand_over(batch)
                self._subscriber.send(Answered(self._id, message))
                return Stop("normal")
            case says.Failed(error):
                self._hand_over(batch)
                return self._fail(error)
            case says.Interrupted():
                self._hand_over(batch)
                self._subscriber.send(Disconnected(self._id))
                return Stop("normal")
            case says.Unauthenticated(status, challenge, same_token):
                if self._family.port is not None:
                    self._family.port.send(StreamRefused(self._id, status, challenge, same_token))
                return Stop("normal")
            case says.Began(head):
                self._family.authorization.answered("POST", head)
            case _:
                pass
        return None

    def _told(self, message: JSONObject, batch: list[Notified]) -> Any:
        method, params = message["method"], message.get("params")
        if "id" in message or not isinstance(method, str) or not is_object(params):
            return None  # in 2026-07-28 a client answers nothing
        if method == "notifications/cancelled":
            if params.get("requestId") == self._id:
                self._hand_over(batch)
                self._subscriber.send(Cancelled(self._id))
                return Stop("normal")
            return None
        caching.STORE.notified(self._family.namespaces, method, params)
        batch.append(Notified(self._id, method, params))
        return None

    def _hand_over(self, batch: list[Notified]) -> None:
        if batch:
            self._subscriber.send(Batch(batch.copy()))
            batch.clear()

    def _fail(self, error: Error) -> Stop:
        self._subscriber.send(Lost(error, ours=False, id=self._id))
        return Stop("normal")

    def _let_go(self, _down: Future[ExitReason]) -> None:
        if self._link is not None:
            self._link.close()


class StreamEvents:
    """Tells the actor of a stream what its connection brings."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Ref) -> None:
        self._stream = stream

    def came(self, items: list[Item]) -> None:
        """Hand over what came."""
        self._stream.send(Came(items))

    def lost(self, reason: object) -> None:
        """An idle connection is none of a stream's."""
