"""A client runtime for the Model Context Protocol in which everything that lives is an actor."""

from typing import TYPE_CHECKING

from snodo_actors.actors import telemetry
from snodo_actors.client import Client
from snodo_actors.direct import direct
from snodo_actors.host import child_spec, client, connect
from snodo_actors.ports.transport import Transport
from snodo_actors.subscription import Subscription
from snodo_actors.wire.policy import Mirror, Policy
from snodo_actors.words.errors import (
    Error,
    InputError,
    ProtocolError,
    RefusedHeader,
    RequestTimeout,
    ServerError,
    TransportError,
)
from snodo_actors.words.types import Challenge, Http, InputRequired, Page, Session, Stdio
from snodo_actors.words.versions import LIBRARY

if TYPE_CHECKING:
    from snodo_actors.server import Server

__version__ = LIBRARY

__all__ = [
    "Challenge",
    "Client",
    "Error",
    "Http",
    "InputError",
    "InputRequired",
    "Mirror",
    "Page",
    "Policy",
    "ProtocolError",
    "RefusedHeader",
    "RequestTimeout",
    "Server",
    "ServerError",
    "Session",
    "Stdio",
    "Subscription",
    "Transport",
    "TransportError",
    "__version__",
    "child_spec",
    "client",
    "connect",
    "direct",
    "telemetry",
]


def __getattr__(name: str) -> object:
    """Import the in-process server when somebody asks for it: most programs never do."""
    if name != "Server":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from snodo_actors.server import Server  # noqa: PLC0415  # see above

    return Server
