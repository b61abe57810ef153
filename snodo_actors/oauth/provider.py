"""What all token providers do: keep tokens, renew them once for everybody, and know when to stop.

How tokens are had at first is for each kind of provider.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import anyio
import httpx

from snodo_actors.oauth.bounded import put
from snodo_actors.oauth.discovery import Place, discover
from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.flights import Flights
from snodo_actors.oauth.grants import NoTokens, ask_tokens
from snodo_actors.oauth.guarded_store import GuardedStore
from snodo_actors.oauth.issuers import Issuers
from snodo_actors.oauth.machines.attempts import Attempts
from snodo_actors.oauth.machines.refusal import Renew, StepUp, Take, decide
from snodo_actors.oauth.machines.said import listed
from snodo_actors.oauth.machines.scopes import choose_scopes
from snodo_actors.oauth.machines.token_request import Form, refresh_form
from snodo_actors.oauth.machines.urls import canonical_resource, shown
from snodo_actors.oauth.proofs import Proofs
from snodo_actors.oauth.shelf import Shelf
from snodo_actors.oauth.store import MemoryStore, Store
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.oauth.words.tokens import Tokens
from snodo_actors.words.checks import positive, seconds
from snodo_actors.words.types import INHERIT, Challenge, Inherit

_log = logging.getLogger("snodo_actors.oauth")

REQUESTS = 12
"""Requests that getting a token may take, at most; the lock is waited for as long as that."""
PLACE_LIFETIME = 3600.0
"""Seconds that it is taken for granted where tokens are renewed, as long as none is refused."""


class Provider:
    """A token provider for any number of servers, to be used from any task, thread or loop."""

    extensions: ClassVar[Mapping[str, dict[str, Any]]] = {}
    """The extensions of the protocol that connections with it declare."""
    kind: ClassVar[str] = ""
    """How it gets tokens; providers of other kinds or clients do not take its tokens for theirs."""
    patience: float = 0.0
    """Seconds that getting a token may take besides its requests, for a user to decide."""

    def __init__(
        self,
        client: RegisteredClient | None,
        *,
        scope: str | Iterable[str] | None = None,
        store: Store | None = None,
        dpop: bool = False,
        timeout: float = 30.0,
        max_step_ups: int = 2,
        ssl: Any = None,
        proxy: str | Inherit | None = INHERIT,
        allow_private_networks: bool = False,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    ) -> None:
        limit = seconds("timeout", timeout)
        if limit is None:
            raise ValueError("timeout must be a number of seconds: a lock is held meanwhile")
        positive("max_step_ups", max_step_ups)
        self._given = client
        self._scope = _scopes(scope)
        self._store = GuardedStore(MemoryStore() if store is None else store)
        self._proofs = Proofs(self._store) if dpop else None
        owner = f"{self.kind} {'' if client is None else client.client_id}"
        self._shelf = Shelf(self._store, owner, self._proofs)
        self._timeout = limit
        self._issuers = Issuers(self._store, REQUESTS * limit)
        self._network: dict[str, Any] = {
            "ssl": ssl,
            "proxy": proxy,
            "allow_private_networks": allow_private_networks,
            "transport": transport,
        }
        self._attempts = Attempts(max_step_ups)
        self._places: dict[str, tuple[Place, float]] = {}
        self._flights: Flights[Tokens | None] = Flights()

    # ---- what a connection calls

    def at_hand(self, request: Mapping[str, Any]) -> str | None:
        """Return the token for the server at ``request["url"]``, if it is here and good."""
        kept = self._shelf.at_hand(canonical_resource(request["url"]))
        return kept.access_token if kept is not None and kept.is_fresh(time.time()) else None

    async def token(self, request: Mapping[str, Any]) -> str | None:
        """Return the token for the server at ``request["url"]``, or None: it has to ask for one.

        Raises:
            AuthorizationError: The token ended, and renewing it failed for now.
        """
        url = canonical_resource(request["url"])
        look = partial(self._shelf.look, url, self._lock_timeout)
        kept = await self._flights.run(("look", url), look)
        if kept is not None and self._renews(kept) and not kept.is_fresh(time.time()):
            ends = kept
            try:
                kept = await self._flights.run(("renew", url), partial(self._renew_in_time, url))
            except AuthorizationError as error:
                if ends.has_ended(time.time()):
                    raise
                _log.info("a token for %s was not renewed in time: %s", shown(url), error)
        return None if kept is None else kept.access_token

    async def refresh(self, challenge: Challenge | None, request: Mapping[str, Any]) -> str:
        """Return a token in place of ``request["token"]``, which the server refused.

        Raises:
            AuthorizationError: There is none to be had; the error says where it failed.
        """
        url = canonical_resource(request["url"])
        status, refused = request["status"], request["token"]
        wanted = () if challenge is None else tuple(challenge.scope)
        named = None if challenge is None else challenge.resource_metadata
        work = partial(self._mend, url, status, refused, wanted, named)
        tokens = await self._flights.run((url, status == 403, refused, wanted), work)
        assert tokens is not None
        return tokens.access_token

    async def forget(self, url: str) -> None:
        """Delete the tokens for the server at *url*, here and in the store, as after a log-out.

        Raises:
            AuthorizationError: The store failed.
        """
        url = canonical_resource(url)
        async with self._alone(url):
            await self._shelf.forget(url)

    @property
    def scheme(self) -> str:
        """The scheme that tokens are sent with."""
        return "bearer" if self._proofs is None else "dpop"

    @property
    def authorize(self) -> Callable[[str, Mapping[str, Any]], list[tuple[str, str]]] | None:
        """What builds the headers of a request, where a token alone does not do."""
        return None if self._proofs is None else self._proofs.authorize

    @property
    def answered(self) -> Callable[[Mapping[str, Any], int, Mapping[str, str]], None] | None:
        """What is told of the answers, where they matter."""
        return None if self._proofs is None else self._proofs.answered

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    # ---- what each kind of provider does its own way

    _unattended: ClassVar[bool] = True
    """Whether tokens are obtained without anybody's consent."""

    async def _obtain(self, fetcher: Fetcher, place: Place, scopes: tuple[str, ...]) -> Tokens:
        """Get tokens for *scopes*; the lock is held."""
        raise NotImplementedError

    async def _client(self, place: Place) -> RegisteredClient | None:
        """Find who we are at *place*, without a request; None: nobody yet."""
        if self._given is not None:
            await self._issuers.bind(self._given, place)
        return self._given

    async def _holder(self, place: Place, kept: Tokens) -> RegisteredClient | None:
        """Find who may use the refresh token of *kept*: it is good for nobody else."""
        client = await self._client(place)
        known = client is not None and kept.client_id in (None, client.client_id)
        return client if known else None

    def _check(self, url: str, refused: str | None) -> None:
        """Raise if tokens must not be obtained once more."""

    # ---- getting

    @property
    def _lock_timeout(self) -> float:
        return REQUESTS * self._timeout + self.patience

    def _alone(self, url: str) -> AbstractAsyncContextManager[None]:
        return self._shelf.locked(url, self._lock_timeout)

    def _fetcher(self, url: str) -> Fetcher:
        return Fetcher(url, timeout=self._timeout, **self._network)

    def _renews(self, kept: Tokens) -> bool:
        return self._unattended or kept.refresh_token is not None

    async def _renew_in_time(self, url: str) -> Tokens | None:
        """Renew what ends soon; where that is refused, the server's refusal goes on from there."""
        async with self._alone(url):
            kept = await self._shelf.read(url)
            if kept is None or kept.is_fresh(time.time()):
                return kept
            fetcher = self._fetcher(url)
            place, since = self._places.get(url, (None, 0.0))
            if place is None or time.time() - since > PLACE_LIFETIME:
                place = await self._find(fetcher, url, kept.resource_metadata, kept)
            if kept.refresh_token is not None and kept.issuer == place.issuer:
                renewed = await self._renew(fetcher, place, kept)
                if renewed is not None:
                    return renewed
            if self._unattended:
                tokens = await self._obtain(fetcher, place, kept.requested)
                return await self._shelf.save(url, tokens)
            return await self._shelf.read(url)

    async def _mend(
        self,
        url: str,
        status: int,
        refused: str | None,
        wanted: tuple[str, ...],
        named: str | None,
    ) -> Tokens:
        """Get tokens in place of a refused one."""
        async with self._alone(url):
            kept = await self._shelf.read(url)
            next_step = decide(status, refused, wanted, kept, time.time())
            if isinstance(next_step, Take):
                return next_step.tokens
            if isinstance(next_step, StepUp):
                self._step_up(url, wanted)
            fetcher = self._fetcher(url)
            named = named or (kept.resource_metadata if kept else None)
            place = await self._find(fetcher, url, named, kept)
            if isinstance(next_step, Renew) and next_step.tokens.issuer == place.issuer:
                renewed = await self._renew(fetcher, place, next_step.tokens)
                if renewed is not None:
                    return renewed
            if not isinstance(next_step, StepUp):
                self._check(url, refused)
            before = () if kept is None or kept.issuer != place.issuer else kept.requested
            scopes = choose_scopes(wanted, self._scope, place.scopes_supported, before)
            tokens = await self._obtain(fetcher, place, scopes)
            _log.info("got a token of %s for %s", place.issuer, shown(url))
            return await self._shelf.save(url, tokens)

    async def _find(
        self, fetcher: Fetcher, url: str, named: str | None, kept: Tokens | None
    ) -> Place:
        """Find out anew where tokens for *url* are had."""
        registered = None if self._given is None else await self._issuers.of(self._given)
        before = None if kept is None else kept.issuer
        place = await discover(fetcher, url, named=named, registered=registered, before=before)
        put(self._places, url, (place, time.time()))
        return place

    def _step_up(self, url: str, wanted: tuple[str, ...]) -> None:
        if not self._attempts.allow(url, wanted, time.time()):
            raise AuthorizationError(
                "step_up",
                f"{shown(url)} goes on asking for {listed(wanted, 'more scopes')}, whatever was "
                "granted: whoever runs it has to give this client or user the right",
                delivery="answered",
            )

    async def _renew(self, fetcher: Fetcher, place: Place, kept: Tokens) -> Tokens | None:
        """Use the refresh token of *kept*; None: it is good for nothing any more."""
        client = await self._holder(place, kept)
        if client is None or kept.refresh_token is None:
            return None
        form = refresh_form(kept.refresh_token, kept.resource)
        url = place.server_url
        # A refresh token may be good for one use: whoever is cancelled now would lose the next one.
        with anyio.CancelScope(shield=True):
            outcome = await ask_tokens(
                fetcher, place, client, form, kept.requested, proofs=self._proofs, before=kept
            )
            if isinstance(outcome, Tokens):
                return await self._shelf.save(url, outcome)
            if not outcome.is_final:
                raise outcome.failure("refresh")
            _log.info("%s refused to renew a token: %s", place.issuer, outcome.error)
            await self._refused(place, outcome.error, client)
            await self._shelf.save(url, replace(kept, refresh_token=None))
        return None

    async def _refused(self, place: Place, error: str | None, client: RegisteredClient) -> None:
        """Take note of an *error* that *client* got at the token endpoint."""

    async def _ask(
        self,
        fetcher: Fetcher,
        place: Place,
        client: RegisteredClient | None,
        form: Form,
        requested: tuple[str, ...],
    ) -> Tokens:
        """Have the first tokens for *form*."""
        outcome = await ask_tokens(fetcher, place, client, form, requested, proofs=self._proofs)
        if isinstance(outcome, NoTokens):
            raise outcome.failure("token")
        return outcome


def _scopes(scope: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if scope is None:
        return None
    return tuple(scope.split()) if isinstance(scope, str) else tuple(scope)
