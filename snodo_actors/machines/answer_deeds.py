"""What an answer over HTTP can say: the deeds of `Answer`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from snodo_actors.wire.http1 import Head
from snodo_actors.words.errors import Error
from snodo_actors.words.types import Challenge, JSONObject


@dataclass(frozen=True, slots=True)
class Began:
    """The answer has this *head*; said to a guard that tells of it, before anything else."""

    head: Head


@dataclass(frozen=True, slots=True)
class Streaming:
    """The answer is an event stream, which may take long."""


@dataclass(slots=True)  # frozen takes twice the time, and each event makes one
class Message:
    """The server says *message* before it answers: progress, a request, a notification."""

    message: JSONObject


@dataclass(slots=True)  # frozen takes twice the time, and nearly every call makes one
class Response:
    """The response to the message, as it came in *data*."""

    message: JSONObject
    data: bytes | bytearray
    head: Head


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message, which wants no response, was accepted."""


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """A fresh token may help; *challenge* says what the server wants.

    With *same_token*, the one it was sent with may do: the answer brought a nonce for it.
    """

    status: int
    challenge: Challenge | None
    same_token: bool = False


@dataclass(frozen=True, slots=True)
class SessionGone:
    """The server does not know the session any more; it has not looked at the message."""


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no response, for *error*."""

    error: Error


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The event stream ended before the response, for *error*; the connection is of no more use.

    It is the last deed. The stream can be taken up where *last_event_id* says, if that is not
    empty, after *retry* milliseconds.
    """

    last_event_id: str
    retry: int | None
    error: Error


@dataclass(frozen=True, slots=True)
class Over:
    """The exchange is over; the connection may be *reusable* for another.

    Its outcome, if that was not said before, is the one deed that follows.
    """

    reusable: bool


# Both of them, as one comes with every answer.
OVERS: Final = (Over(reusable=False), Over(reusable=True))

Deed: TypeAlias = (
    Began
    | Streaming
    | Message
    | Response
    | Accepted
    | Unauthenticated
    | SessionGone
    | Failed
    | Interrupted
    | Over
)
