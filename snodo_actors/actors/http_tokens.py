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
from snodo_actors.machines.authorization import Tried
from snodo_actors.machines.overdue import Overdue
from snodo_actors.machines.token_refreshes import Newer, TokenRefreshes, Want, want
from snodo_actors.wire.headers import is_token
from snodo_actors.words.errors import Error, TransportError
from snodo_actors.words.lost import invalid_token, provider_failed, provider_timed_out
from snodo_actors.words.token_provider import TokenProvider
from snodo_actors.words.types import Challenge
from supervisors import KILL, Node, Ref, TimerHandle, spawn
from supervisors import exit as send_exit

MAX_WAITING = 100_000
"""Messages that may wait for refreshed tokens."""
MAX_THREADS = 8
"""Threads that may be busy with a plain provider, for one connection."""
PROVIDER_LIMIT = 600.0
"""Seconds a provider may take: a user who signs in needs minutes, and none comes after ten."""


@dataclass(frozen=True, slots=True)
class Tokened:
    """The *exchange* may go out with *token*; an Error: it may not."""

    exchange: Exchange
    token: str | Error | None


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What was *wanted* in place of a refused token has come: a new one, or an Error."""

    wanted: Want
    token: str | Error | None


class _Secret(str):
    """A token, which no report shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a token>"


class _Ask:
    """One call of the provider."""

    __slots__ = ("call", "made", "may_be_none", "process", "shown")

    def __init__(
        self,
        call: Callable[[], Any],
        made: Callable[[Any], object],
        shown: str | None,
        *,
        may_be_none: bool,
    ) -> None:
        self.call = call
        self.made = made
        """Makes the message for the port of what came."""
        self.shown = shown
        """The token the provider was shown."""
        self.may_be_none = may_be_none
        self.process: Ref | None = None


class Tokens:
    """The tokens of one connection; what comes is sent to its *port*.

    A provider that takes too long is stopped. All of it happens in the thread of the node's loop.
    """

    def __init__(self, node: Node, port: Ref, provider: TokenProvider, url: str) -> None:
        self._node = node
        self._port = port
        self._provider = provider
        self._url = url
        self._refreshes: TokenRefreshes[Exchange] = TokenRefreshes(MAX_WAITING)
        self._limiter: Any = None
        self._limit = PROVIDER_LIMIT
        self._asks: Overdue[_Ask] = Overdue(PROVIDER_LIMIT)
        self._timer: TimerHandle | None = None
        self._is_closed = False

    def at_hand(self, exchange: Exchange) -> str | Error | None:
        """Return a token that is there already, or an Error; None: it has to be asked for."""
        look = self._provider.at_hand
        if look is None:
            return None
        exchange.tried = Tried(self._refreshes.count)
        try:
            token = look({"url": self._url})
        except Error as error:
            return error
        except Exception as error:  # noqa: BLE001  # the user's code: whoever needs the token is told
            return provider_failed(error, None)
        if token is None:
            return None
        return _Secret(token) if is_token(token) else invalid_token()

    def fetch(self, exchange: Exchange) -> None:
        """Ask for a token; `Tokened` comes."""
        exchange.tried = Tried(self._refreshes.count)
        call = functools.partial(self._provider.token, {"url": self._url})
        made = functools.partial(Tokened, exchange)
        self._begin(_Ask(call, made, None, may_be_none=True))

    def refresh(self, exchange: Exchange, status: int, challenge: Challenge | None) -> None:
        """Get a token in place of the one that was refused; `Refreshed` or `Tokened` comes."""
        tried, refused = exchange.tried, exchange.token
        exchange.tried = Tried(tried.since, refreshed=True)
        wanted = want(refused, challenge)
        match self._refreshes.refused(exchange, wanted, tried.since):
            case "full":
                error = TransportError(
                    -32000,
                    f"{MAX_WAITING} requests wait for a fresh token already",
                    cause=("max_waiting", MAX_WAITING),
                    delivery="answered",
                )
                self._port.send(Tokened(exchange, error))
            case Newer(token):
                self._port.send(Tokened(exchange, token))
            case "lead":
                request = {"url": self._url, "status": status, "token": refused}
                call = functools.partial(self._provider.refresh, challenge, request)
                made = functools.partial(Refreshed, wanted)
                self._begin(_Ask(call, made, refused, may_be_none=False))
            case "wait":
                pass

    def refreshed(self, message: Refreshed) -> list[Exchange]:
        """Return the exchanges that waited for this."""
        token = message.token
        return self._refreshes.ended(message.wanted, token if isinstance(token, str) else None)

    def close(self) -> None:
        """Tell nobody any more; what the provider is about, such as a refresh, it may end."""
        self._is_closed = True
        self._rest()

    # ---- the calls of the provider

    def _begin(self, ask: _Ask) -> None:
        self._asks.began(ask, self._node.now())
        ask.process = spawn(self._run, ask, node=self._node)
        if self._timer is None:
            self._set_timer()

    async def _run(self, ask: _Ask) -> None:
        token: Any
        try:
            token = await self._call(ask.call)
        except Error as error:
            token = error
        except Exception as error:  # noqa: BLE001  # the user's code: whoever needs the token is told
            token = provider_failed(error, ask.shown)
        if not isinstance(token, Error) and not (token is None and ask.may_be_none):
            token = _Secret(token) if is_token(token) else invalid_token()
        if self._asks.ended(ask):
            self._port.send(ask.made(token))
        self._rest()

    async def _call(self, call: Callable[[], Any]) -> Any:
        if inspect.iscoroutinefunction(_innermost(call)):
            return await call()
        import anyio.to_thread  # noqa: PLC0415  # costs 30 ms; it is there once a loop runs

        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MAX_THREADS)
        value = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)
        return await value if inspect.isawaitable(value) else value

    # ---- their time

    def _set_timer(self) -> None:
        """Let it ring when the time of the first call is over, and look again then."""
        at = self._asks.next_at()
        if at is not None:
            self._timer = self._node.after(at - self._node.now(), self._ring)

    def _rest(self) -> None:
        """Let nothing be left of a connection that is closed, once nothing is under way."""
        if self._is_closed and self._timer is not None and self._asks.next_at() is None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        for ask in self._asks.due(self._node.now()):
            self._port.send(ask.made(provider_timed_out(self._limit)))
            if ask.process is not None:
                send_exit(ask.process, KILL)
        self._set_timer()


def _innermost(call: Any) -> Any:
    while isinstance(call, functools.partial):
        call = call.func
    return call
