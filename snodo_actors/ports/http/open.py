"""Links, opened to wherever an origin leads."""

from __future__ import annotations

import socket

from snodo_actors.ports.http.dial import dial
from snodo_actors.ports.http.layer import TlsLayer
from snodo_actors.ports.http.link import Link, LinkEvents
from snodo_actors.ports.http.opening import ask_for_tunnel, shake_hands
from snodo_actors.ports.http.origin import Origin
from snodo_actors.ports.http.socket_link import SocketLink
from snodo_actors.ports.http.url import bracketed
from snodo_actors.words.lost import could_not_connect
from supervisors import Node


async def open_link(node: Node, origin: Origin, events: LinkEvents) -> Link:
    """Open a link to *origin*, in a task of the node's loop; whoever is impatient cancels it.

    Raises:
        TransportError: It could not be opened; nothing was sent.
    """
    try:
        if origin.transport is not None:
            from snodo_actors.ports.http.httpx_link import HttpxLink  # noqa: PLC0415  # brings httpx

            return HttpxLink.open(node, origin, events)
        next_hop = origin if origin.proxy is None else origin.proxy
        sock = await dial(next_hop.host, next_hop.port)
        try:
            layer = await _prepare(sock, origin)
        except BaseException:
            sock.close()
            raise
    except OSError as error:
        raise could_not_connect(error.strerror or str(error)) from error
    return SocketLink(node, sock, origin, events, layer)


async def _prepare(sock: socket.socket, origin: Origin) -> TlsLayer | None:
    """Get through to the server, so that what comes next is a request."""
    layer = None
    proxy = origin.proxy
    if proxy is not None:
        if proxy.tls is not None:
            layer = await shake_hands(sock, proxy.tls, proxy.host, proxy.port, None)
        if origin.tls is not None:
            await ask_for_tunnel(sock, layer, proxy, f"{bracketed(origin.host)}:{origin.port}")
    if origin.tls is not None:
        layer = await shake_hands(sock, origin.tls, origin.host, origin.port, layer)
    return layer
