"""One connection to a server of a test: the requests that come on it, and any bytes back.

Knows HTTP/1.1 framing, sockets and gates; knows nothing of MCP. A script is a plain function of an
`Exchange`, runs in the thread of its connection, and waits for gates that the test opens, never for
a while.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Fields = Iterable[tuple[str, str]]
JSON = "application/json"
STREAM = "text/event-stream"
LIFE = 60.0
"""Seconds after which a script that waits is through with waiting."""


class Ended(Exception):
    """The peer is gone, or the server is being stopped: the script has nothing left to do."""


class Gate:
    """What a script waits for and a test opens."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.waiting = 0
        """How many scripts have come to it."""

    def open(self) -> None:
        self._open.set()

    def is_open(self, within: float = 0.0) -> bool:
        return self._open.wait(within) if within else self._open.is_set()


@dataclass
class Request:
    """One request, as it came."""

    number: int
    connection: int
    sequence: int
    """The first on its connection is 1."""
    at: float
    head: bytes
    """The request line and the fields, without the blank line at the end."""
    method: str
    target: str
    fields: list[tuple[str, str]]
    body: bytes
    message: Any = None
    """The body as JSON; None if it is none."""
    faults: list[str] = field(default_factory=list)

    def first(self, name: str) -> str | None:
        """The first field of that name."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def __getitem__(self, name: str) -> Any:
        """A member of the message; None where there is none."""
        return self.message.get(name) if isinstance(self.message, dict) else None

    @property
    def rpc(self) -> str | None:
        """The method of the message: None for an answer of the client."""
        return self["method"]

    @property
    def params(self) -> dict[str, Any]:
        return self["params"] or {}

    @property
    def meta(self) -> dict[str, Any]:
        return self.params.get("_meta") or {}

    @property
    def arguments(self) -> dict[str, Any]:
        return self.params.get("arguments") or {}

    @property
    def tool(self) -> str | None:
        return self.params.get("name") if self.rpc == "tools/call" else None

    @property
    def is_reply(self) -> bool:
        """Whether it is the answer to a request of ours."""
        return isinstance(self.message, dict) and bool({"result", "error"} & set(self.message))


class Connection:
    """A socket, and what has come on it that was not read yet. Belongs to one thread."""

    def __init__(self, number: int, sock: Any, stopping: threading.Event) -> None:
        self.number = number
        self.sock = sock
        self.opened = time.monotonic()
        self.closed: float | None = None
        """When the peer was seen to have closed it."""
        self.requests = 0
        self.ended = False
        """Whether its thread is through with it."""
        self._stopping = stopping
        self._buffer = bytearray()

    # ---- reading

    def _fill(self) -> bool:
        """Read once; False at the end."""
        try:
            data = self.sock.recv(1 << 18)
        except OSError as error:
            self._over()
            raise Ended from error
        if not data:
            self._over()
            return False
        self._buffer += data
        return True

    def _over(self) -> None:
        if self.closed is None:
            self.closed = time.monotonic()

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            if not self._fill():
                raise Ended
        taken = bytes(self._buffer[: self._buffer.index(mark)])
        del self._buffer[: len(taken) + len(mark)]
        return taken

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._fill():
                raise Ended
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def read_request(self, number: int) -> Request:
        """The next request; raises `Ended` when there is none."""
        head = self._until(b"\r\n\r\n")
        at = time.monotonic()
        first, *lines = head.decode("latin-1").split("\r\n")
        self.requests += 1
        faults = []
        fields = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or name != name.strip() or not name or "\n" in line or "\r" in line:
                faults.append(f"not a header line: {line!r}")
            fields.append((name, value.strip(" \t")))
        method, target, version = [*first.split(" "), "", ""][:3]
        if version != "HTTP/1.1":
            faults.append(f"not a request line: {first!r}")
        request = Request(
            number, self.number, self.requests, at, head, method, target, fields, b"", faults=faults
        )
        lengths = request.all("content-length")
        if len(lengths) > 1 or request.all("transfer-encoding"):
            faults.append("a body is framed by one content-length")
        if len(request.all("host")) != 1:
            faults.append("there is exactly one host")
        request.body = self._exactly(int(lengths[0])) if lengths else b""
        if request.body:
            with contextlib.suppress(ValueError):
                request.message = json.loads(request.body)
        return request

    # ---- looking

    def gone(self, within: float = 0.0) -> bool:
        """Whether the peer has closed its side, now or *within* so many seconds."""
        deadline = time.monotonic() + within
        while self.closed is None:
            left = max(0.0, deadline - time.monotonic())
            try:
                readable, _, _ = select.select([self.sock], [], [], min(left, 0.05))
            except (OSError, ValueError):
                self._over()
                break
            if readable:
                with contextlib.suppress(Ended):
                    self._fill()
            elif left == 0.0:
                return False
            if self._stopping.is_set():
                raise Ended
        return True

    # ---- ending

    def half_close(self) -> None:
        """Send the end, and go on reading."""
        self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close it in good order."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    def reset(self) -> None:
        """Close it so that the peer gets a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def encode(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def head(status: int, fields: Fields = (), reason: str = "As Scripted") -> bytes:
    """The head of a response, with the blank line."""
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def response(status: int, body: bytes = b"", fields: Fields = (), kind: str = JSON) -> bytes:
    """A whole response, framed by its length."""
    kinds = [("Content-Type", kind)] if kind else []
    return head(status, [*kinds, *fields, ("Content-Length", str(len(body)))]) + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def event(message: Any, *, type: str | None = "message", id: str | None = None) -> bytes:
    """An event that carries a message."""
    kind = b"" if type is None else b"event: %b\n" % type.encode()
    name = b"" if id is None else b"id: %b\n" % id.encode()
    return kind + name + b"data: " + encode(message) + b"\n\n"


class Exchange:
    """One request and whatever a script does about it."""

    def __init__(
        self, request: Request, connection: Connection, gate: Callable[[str], Gate]
    ) -> None:
        self.request = request
        self.connection = connection
        self.keeps = True
        """Whether another request is read from the connection afterwards."""
        self._gate = gate

    # ---- waiting

    def wait(self, gate: str) -> None:
        """Wait until the test opens the gate of that name; ends the script if the peer goes."""
        it = self._gate(gate)
        it.waiting += 1
        deadline = time.monotonic() + LIFE
        while not it.is_open(0.002):
            if self.connection.gone() or time.monotonic() > deadline:
                raise Ended

    def until_gone(self, within: float = LIFE) -> bool:
        """Wait until the peer has closed the connection; False if it does not."""
        return self.connection.gone(within)

    def until_gone_or(self, gate: str, step: Callable[[], object] | None = None) -> None:
        """Take a step again and again, each 20 ms, until the gate is open; ends with the peer."""
        it = self._gate(gate)
        it.waiting += 1
        while not it.is_open():
            if step is not None:
                step()
            if self.connection.gone(0.02):
                raise Ended

    # ---- bytes

    def send(self, *pieces: bytes) -> None:
        """Send bytes, each piece in a packet of its own as far as one can tell."""
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(0.0005)  # so that the reader has a chance to see them apart
            try:
                self.connection.sock.sendall(piece)
            except OSError as error:
                self.connection.gone(0.05)
                raise Ended from error

    def drip(self, data: bytes, size: int = 1) -> None:
        """Send bytes in pieces of *size*."""
        self.send(*(data[at : at + size] for at in range(0, len(data), size)))

    # ---- responses

    def respond(
        self, status: int, body: bytes = b"", fields: Fields = (), kind: str = JSON
    ) -> None:
        """Send a whole response."""
        self.send(response(status, body, fields, kind))

    def json(self, message: Any, status: int = 200, fields: Fields = ()) -> None:
        """Answer with one message."""
        self.respond(status, encode(message), fields)

    def stream(self, fields: Fields = (), status: int = 200, kind: str = STREAM) -> None:
        """Begin an event stream, in chunks."""
        more = [("Content-Type", kind), ("Transfer-Encoding", "chunked"), *fields]
        self.send(head(status, more))

    def chunk(self, data: bytes) -> None:
        """Send one chunk of a stream."""
        self.send(chunk(data))

    def event(self, message: Any, **how: Any) -> None:
        """Send one message of a stream."""
        self.chunk(event(message, **how))

    def end(self) -> None:
        """End a stream in good order; the connection may be used again."""
        self.send(LAST_CHUNK)

    # ---- the end of the connection

    def half_close(self) -> None:
        """Say that nothing more comes; the peer may still send."""
        self.connection.half_close()

    def close(self) -> None:
        """Close the connection."""
        self.keeps = False
        self.connection.close()

    def reset(self) -> None:
        """Break the connection."""
        self.keeps = False
        self.connection.reset()
