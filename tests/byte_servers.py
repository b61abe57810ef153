"""Servers that send whatever bytes a test wants, with a thread for each connection.

They know sockets, and of HTTP only where a request ends.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable

import pytest

PATIENCE = 10.0
"""Seconds a server waits for whatever it waits for."""


def reply(body: bytes = b"{}", *, status: bytes = b"200 OK", fields: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n" % (status, fields, len(body))
    return head + body


class Connection:
    """One connection, as its server has it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._left = b""

    def receive(self, size: int = 65536) -> bytes:
        """What comes next; nothing at the end, however it came."""
        if self._left:
            data, self._left = self._left[:size], self._left[size:]
            return data
        try:
            return self.sock.recv(size)
        except (ssl.SSLError, ConnectionError):
            return b""

    def request(self) -> bytes:
        """A whole request, head and body; nothing at the end."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.receive()
            if not piece:
                return b""
            data += piece
        head, mark, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        size = int(length[1]) if length else 0
        while len(body) < size:
            piece = self.receive()
            if not piece:
                return b""
            body += piece
        self._left = body[size:]
        return head + mark + body[:size]

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def wait_for_end(self) -> None:
        """Until the client has closed."""
        while self.receive():
            pass

    def reset(self) -> None:
        """End it as a machine does that knows nothing of it."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Talk = Callable[[Connection], object]


class ByteServer:
    """Listens on a port of this machine; what it does with a connection, `talk` says."""

    def __init__(
        self,
        talk: Talk,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._talk = talk
        self._tls = tls
        self._socks: list[socket.socket] = []
        self.host = host
        self.port = self._listener.getsockname()[1]
        self.accepted = 0
        self._is_open = True
        self.errors: list[Exception] = []
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self._tls is None else 'https'}://{host}:{self.port}/mcp"

    def close(self) -> None:
        self._is_open = False
        for sock in (self._listener, *self._socks):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:  # which close what they use
            thread.join(PATIENCE)
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._socks.append(sock)
            if not self._is_open:
                sock.close()
                return
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._socks.append(sock)
            with sock:
                self._talk(Connection(sock))
        except OSError as error:
            self.errors.append(error)
        finally:
            sock.close()


def answer_all(connection: Connection) -> None:
    """Answer every request with what its body was."""
    while request := connection.request():
        connection.send(reply(request.partition(b"\r\n\r\n")[2]))


@pytest.fixture
def serve():
    """Start a server; it ends with the test."""
    servers = []

    def start(talk, **options):
        servers.append(ByteServer(talk, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
