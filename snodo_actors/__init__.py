"""A client runtime for the Model Context Protocol in which everything that lives is an actor."""

from snodo_actors.client import Client, child_spec, client, connect
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
