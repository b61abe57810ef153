"""Links, opened to wherever an origin leads."""

from __future__ import annotations

from snodo_actors.ports.http.dial import dial
from snodo_actors.ports.http.link import Link, LinkEvents
from snodo_actors.ports.http.origin import Origin
from snodo_actors.ports.http.socket_link import SocketLink
from snodo_actors.words.lost import could_not_connect
from supervisors import Node


async def open_link(node: Node, origin: Origin, events: LinkEvents) -> Link:
    """Open a link to *origin*, in a task of the node's loop; whoever is impatient cancels it.

    Raises:
        TransportError: It could not be opened; nothing was sent.
    """
    try:
        sock = await dial(origin.host, origin.port)
    except OSError as error:
        raise could_not_connect(error.strerror or error) from error
    return SocketLink(node, sock, origin, events)
