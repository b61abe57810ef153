"""HTTP/1.1 as a client speaks it: the bytes of a response into items, a request into bytes.

How the bytes of a response were cut makes no difference to its items, besides the places where
its body is cut, and besides `End.reusable`: what comes after the end in the same bytes makes it
false.
"""

from __future__ import annotations

from snodo_actors.wire.http1_body import Body, ChunkedBody, LengthBody, OpenBody
from snodo_actors.wire.http1_head import (
    CHUNKED,
    UNTIL_CLOSE,
    Framing,
    Section,
    fault_of,
    head_limit,
    read_head,
    without_body,
)
from snodo_actors.wire.http1_items import (
    FRAMED_ENDS,
    End,
    Head,
    Item,
    Malformed,
    TooLarge,
    Truncated,
)
from snodo_actors.wire.http1_request import field_lines, request_bytes, request_prefix

__all__ = [
    "End",
    "Head",
    "Item",
    "Malformed",
    "ResponseReader",
    "TooLarge",
    "Truncated",
    "field_lines",
    "request_bytes",
    "request_prefix",
]


class ResponseReader:
    """Reads one response, whose head and body have at most *max_bytes* each.

    None: a body of any length, and a head of 256 KiB. A head has at most 200 fields. Interim
    responses (1xx) are passed over, and their heads count with that of the final one.
    *head_request*: no body follows, as after HEAD, or after CONNECT where the proxy agreed.
    *streams*: an event stream has no limit as a whole, as its reader limits each event.
    """

    __slots__ = (
        "_body",
        "_head_request",
        "_is_over",
        "_max_bytes",
        "_room",
        "_section",
        "_streams",
    )

    def __init__(
        self, max_bytes: int | None, *, head_request: bool = False, streams: bool = False
    ) -> None:
        self._max_bytes = max_bytes
        self._streams = streams
        self._head_request = head_request
        self._room = head_limit(max_bytes)
        self._section: Section | None = None
        self._body: Body | None = None
        self._is_over = False

    def feed(self, data: bytes) -> list[Item]:
        """Take the next bytes; give what they complete. After the end of any kind comes nothing."""
        items: list[Item] = []
        if self._is_over:
            return items
        if self._body is not None:
            self._is_over = self._body.feed(data, 0, items)
        elif data:
            self._is_over = self._read_heads(data, items)
        return items

    def finish(self) -> list[Item]:
        """Take the end of the connection."""
        if self._is_over:
            return []
        self._is_over = True
        if self._body is not None:
            return [self._body.finish()]
        return [Truncated(self._section is not None or self._room < head_limit(self._max_bytes))]

    def unlimit(self) -> None:
        """Take a body of any length, whose head has come: the caller limits what it is made of."""
        if self._body is not None:
            self._body.unlimit()

    def _read_heads(self, data: bytes, items: list[Item]) -> bool:
        """Read heads until one is final, and what follows it; tell whether all is over."""
        at = 0
        while at < len(data):
            read = read_head(data, at, self._room) if self._section is None else None
            if read is None:
                gathered = self._gather(data[at:])
                if not isinstance(gathered, bytes):
                    items.extend(gathered)
                    return bool(gathered)
                data, at = gathered, 0
                read = read_head(data, at, self._room)
                if read is None:
                    items.append(fault_of(data))
                    return True
            head, framing, end = read
            if self._head_request:
                framing = without_body(head, framing)
            if isinstance(framing, Malformed):
                items.append(framing)
                return True
            if head.status >= 200:
                items.append(head)
                if self._streams and head.is_event_stream:
                    self._max_bytes = None
                return self._open(framing, data, end, items)
            self._room -= end - at
            at = end
        return False

    def _gather(self, data: bytes) -> bytes | list[Item]:
        """Put together a head that came in pieces, or cannot be read; an empty list: not yet."""
        if self._section is None:
            self._section = Section(self._room, self._max_bytes, is_head=True)
        gathered = self._section.take(data)
        if gathered is None:
            return []
        self._section = None
        return gathered if isinstance(gathered, bytes) else [gathered]

    def _open(self, framing: Framing, data: bytes, at: int, items: list[Item]) -> bool:
        """Begin the body after the head, which ends at *at*; tell whether it is over."""
        length, is_reusable = framing
        if length == CHUNKED:
            self._body = ChunkedBody(self._max_bytes, is_reusable=is_reusable)
            at -= 2  # the line end before the first chunk
        elif length == UNTIL_CLOSE:
            self._body = OpenBody(self._max_bytes)
        elif self._max_bytes is not None and length > self._max_bytes:
            items.append(TooLarge())
            return True
        elif length == len(data) - at:  # all of it is here, as nearly always
            if length:
                items.append(data[at:])
            items.append(FRAMED_ENDS[is_reusable])
            return True
        else:
            self._body = LengthBody(length, is_reusable=is_reusable)
        return self._body.feed(data, at, items)
