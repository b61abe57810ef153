"""What is said on a new connection before the first request: to a proxy, and of TLS.

The socket does not block; waiting may be cancelled, and whoever opened the socket closes it.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Final

import anyio

from snodo_actors.ports.http.layer import PIECE_BYTES, TlsLayer
from snodo_actors.ports.http.proxy import Proxy
from snodo_actors.wire.http1 import Head, Malformed, ResponseReader, TooLarge, Truncated

_MAX_HEAD_BYTES: Final = 1 << 16
_NOT_TLS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"}


class Refused(OSError):
    """The other side does not let us in; the text says who and why."""


async def shake_hands(
    sock: socket.socket, context: ssl.SSLContext, host: str, port: int, below: TlsLayer | None
) -> TlsLayer:
    """Put TLS with *host* on *sock*, or on the layer that is there.

    Raises:
        OSError: There is no TLS, its certificate is refused, or the connection failed.
    """
    where = f"{host} port {port}"
    layer = TlsLayer(context, host.partition("%")[0].rstrip("."), below)
    try:
        while not layer.shake_hands():
            await _send(sock, layer.take_output())
            data = await _receive(sock)
            if not data:
                raise Refused(f"{where} closed the connection in the TLS handshake")
            layer.put(data)
        await _send(sock, layer.take_output())
    except ssl.SSLError as error:
        with contextlib.suppress(OSError):
            sock.send(layer.take_output())  # why, for the log of the other side
        raise Refused(_why(error, where)) from error
    return layer


def _why(error: ssl.SSLError, where: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {where} is refused: {error.verify_message}"
    reason = error.reason or str(error)
    hint = " (is its URL one with http:?)" if reason in _NOT_TLS else ""
    return f"no TLS with {where}: {reason.replace('_', ' ').lower()}{hint}"


async def ask_for_tunnel(
    sock: socket.socket, layer: TlsLayer | None, proxy: Proxy, target: str
) -> None:
    """Let the *proxy* connect us to *target*, a host and a port.

    Raises:
        OSError: It does not, or the connection failed.
    """
    lines = [b"CONNECT %b HTTP/1.1" % target.encode(), b"host: " + target.encode()]
    if proxy.authorization is not None:
        lines.append(b"proxy-authorization: " + proxy.authorization)
    request = b"\r\n".join((*lines, b"", b""))
    await _send(sock, request if layer is None else layer.encrypt(request))
    # After a head that agrees, every byte is the server's.
    reader = ResponseReader(_MAX_HEAD_BYTES, head_request=True)
    while True:
        data = await _receive(sock)
        if data and layer is not None:
            data = layer.decrypt(data)
            if not data and not layer.ended:
                continue
        for item in reader.feed(data) if data else reader.finish():
            match item:
                case Head(status=status) if 200 <= status < 300:
                    return
                case Head(status=status):
                    raise Refused(f"the proxy {proxy} refused {target} with HTTP status {status}")
                case Malformed() | TooLarge():
                    raise Refused(f"the proxy {proxy} answered with malformed HTTP")
                case Truncated():
                    raise Refused(f"the proxy {proxy} hung up when asked for {target}")
                case _:
                    pass


async def _send(sock: socket.socket, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[sock.send(view) :]
        except BlockingIOError:
            await anyio.wait_writable(sock)


async def _receive(sock: socket.socket) -> bytes:
    while True:
        await anyio.wait_readable(sock)
        with contextlib.suppress(BlockingIOError):
            return sock.recv(PIECE_BYTES)
