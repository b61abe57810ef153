"""The least a client over HTTP can be: a protocol of asyncio, a parser in C, and JSON.

It has no time limits, notices no cancelling, and trusts the server in everything.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httptools
import msgspec

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
KEPT_META = msgspec.Raw(encode(META))


def message(id: int, method: str, params: dict[str, Any]) -> bytes:
    """Write a request."""
    params["_meta"] = KEPT_META
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def headers(method: str, name: str | None) -> list[tuple[str, str]]:
    """What a request says in its headers."""
    fields = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", VERSION),
        ("mcp-method", method),
    ]
    return fields if name is None else [*fields, ("mcp-name", name)]


def split_events(data: bytes) -> tuple[list[Any], bytes]:
    """Read the messages of whole events, and give what is left."""
    *events, rest = data.split(b"\r\n\r\n")
    return [decode(event[event.index(b"data: ") + 6 :]) for event in events], rest


class Wire(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.on_piece: Callable[[bytes], None] | None = None
        self._parser: Any = None
        self._pieces: list[bytes] = []
        self._is_stream = False
        self._answer: asyncio.Future[tuple[bool, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Take the transport."""
        self.transport = transport

    def ask(self, data: bytes) -> asyncio.Future[tuple[bool, bytes]]:
        """Send a request; the body of its answer, and whether that is an event stream."""
        self._pieces, self._is_stream = [], False
        self._parser = httptools.HttpResponseParser(self)
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Look what kind of body follows."""
        if len(name) == 12 and name.lower() == b"content-type":
            self._is_stream = value.startswith(b"text/event-stream")

    def on_body(self, piece: bytes) -> None:
        """Take a piece of it."""
        if self.on_piece is None:
            self._pieces.append(piece)
        else:
            self.on_piece(piece)

    def on_message_complete(self) -> None:
        """Hand it over."""
        assert self._answer is not None
        self._answer.set_result((self._is_stream, b"".join(self._pieces)))


class RawClient:
    """A pool of connections."""

    def __init__(self, url: str, pool: int) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname, parts.port)
        self._start = f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\n".encode()
        self._ids = itertools.count(1)
        self._room = pool
        self._idle: list[Wire] = []
        self._waiting: deque[asyncio.Future[Wire]] = deque()

    async def ask(self, method: str, params: dict[str, Any], name: str | None = None) -> Any:
        """Send a request; its result."""
        id = next(self._ids)
        data = self._request(method, name, message(id, method, params))
        wire = await self._wire()
        is_stream, body = await wire.ask(data)
        if self._waiting:
            self._waiting.popleft().set_result(wire)
        else:
            self._idle.append(wire)
        answer = split_events(body)[0][-1] if is_stream else decode(body)
        if answer["id"] != id:
            raise ValueError(answer)
        return answer["result"]

    async def listen(self, uri: str, tell: Callable[[str], object]) -> Callable[[], object]:
        """Open a stream on a connection of its own; what closes it."""
        wire, acknowledged, rest = await self._dial(), asyncio.Event(), b""

        def on_piece(piece: bytes) -> None:
            nonlocal rest
            messages, rest = split_events(rest + piece)
            for one in messages:
                if one["method"] == "notifications/resources/updated":
                    tell(one["params"]["uri"])
                else:
                    acknowledged.set()

        wire.on_piece = on_piece
        params = {"notifications": {"resourceSubscriptions": [uri]}}
        method = "subscriptions/listen"
        wire.ask(self._request(method, None, message(next(self._ids), method, params)))
        await acknowledged.wait()
        return wire.transport.close

    def close(self) -> None:
        """Close what is idle."""
        for wire in self._idle:
            wire.transport.close()

    def _request(self, method: str, name: str | None, body: bytes) -> bytes:
        fields = [b"%b: %b\r\n" % (k.encode(), v.encode()) for k, v in headers(method, name)]
        length = len(body)
        return b"%b%bcontent-length: %d\r\n\r\n%b" % (self._start, b"".join(fields), length, body)

    async def _wire(self) -> Wire:
        if self._idle:
            return self._idle.pop()
        if self._room:
            self._room -= 1
            return await self._dial()
        self._waiting.append(asyncio.get_running_loop().create_future())
        return await self._waiting[-1]

    async def _dial(self) -> Wire:
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Wire, *self._address))[1]
