"""A link through a transport of httpx: a proxy, a test, an ASGI app, or whatever else there is.

The transport makes its connections as it likes. Its requests, responses and errors are known here,
and nowhere else.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Final

import anyio
import httpx

from snodo_actors.ports.http.link import NOBODY, LinkEvents, Outgoing
from snodo_actors.ports.http.origin import Origin
from snodo_actors.wire.http1 import End, Head, Item, Malformed, TooLarge, Truncated
from supervisors import Node, NodeStopped

_log = logging.getLogger("snodo_actors.http")

GRACE: Final = 2.0
"""Seconds a transport gets to close."""

_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.LocalProtocolError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class HttpxLink:
    """Carries requests through one transport, which it owns."""

    __slots__ = (
        "_began",
        "_events",
        "_is_busy",
        "_is_open",
        "_left",
        "_may_read",
        "_node",
        "_task",
        "_transport",
        "_url",
        "failure",
        "sent_bytes",
    )

    def __init__(
        self, node: Node, origin: Origin, transport: httpx.AsyncBaseTransport, events: LinkEvents
    ) -> None:
        self._node = node
        self._transport = transport
        self._events = events
        self._url = httpx.URL(
            scheme=origin.scheme,
            host=origin.host,
            port=origin.port,
            raw_path=origin.target.encode(),
        )
        self._is_open = True
        self._is_busy = False
        self._began = False
        self._left: int | None = None  # how many bytes the body may still have
        self._may_read: anyio.Event | None = None  # there while it is to wait
        self._task: Any = None
        self.sent_bytes = 0
        self.failure: BaseException | None = None

    @classmethod
    def open(cls, node: Node, origin: Origin, events: LinkEvents) -> HttpxLink:
        """Make the transport.

        Raises:
            OSError: It could not be made.
        """
        assert origin.transport is not None
        try:
            transport = origin.transport()
        except Exception as error:
            raise OSError(f"the function transport failed: {error!r}") from error
        if not hasattr(transport, "handle_async_request"):
            raise OSError(
                f"the function transport made no httpx.AsyncBaseTransport, but {transport!r}"
            )
        return cls(node, origin, transport, events)

    # ---- the request

    def send(self, request: Outgoing, *, max_bytes: int | None) -> None:
        """Send *request*; a failure comes as an item, never at once."""
        assert not self._is_busy, "one request at a time"
        self._is_busy = True
        self._began = False
        self._left = max_bytes
        self.sent_bytes = 0
        self._task = self._node.spawn_task(self._carry(request), "a request through httpx")

    async def _carry(self, request: Outgoing) -> None:
        item: Item | None = None
        try:
            item = await self._exchange(request)
        except Exception as error:  # noqa: BLE001  # a transport, a test or an app may raise anything
            self.failure = error
            item = self._ended_by(error)
        finally:  # also where it was cancelled, by whomever
            self._is_busy = False
            if not (isinstance(item, End) and item.reusable):
                self._shut()
            self._tell(Truncated(began=self._began) if item is None else item)

    async def _exchange(self, request: Outgoing) -> Item:
        outgoing = httpx.Request(
            request.method, self._url, headers=list(request.fields), content=request.body
        )
        self.sent_bytes = max(1, len(request.body))  # it might be all, who knows
        response = await self._transport.handle_async_request(outgoing)
        try:
            is_whole = await self._read(response, streams=request.streams)
            return End(reusable=request.keep_alive, framed=True) if is_whole else TooLarge()
        finally:
            await _close(response)

    async def _read(self, response: httpx.Response, *, streams: bool) -> bool:
        """Hand over what comes, to the end; False if it was too much."""
        self._began = True
        minor = 0 if response.extensions.get("http_version") == b"HTTP/1.0" else 1
        fields = tuple((name.lower(), value) for name, value in response.headers.raw)
        head = Head(response.status_code, minor, fields)
        self._tell(head)
        if streams and head.is_event_stream:
            self._left = None
        length = response.headers.get("content-length", "")
        if self._left is not None and length.isdecimal() and int(length) > self._left:
            return False
        pieces = aiter(_stream_of(response))
        try:
            async for piece in pieces:
                if self._left is not None:
                    self._left -= len(piece)
                    if self._left < 0:
                        return False
                while self._may_read is not None:
                    await self._may_read.wait()
                if piece:
                    self._tell(piece)
        finally:
            # A generator is closed here, not when the garbage collector finds it.
            await _close(pieces)
        return True

    def _ended_by(self, error: Exception) -> Item:
        if isinstance(error, _NEVER_SENT):
            self.sent_bytes = 0
        if isinstance(error, httpx.RemoteProtocolError) and "without sending" not in str(error):
            return Malformed(str(error))
        return Truncated(began=self._began)

    def _tell(self, item: Item) -> None:
        self._events.came([item])
        # What this caused is done in this turn of the loop, not in the next.
        self._node.run_ready_inline()

    # ---- the link

    def unlimit(self) -> None:
        """Take a body of any length from here on."""
        self._left = None

    def is_usable(self) -> bool:
        """Tell whether a request can be sent; the transport knows how its connections are."""
        return self._is_open and not self._is_busy

    def pause(self) -> None:
        """Read no more for now."""
        if self._may_read is None:
            self._may_read = anyio.Event()

    def resume(self) -> None:
        """Read again."""
        may_read, self._may_read = self._may_read, None
        if may_read is not None:
            may_read.set()

    def close(self) -> None:
        """Close it at once, and the transport soon; harmless when repeated."""
        self._events = NOBODY
        if self._is_busy:
            self._task.cancel()
        self._shut()

    def _shut(self) -> None:
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(NodeStopped):  # then its connections went with the loop
                self._node.loop.soon(self._let_go_soon)

    def _let_go_soon(self) -> None:
        self._node.spawn_task(self._let_go(), "the end of an httpx transport")

    async def _let_go(self) -> None:
        await _close(self._transport)


def _stream_of(response: httpx.Response) -> httpx.AsyncByteStream:
    if not isinstance(response.stream, httpx.AsyncByteStream):
        raise TypeError(f"{response.stream!r} cannot be read without blocking the loop")
    return response.stream


async def _close(what: Any) -> None:
    """Close what has something to close, also in a task that was cancelled, but not for long."""
    close = getattr(what, "aclose", None)
    if close is None:
        return
    with anyio.move_on_after(GRACE, shield=True) as grace:
        try:
            await close()
        except Exception as error:  # noqa: BLE001  # it is gone in any case
            _log.warning("%r could not be closed: %r", what, error)
    if grace.cancelled_caught:
        _log.warning("%r was not closed within %s seconds", what, GRACE)
