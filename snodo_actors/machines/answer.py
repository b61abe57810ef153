"""What the HTTP answer to one message says, as it comes.

Knows statuses, media types, events and JSON-RPC; knows nothing of connections or callers. The
outcome is said once; after `Over` and its outcome, or `Interrupted`, the answer says nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from snodo_actors.machines.answer_deeds import (
    OVERS,
    Accepted,
    Began,
    Deed,
    Failed,
    Interrupted,
    Message,
    Over,
    Response,
    SessionGone,
    Streaming,
    Unauthenticated,
)
from snodo_actors.machines.answer_head import refused, settled
from snodo_actors.machines.authorization import UNTRIED, Guard, Tried
from snodo_actors.machines.refusals import is_refusal, tells_of_session
from snodo_actors.wire import codec
from snodo_actors.wire.http1 import (
    End,
    Head,
    Item,
    Malformed,
    TooLarge,
    Truncated,
)
from snodo_actors.wire.jsonrpc import server_error
from snodo_actors.wire.sse import EventStream, Parsed
from snodo_actors.wire.sse import TooLarge as EventTooLarge
from snodo_actors.words.errors import Error
from snodo_actors.words.failures import malformed_response
from snodo_actors.words.lost import (
    exchange_failed,
    malformed_http,
    not_json_rpc,
    response_too_large,
)
from snodo_actors.words.types import JSONObject, is_object

__all__ = [
    "Accepted",
    "Answer",
    "Began",
    "Deed",
    "Failed",
    "Interrupted",
    "Message",
    "Over",
    "Response",
    "SessionGone",
    "Streaming",
    "Unauthenticated",
]

_SHOWN: Final = 512


class Answer:
    """The answer to the message *id*; None: a notification or response, which wants none.

    *guard*: what a token provider may do against a refusal; *tried*: what it has done already.
    *in_session*: a 404 tells of the session. *max_bytes* is the limit of the answer, which whoever
    reads it keeps; with *by_event* that of each event of a stream, which is kept here.
    """

    __slots__ = (
        "_answered",
        "_body",
        "_by_event",
        "_events",
        "_guard",
        "_head",
        "_id",
        "_in_session",
        "_max_bytes",
        "_shown",
        "_tried",
        "_verdict",
        "over",
    )

    def __init__(
        self,
        id: int | None,
        *,
        max_bytes: int,
        guard: Guard | None = None,
        tried: Tried = UNTRIED,
        in_session: bool = False,
        by_event: bool = False,
    ) -> None:
        self._id = id
        self._max_bytes = max_bytes
        self._guard = guard
        self._tried = tried
        self._in_session = in_session
        self._by_event = by_event
        self._head: Head | None = None
        self._verdict: Deed | None = None
        self._events: EventStream | None = None
        self._body: bytes | bytearray = b""
        self._shown = b""
        self._answered = False
        self.over = False

    @property
    def is_streaming(self) -> bool:
        """True once the answer is known to be an event stream."""
        return self._events is not None

    @property
    def is_answered(self) -> bool:
        """True once the response came, though the stream may not have ended."""
        return self._answered

    def take(self, items: Iterable[Item]) -> list[Deed]:
        """Take what the connection brought."""
        deeds: list[Deed] = []
        for item in items:
            if self.over:
                break
            if isinstance(item, bytes):
                if self._events is not None:
                    self._read_events(self._events.feed(item), item, deeds)
                elif self._verdict is None:
                    self._gather(item)
            elif isinstance(item, Head):
                self._begin(item, deeds)
            elif isinstance(item, End):
                self._end(item, deeds)
            elif isinstance(item, Truncated):
                self._cut(deeds)
            elif isinstance(item, TooLarge):
                self._stop(Failed(response_too_large(self._max_bytes)), deeds)
            else:
                assert isinstance(item, Malformed)
                self._stop(Failed(malformed_http()), deeds)
        return deeds

    # ---- the head

    def _begin(self, head: Head, deeds: list[Deed]) -> None:
        self._head = head
        guard = self._guard
        if guard is not None:
            if guard.tells:
                deeds.append(Began(head))
            self._verdict = refused(head, guard, self._tried)
        if self._verdict is None:
            self._verdict = settled(
                head, wants_response=self._id is not None, in_session=self._in_session
            )
        if not head.is_event_stream:
            return
        if self._verdict is not None or self._id is None:  # not worth waiting for its end
            self._stop(self._verdict or Failed(not_json_rpc(head.status, b"")), deeds)
        else:
            self._events = EventStream(self._max_bytes if self._by_event else None)
            if self._by_event:
                self._head = replace(head, fields=())  # a stream may last for days
            deeds.append(Streaming())

    # ---- the end

    def _gather(self, piece: bytes) -> None:
        # Not a list that is joined: a long body would be in memory twice, and to touch memory for
        # the first time is what costs most about it.
        if not self._body:
            self._body = piece
            return
        if isinstance(self._body, bytes):
            self._body = bytearray(self._body)
        self._body += piece

    def _end(self, end: End, deeds: list[Deed]) -> None:
        head = self._head
        assert head is not None
        if self._events is not None:
            self._end_stream(self._events, head, end, deeds)
            return
        self.over = True
        body, self._body = self._body, b""
        deeds += (OVERS[end.reusable], self._verdict or self._read_body(head, body))

    def _end_stream(self, events: EventStream, head: Head, end: End, deeds: list[Deed]) -> None:
        if not self._answered and end.framed:
            self._read_events(events.finish(), b"", deeds)
        if self.over:
            return  # the last event was no good
        if self._answered:
            self.over = True
            deeds.append(OVERS[end.reusable])
        else:
            self._interrupt(events, not_json_rpc(head.status, self._shown), deeds)

    def _read_body(self, head: Head, body: bytes | bytearray) -> Deed:
        try:
            message = codec.decode(body)
        except codec.MalformedJSON:
            message = None
        if not is_object(message) or message.get("jsonrpc") != "2.0":
            return Failed(not_json_rpc(head.status, body))
        if self._id is None:
            refused = server_error(message.get("error"))
            if refused is not None:
                refused.kind = "protocol"  # the refusal of a message, whatever its code
            return Failed(refused or not_json_rpc(head.status, body))
        if self._is_response(message):
            lost = self._in_session and head.status == 400 and tells_of_session(message)
            return SessionGone() if lost else Response(message, body, head)
        if head.status >= 400 and is_refusal(message):
            return Response(message, body, head)
        return Failed(malformed_response(message))

    def _is_response(self, message: JSONObject) -> bool:
        id = message.get("id")
        if "method" in message:
            return False
        return (type(id) is int and id == self._id) or (id is None and "error" in message)

    def _cut(self, deeds: list[Deed]) -> None:
        error = exchange_failed("closed")
        if self._events is not None and not self._answered:
            self._interrupt(self._events, error, deeds)
        else:
            self._stop(self._verdict or Failed(error), deeds)

    def _interrupt(self, events: EventStream, error: Error, deeds: list[Deed]) -> None:
        self.over = True
        deeds.append(Interrupted(events.last_event_id, events.retry, error))

    def _stop(self, outcome: Deed, deeds: list[Deed]) -> None:
        """End without another use of the connection, with this *outcome* if there was none."""
        self.over = True
        deeds.append(OVERS[False])
        if not self._answered:
            deeds.append(outcome)

    # ---- events

    def _read_events(self, events: Iterable[Parsed], chunk: bytes, deeds: list[Deed]) -> None:
        if len(self._shown) < _SHOWN and not self._by_event:
            self._shown += chunk[: _SHOWN - len(self._shown)]
        for event in events:
            if self._answered:
                return
            if isinstance(event, EventTooLarge):
                self._stop(Failed(response_too_large(self._max_bytes)), deeds)
                return
            data, kind, _ = event
            if kind != "message":
                continue
            try:
                message: Any = codec.decode(data)
            except codec.DuplicateKey:
                self._stop(Failed(malformed_response(data.decode("utf-8", "replace"))), deeds)
                return
            except codec.MalformedJSON:
                continue
            if not is_object(message):
                continue
            if "method" in message:
                deeds.append(Message(message))
            elif self._is_response(message):
                assert self._head is not None
                self._answered = True
                deeds.append(Response(message, data, self._head))
