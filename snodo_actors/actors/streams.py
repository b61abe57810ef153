"""What a listen stream, its owner and the port of its connection say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject
from supervisors import Ref

# From the owner to the stream.


@dataclass(frozen=True, slots=True)
class Demand:
    """The owner wants *count* more events."""

    count: Any


@dataclass(frozen=True, slots=True)
class Close:
    """The owner wants no more."""


# From the stream to the port.


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Asks the port to send the listen request *id* and to hand over what comes for it."""

    id: int
    line: bytes
    subscriber: Ref


@dataclass(frozen=True, slots=True)
class CancelStream:
    """Tells the port that nobody listens to the stream *id* any more."""

    id: int


# From the port to the stream.


@dataclass(slots=True)  # frozen takes twice the time, and each event makes one
class Notified:
    """A notification for the stream came."""

    id: int
    method: str
    params: JSONObject


@dataclass(slots=True)  # as above
class Batch:
    """Several came at once: one message, so that no mailbox grows faster than it is emptied."""

    notified: list[Notified]


@dataclass(frozen=True, slots=True)
class Answered:
    """The response that ends the stream came."""

    id: int
    response: JSONObject


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The server cancelled the stream."""

    id: int


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The server closed the connection of the stream *id*, without a response."""

    id: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is gone; *ours* if we closed it."""

    error: Error
    ours: bool
    id: int | None = None
    """The stream, if only that one is lost, as its connection was its own."""
