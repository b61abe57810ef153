"""Bearer tokens for one connection, from the user's provider.

A plain function of it runs in a worker thread, an async one in a process of the node, so neither
holds up the connection. Requests that were refused with the same token share one refresh.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snodo_actors.actors.http_exchange import Exchange
from snodo_actors.machines.single_flight import SingleFlight
from snodo_actors.wire.headers import is_token
from snodo_actors.words.errors import Error, TransportError
from snodo_actors.words.http_options import TokenProvider
from snodo_actors.words.lost import invalid_token
from snodo_actors.words.types import Challenge
from supervisors import Node, Ref, spawn

MAX_WAITING = 100_000
"""Messages that may wait for refreshed tokens."""
MAX_THREADS = 8
"""Threads that may be busy with a plain provider, for one connection."""


@dataclass(frozen=True, slots=True)
class Tokened:
    """The *exchange* may go out with *token*; an Error: it may not."""

    exchange: Exchange
    token: str | Error | None


@dataclass(frozen=True, slots=True)
class Refreshed:
    """In place of the *refused* token there is a new one, or an Error."""

    refused: str | None
    token: str | Error | None


class _Secret(str):
    """A token, which no report shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a token>"


class Tokens:
    """The tokens of one connection; what comes is sent to its *port*."""

    def __init__(self, node: Node, port: Ref, provider: TokenProvider, url: str) -> None:
        self._node = node
        self._port = port
        self._provider = provider
        self._url = url
        self._flights: SingleFlight[str | None, Exchange] = SingleFlight(MAX_WAITING)
        self._limiter: Any = None

    def fetch(self, exchange: Exchange) -> None:
        """Ask for a token; `Tokened` comes."""
        call = functools.partial(self._provider.token, {"url": self._url})
        made = functools.partial(Tokened, exchange)
        spawn(self._ask, call, True, made, node=self._node)

    def refresh(self, exchange: Exchange, status: int, challenge: Challenge | None) -> None:
        """Ask for a token in place of the one that was refused; `Refreshed` comes."""
        refused = exchange.token
        role = self._flights.join(refused, exchange)
        if role == "full":
            error = TransportError(
                -32000,
                f"{MAX_WAITING} requests wait for a fresh token already",
                cause=("max_waiting", MAX_WAITING),
                delivery="answered",
            )
            self._port.send(Tokened(exchange, error))
        elif role == "lead":
            request = {"url": self._url, "status": status, "token": refused}
            call = functools.partial(self._provider.refresh, challenge, request)
            made = functools.partial(Refreshed, refused)
            spawn(self._ask, call, False, made, node=self._node)

    def refreshed(self, message: Refreshed) -> list[Exchange]:
        """Return the exchanges that waited for this."""
        return self._flights.finish(message.refused)

    async def _ask(
        self, call: Callable[[], Any], may_be_none: bool, made: Callable[[Any], object]
    ) -> None:
        try:
            token = await self._call(call)
        except Error as error:
            token = error
        except Exception as error:  # noqa: BLE001  # the user's code: whoever needs the token is told
            token = TransportError(
                -32000,
                f"the token provider raised {type(error).__name__}: {error}",
                cause=error,
                delivery="never_sent",
            )
        if not isinstance(token, Error) and not (token is None and may_be_none):
            token = _Secret(token) if is_token(token) else invalid_token()
        self._port.send(made(token))

    async def _call(self, call: Callable[[], Any]) -> Any:
        if inspect.iscoroutinefunction(_innermost(call)):
            return await call()
        import anyio.to_thread  # noqa: PLC0415  # costs 30 ms; it is there once a loop runs

        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MAX_THREADS)
        value = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)
        return await value if inspect.isawaitable(value) else value


def _innermost(call: Any) -> Any:
    while isinstance(call, functools.partial):
        call = call.func
    return call
