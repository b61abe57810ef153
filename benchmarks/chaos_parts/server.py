"""A server over HTTP that keeps a log of what it sees, and misbehaves as the dice say.

    python server.py PORT LOG SEED CHAOS

CHAOS is the share of calls that something happens to, 0 to 1. The log has a line for each call that
came, `saw TOKEN`, before anything is done about it, and `said TOKEN` before its answer is written.
Ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import struct
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
TOKEN = re.compile(rb'"text":"(call-[0-9]+)"')
JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
DISCOVERED = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "public",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "resources": {"subscribe": True}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "chaos", "version": "1"}},
}


def in_chunk(message: bytes) -> bytes:
    """Write a message as an event, in one chunk."""
    body = b"event: message\r\ndata: %b\r\n\r\n" % message
    return b"%x\r\n%b\r\n" % (len(body), body)


class House:
    """What all connections share."""

    def __init__(self, log: int, dice: random.Random, chaos: float) -> None:
        self.dice, self.chaos = dice, chaos
        self.streams: dict[Peer, Any] = {}
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self._number = 0

    def log(self, what: str, token: bytes) -> None:
        """Write down what happened, before anything else does."""
        os.write(self._log, f"{what} {token.decode()}\n".encode())

    def later(self, deed: Coroutine[Any, Any, None]) -> None:
        """Go on with *deed* by and by."""
        task = asyncio.get_running_loop().create_task(deed)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def tell_all(self) -> None:
        """Send events to every stream for ever, and end some of them badly."""
        while True:
            await asyncio.sleep(0.2)
            for peer, id in list(self.streams.items()):
                self._number += 1
                params = {"uri": f"test://e/{self._number}", "_meta": {SUBSCRIPTION: id}}
                method = "notifications/resources/updated"
                message = {"jsonrpc": "2.0", "method": method, "params": params}
                event = in_chunk(json.dumps(message).encode())
                if self.dice.random() > self.chaos / 20:
                    peer.write(event)
                    continue
                del self.streams[peer]
                cut = self.dice.randrange(len(event))
                peer.write(event[:cut])
                self.dice.choice([peer.close, peer.reset])()


class Peer(asyncio.Protocol):
    """One connection."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._rest = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Take the transport."""
        self._transport = transport
        self.write: Callable[[bytes], None] = transport.write
        if self._house.dice.random() < self._house.chaos / 50:
            self.reset()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of the end."""
        del exc
        self._house.streams.pop(self, None)
        for token in TOKEN.findall(self._rest):
            self._house.log("saw", token)

    def close(self) -> None:
        """Close once all is written."""
        self._transport.close()

    def reset(self) -> None:
        """Close at once, with a reset."""
        sock = self._transport.get_extra_info("socket")
        if sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        data = self._rest + data
        while (head := data.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(data, 0, head)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(data) < end:
                break
            body, data = data[head + 4 : end], data[end:]
            self._answer(json.loads(body))
        self._rest = data

    def _answer(self, message: dict[str, Any]) -> None:
        id, params = message.get("id"), message.get("params") or {}
        match message["method"]:
            case "server/discover":
                self._result(id, DISCOVERED)
            case "tools/call":
                self._house.later(self._called(id, params["arguments"]["text"]))
            case "subscriptions/listen":
                meta = {SUBSCRIPTION: id}
                params = {"notifications": params["notifications"], "_meta": meta}
                method = "notifications/subscriptions/acknowledged"
                acknowledged = {"jsonrpc": "2.0", "method": method, "params": params}
                self.write(EVENTS + in_chunk(json.dumps(acknowledged).encode()))
                self._house.streams[self] = id
            case _:
                self.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    def _result(self, id: Any, result: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        self.write(JSON % (len(body), body))

    async def _called(self, id: Any, text: str) -> None:
        house, token = self._house, text.encode()
        house.log("saw", token)
        content = [{"type": "text", "text": text}]
        result = {"content": content, "resultType": "complete"}
        body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        plain = JSON % (len(body), body)
        streamed = EVENTS + in_chunk(body) + b"0\r\n\r\n"
        if house.dice.random() >= house.chaos:
            house.log("said", token)
            self.write(house.dice.choice([plain, plain, streamed]))
            return
        await self._misbehave(token, id, body, house.dice.choice([plain, streamed]))

    async def _misbehave(self, token: bytes, id: Any, body: bytes, answer: bytes) -> None:
        house, dice = self._house, self._house.dice
        deed = dice.randrange(12)
        if deed == 0:
            self.close()
        elif deed == 1:
            self.reset()
        elif deed == 2:
            return  # no answer at all
        elif deed == 3:
            await asyncio.sleep(dice.uniform(0.1, 3.0))
            house.log("said", token)
            self.write(answer)
        else:
            house.log("said", token)
            cut = dice.randrange(1, len(answer))
            if deed == 4:
                self.write(answer[:cut])
                dice.choice([self.close, self.reset])()
            elif deed == 5:
                self.write(answer[:cut])
                await asyncio.sleep(dice.uniform(0.05, 1.0))
                self.write(answer[cut:])
            elif deed == 6:
                self.write(answer * 2)
            elif deed == 7:
                self.write(EVENTS + in_chunk(body) * 2 + b"0\r\n\r\n")
            elif deed == 8:
                self.write(answer)
                self.close()
            elif deed == 9:
                self.write(dice.randbytes(200))
            elif deed == 10:
                error = {"code": -32603, "message": "no", "data": token.decode()}
                refused = json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()
                self.write(JSON % (len(refused), refused))
            else:
                self.write(b"HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops")


async def main(port: int, log: str, seed: int, chaos: float) -> None:
    loop = asyncio.get_running_loop()
    descriptor = os.open(Path(log), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    house = House(descriptor, random.Random(seed), chaos)
    server = await loop.create_server(lambda: Peer(house), "127.0.0.1", port, backlog=1024)
    house.later(house.tell_all())
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
