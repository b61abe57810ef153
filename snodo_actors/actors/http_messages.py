"""What the actors of one HTTP connection say to each other."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from snodo_actors.actors.http_authorization import Authorization
from snodo_actors.actors.http_exchange import Exchange, Headers, Then
from snodo_actors.machines.answer import Response
from snodo_actors.machines.authorization import Guard
from snodo_actors.machines.tool_headers import ToolHeaders
from snodo_actors.ports.http.origin import Origin
from snodo_actors.wire.headers import Fields
from snodo_actors.wire.http1 import Item
from snodo_actors.wire.jsonrpc import Outcome
from snodo_actors.words.capabilities import with_extensions
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.types import Challenge, JSONObject
from supervisors import DynamicSupervisorRef, Future, Ref


@dataclass(slots=True, repr=False)
class Family:
    """What the actors of one connection share; each writes its own ref here when it starts."""

    who: str
    url: str
    origin: Origin
    client: ClientOptions
    http: HttpOptions
    headers: Fields
    """The caller's own, encoded."""
    tools: ToolHeaders = field(default_factory=ToolHeaders)
    version: str | None = None
    """The version that was settled."""
    port: Ref | None = None
    namespaces: tuple[Hashable, ...] = ()
    """Under which names results are kept that an event makes stale, by URL and by port."""
    workers: DynamicSupervisorRef | None = None
    streams: DynamicSupervisorRef | None = None
    authorization: Authorization = field(init=False)
    guard: Guard | None = field(init=False)
    """That of the authorization, which every answer needs."""

    def __post_init__(self) -> None:
        provider = self.http.token_provider
        self.authorization = Authorization(provider, self.origin.url, self.who)
        self.guard = self.authorization.guard

    def __repr__(self) -> str:
        return f"<the actors of {self.who}>"  # headers and options may hold secrets

    def capabilities(self, version: str) -> JSONObject:
        """What the client says it can do, where it speaks *version*."""
        declared, provider = self.client.capabilities, self.http.token_provider
        return with_extensions(declared, getattr(provider, "extensions", {}), version)

    @property
    def connect_timeout(self) -> float | None:
        """Seconds a connection may take to be made."""
        own = self.http.connect_timeout
        return self.client.timeout if not isinstance(own, int | float | None) else own


# From a connection to its worker.


class Came:
    """The connection brought these *items*."""

    __slots__ = ("items",)

    def __init__(self, items: list[Item]) -> None:
        self.items = items


# From a worker to the port.


class Finished:
    """The exchange in *slot* is over."""

    __slots__ = ("reusable", "slot")

    def __init__(self, slot: int, reusable: bool) -> None:
        self.slot = slot
        self.reusable = reusable


@dataclass(frozen=True, slots=True)
class Detached:
    """The answer to the *exchange* is a stream: *worker* reads it outside of the pool."""

    exchange: Exchange
    worker: Ref


@dataclass(frozen=True, slots=True)
class Refused:
    """The server wants a fresh token for the *exchange*, or the same one with its nonce."""

    exchange: Exchange
    status: int
    challenge: Challenge | None
    same_token: bool


@dataclass(frozen=True, slots=True)
class SessionLost:
    """The server does not know the session of the *exchange*."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class HeadersRefused:
    """The server wants headers of the *exchange* that only the tool's definition tells."""

    exchange: Exchange
    response: Response


@dataclass(frozen=True, slots=True)
class Post:
    """Send a message of the connection's own."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Concluded:
    """A message of the connection's own came to its end: call *then* with what came of it."""

    then: Then
    outcome: Outcome
    headers: Headers


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The *exchange* was given up for its time; a server of the initialize era is told."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request the server sent in a stream, for the worker that reads it."""

    message: JSONObject


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came of handing over a `Reply`: an Error, or anything else."""

    outcome: Any


# Between the port and the streams.


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The actor that reads the stream *id* was started, or was not."""

    id: int
    outcome: Future[Any]


@dataclass(frozen=True, slots=True)
class StreamRefused:
    """The server wants a fresh token for the stream *id*, or the same one with its nonce."""

    id: int
    status: int
    challenge: Challenge | None
    same_token: bool


@dataclass(frozen=True, slots=True)
class ServerStreamUp:
    """The standing stream of the session is open, or will not be soon."""


@dataclass(frozen=True, slots=True)
class ServerStreamAgain:
    """It is time to open the *standing* stream again, with a token that is good now."""

    standing: Exchange


@dataclass(frozen=True, slots=True)
class ServerStreamGone:
    """The actor of the standing *stream* was killed a while ago: it is time for another."""

    stream: Ref
