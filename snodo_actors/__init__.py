"""A client runtime for the Model Context Protocol in which everything that lives is an actor."""

from snodo_actors.actors import telemetry
from snodo_actors.client import Client
from snodo_actors.direct import direct
from snodo_actors.host import child_spec, client, connect
from snodo_actors.ports.transport import Transport
from snodo_actors.server import Server
from snodo_actors.subscription import Subscription
from snodo_actors.words.errors import (
    Error,
    InputError,
    ProtocolError,
    RequestTimeout,
    ServerError,
    TransportError,
)
from snodo_actors.words.types import Http, InputRequired, Page, Session, Stdio
from snodo_actors.words.versions import LIBRARY

__version__ = LIBRARY

__all__ = [
    "Client",
    "Error",
    "Http",
    "InputError",
    "InputRequired",
    "Page",
    "ProtocolError",
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
