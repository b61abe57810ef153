"""An MCP server over HTTP that costs next to nothing, so that its clients are what is measured.

    python server.py            prints its port, and ends when its standard input does

An echo is answered without a JSON parser. The path says how many tools it has: `/mcp/10000`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
import sys
import time
from functools import lru_cache
from typing import Any

MODERN = b'"io.modelcontextprotocol/protocolVersion":"2026-07-28"'
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
OK = b"HTTP/1.1 200 OK\r\ndate: Mon, 02 Nov 2026 10:00:00 GMT\r\nserver: quick\r\n"
JSON = OK + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
EVENTS = (
    OK + b"content-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
DISCOVERED = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "public",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "resources": {"subscribe": True}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "quick", "version": "1"}},
}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
MOST_UNSENT = 1 << 16
"""Bytes that may wait for one reader before the others' events wait, too."""


def in_chunk(*messages: bytes) -> bytes:
    """Write messages as events, in one chunk of an event stream."""
    body = b"".join([b"event: message\r\ndata: %b\r\n\r\n" % message for message in messages])
    return b"%x\r\n%b\r\n" % (len(body), body)


def echo(body: bytes) -> bytes | None:
    """The answer to a plain call of `echo`; None if the body is not surely one."""
    if body.count(b'"name":"echo"') != 1 or body.count(b'"id":') != 1 or b"\\" in body:
        return None
    start = body.find(b'"id":') + 5
    text = body.find(b'"text":"')
    ends = [end for end in (body.find(b",", start), body.find(b"}", start)) if end >= 0]
    if text < 0 or not ends:
        return None
    said = body[text + 8 : body.find(b'"', text + 8)]
    return (
        b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"%b"}],'
        b'"resultType":"complete"}}' % (body[start : min(ends)], said)
    )


@lru_cache
def tools(number: int) -> bytes:
    """A list of so many tools, as JSON."""
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10},
        },
        "required": ["text"],
    }
    about = "Looks for records that hold the text, and gives the newest of them, up to the limit."
    names = ["echo", "blob", "emit", *(f"search_{i}" for i in range(number - 3))]
    listed = [{"name": name, "description": about, "inputSchema": schema} for name in names]
    result = {"tools": listed, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return json.dumps(result, separators=(",", ":")).encode()


@lru_cache
def blob(size: int) -> bytes:
    """The result of a tool that says *size* characters, as JSON."""
    row = 'row of a table with "quotes" and café, which is long enough\n'
    text = (row * (size // len(row) + 1))[:size]
    result = {"content": [{"type": "text", "text": text}], "resultType": "complete"}
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()


class Shop:
    """What all connections share: the open streams."""

    def __init__(self) -> None:
        self.streams: dict[Peer, bytes] = {}
        self.emitting: set[asyncio.Task[None]] = set()
        self.number = 0

    def emit(self, each: int, rate: float) -> int:
        """Send every stream *each* events, so many a second in all; 0: as fast as it goes."""
        task = asyncio.get_running_loop().create_task(self._emit(each, rate))
        self.emitting.add(task)
        task.add_done_callback(self.emitting.discard)
        return len(self.streams)

    async def _emit(self, each: int, rate: float) -> None:
        peers = list(self.streams)
        total, sent, began = each * len(peers), 0, time.perf_counter()
        while sent < total:
            due = int((time.perf_counter() - began) * rate) + 1 if rate else sent + 64
            while sent < min(due, total):
                peer = peers[sent % len(peers)]
                sent += 1
                while peer.unsent() > MOST_UNSENT:  # noqa: ASYNC110  # only its reader knows when
                    await asyncio.sleep(0.001)
                self._send(peer)
            await asyncio.sleep(0.0005 if rate else 0)

    def _send(self, peer: Peer) -> None:
        self.number += 1
        peer.write(
            in_chunk(
                b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":'
                b'{"uri":"test://e/%d-%d","_meta":{"%b":%b}}}'
                % (self.number, time.monotonic_ns(), SUBSCRIPTION.encode(), self.streams[peer])
            )
        )


class Peer(asyncio.Protocol):
    """One connection."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._rest = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Take the transport."""
        self._transport = transport
        self.write = transport.write
        self.unsent = transport.get_write_buffer_size

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of the end."""
        del exc
        self._shop.streams.pop(self, None)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        data = self._rest + data
        while (head := data.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(data, 0, head)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(data) < end:
                break
            self._answer(data[:head], data[head + 4 : end])
            data = data[end:]
        self._rest = data

    def _answer(self, head: bytes, body: bytes) -> None:
        quick = echo(body)
        if quick is None:
            self._answer_other(head, body)
        elif b'"sse":true' in body:
            self.write(EVENTS + in_chunk(quick) + b"0\r\n\r\n")
        else:
            self.write(JSON % (len(quick), quick))

    def _answer_other(self, head: bytes, body: bytes) -> None:
        message = json.loads(body or b"{}")
        id, params = json.dumps(message.get("id")).encode(), message.get("params") or {}
        match message.get("method"):
            case "server/discover":
                self._result(id, json.dumps(DISCOVERED).encode())
            case "tools/list":
                number = head.split(b" ", 2)[1].rpartition(b"/")[2]
                self._result(id, tools(int(number) if number.isdigit() else 3))
            case "tools/call" if params["name"] == "blob":
                self._result(id, blob(params["arguments"]["size"]))
            case "tools/call":
                streams = self._shop.emit(**params["arguments"])
                self._result(id, b'{"streams":%d}' % streams)
            case "subscriptions/listen":
                self._listen(id, params)
            case _:
                self.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    def _result(self, id: bytes, result: bytes) -> None:
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result)
        self.write(JSON % (len(body), body))

    def _listen(self, id: bytes, params: dict[str, Any]) -> None:
        acknowledged = {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "notifications": params["notifications"],
                "_meta": {SUBSCRIPTION: json.loads(id)},
            },
        }
        self._shop.streams[self] = id
        self.write(EVENTS + in_chunk(json.dumps(acknowledged).encode()))


async def main() -> None:
    loop, shop = asyncio.get_running_loop(), Shop()
    server = await loop.create_server(lambda: Peer(shop), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    factory = None
    with contextlib.suppress(ImportError):  # it is quicker with it
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())
