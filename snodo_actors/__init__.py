"""A client runtime for the Model Context Protocol in which everything that lives is an actor."""

from snodo_actors.client import Client
from snodo_actors.host import child_spec, client, connect
from snodo_actors.words.errors import (
    Error,
    InputError,
    ProtocolError,
    RequestTimeout,
    ServerError,
    TransportError,
)
from snodo_actors.words.types import Http, InputRequired, Page, Session, Stdio
from snodo_actors.words.versions import LIBRARY as __version__

__all__ = [
    "Client",
    "Error",
    "Http",
    "InputError",
    "InputRequired",
    "Page",
    "ProtocolError",
    "RequestTimeout",
    "ServerError",
    "Session",
    "Stdio",
    "TransportError",
    "__version__",
    "child_spec",
    "client",
    "connect",
]
