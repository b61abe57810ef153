"""Proxies of the tests' own, in the threads of `byte_servers`."""

from __future__ import annotations

import re
import select
import socket
import ssl
from urllib.parse import urlsplit

from byte_servers import PATIENCE, Connection, reply


class Proxying:
    """What a proxy does with each connection; `asked` is what it was asked."""

    def __init__(self, *, status: bytes = b"200 Connection established") -> None:
        self.status = status
        self.asked: list[bytes] = []

    def __call__(self, connection: Connection) -> None:
        while request := connection.request():
            self.asked.append(request)
            if not self.status.startswith(b"200"):
                connection.send(reply(b"go away", status=self.status))
                return
            method, target, _ = request.split(b" ", 2)
            if method == b"CONNECT":
                host, _, port = target.decode().rpartition(":")
                with socket.create_connection((host.strip("[]"), int(port)), PATIENCE) as server:
                    connection.send(b"HTTP/1.1 %b\r\n\r\n" % self.status)
                    _tunnel(connection, server)
                return
            connection.send(_forward(request, target.decode()))


def _tunnel(connection: Connection, server: socket.socket) -> None:
    """Carry bytes both ways, in one thread: two must not use a TLS socket at the same time."""
    client = connection.sock
    while True:
        is_pending = isinstance(client, ssl.SSLSocket) and client.pending()
        ready = [client] if is_pending else select.select([client, server], [], [], PATIENCE)[0]
        if client in ready:
            data = connection.receive()
            server.sendall(data)
        else:
            data = server.recv(65536) if ready else b""
            connection.send(data)
        if not data:
            return


def _forward(request: bytes, target: str) -> bytes:
    url = urlsplit(target)
    head, mark, body = request.partition(b"\r\n\r\n")
    head = re.sub(rb"^(\w+) \S+", rb"\1 " + url.path.encode(), head)
    head = re.sub(rb"\r\nproxy-authorization: [^\r]*", b"", head)
    with socket.create_connection((url.hostname, url.port), PATIENCE) as server:
        server.sendall(head + mark + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += server.recv(65536)
        length = int(re.search(rb"content-length: (\d+)", answer)[1])
        while len(answer.partition(b"\r\n\r\n")[2]) < length:
            answer += server.recv(65536)
        return answer
