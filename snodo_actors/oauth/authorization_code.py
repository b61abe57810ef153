"""Tokens that a user agrees to in a browser: the authorization code flow with PKCE."""

from __future__ import annotations

import secrets
import time
from typing import Any, ClassVar, Unpack

from snodo_actors.oauth.bounded import put
from snodo_actors.oauth.browser import Browser
from snodo_actors.oauth.discovery import Place
from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.machines.attempts import Attempts
from snodo_actors.oauth.machines.authorization_request import Asked, Code, ask, read_redirect
from snodo_actors.oauth.machines.oauth_error import OAuthError
from snodo_actors.oauth.machines.pkce import refuse_without_pkce
from snodo_actors.oauth.machines.registration import (
    Refuse,
    Register,
    Use,
    choose_way,
    other_redirect_uri,
    read_registration,
    refuse_metadata_url,
    registration_form,
)
from snodo_actors.oauth.machines.scopes import union, with_offline_access
from snodo_actors.oauth.machines.token_answer import read_refusal
from snodo_actors.oauth.machines.token_request import Form, code_form
from snodo_actors.oauth.machines.urls import shown
from snodo_actors.oauth.options import ProviderOptions
from snodo_actors.oauth.provider import Provider
from snodo_actors.oauth.token_endpoint import failure, read_body
from snodo_actors.oauth.user_agent import UserAgent, Visit
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.oauth.words.tokens import Tokens
from snodo_actors.words.checks import seconds
from snodo_actors.words.errors import Error

MAX_USER_TIMEOUT = 540.0
"""Seconds a user may be waited for: less than a connection waits for its token provider."""
YOUNG = 60.0
"""Seconds after a user's consent in which a refusal of the new token says that it was in vain."""
MAX_CONSENTS = 2
"""Consents in vain before no browser is opened any more."""


class AuthorizationCode(Provider):
    """A token provider that asks a user, in a browser.

    Who we are at the authorization server: *client*, if given; else the document at
    *client_metadata_url*, where the server takes such; else what it answers when we register there
    as *client_name*. *user_agent* shows the user where to go, a `Browser` by default, who then has
    *user_timeout* seconds. The other options are `ProviderOptions`.

    Raises:
        ValueError: *client_metadata_url* cannot be a client id, or *user_timeout* is over 540.
    """

    kind: ClassVar[str] = "code"
    _unattended: ClassVar[bool] = False

    def __init__(
        self,
        *,
        client_name: str = "snodo-actors",
        client: RegisteredClient | None = None,
        client_metadata_url: str | None = None,
        user_agent: UserAgent | None = None,
        user_timeout: float = 300.0,
        **options: Unpack[ProviderOptions],
    ) -> None:
        super().__init__(client, **options)
        refused = None if client_metadata_url is None else refuse_metadata_url(client_metadata_url)
        if refused is not None:
            raise ValueError(f"client_metadata_url {client_metadata_url!r} is refused: {refused}")
        self._name_there = client_name
        self._metadata_url = client_metadata_url
        self._agent: UserAgent = Browser() if user_agent is None else user_agent
        limit = seconds("user_timeout", user_timeout)
        if limit is None or limit > MAX_USER_TIMEOUT:
            raise ValueError(
                f"user_timeout must be {MAX_USER_TIMEOUT:g} seconds at most: a connection gives a "
                "token provider ten minutes"
            )
        self.patience = limit
        self._consented: dict[str, float] = {}
        self._in_vain = Attempts(MAX_CONSENTS)

    async def _obtain(self, fetcher: Fetcher, place: Place, scopes: tuple[str, ...]) -> Tokens:
        metadata = place.metadata
        refused = refuse_without_pkce(metadata)
        if refused is None and metadata.authorization_endpoint is None:
            refused = "its metadata name no authorization_endpoint"
        if refused is not None:
            raise AuthorizationError("authorization", f"{place.issuer} cannot be used: {refused}")
        scopes = with_offline_access(scopes, metadata.scopes_supported)
        try:
            tokens = await self._consent(fetcher, place, scopes)
        except Error:
            raise
        except Exception as error:  # the user agent may be anybody's
            raise AuthorizationError(
                "user", f"the user agent raised {type(error).__name__}", cause=error
            ) from error
        put(self._consented, place.server_url, time.time())
        return tokens

    async def _consent(self, fetcher: Fetcher, place: Place, scopes: tuple[str, ...]) -> Tokens:
        """Have the user agree, and get the tokens for that."""
        stored = await self._stored(place)
        preferred = None if stored is None else next(iter(stored.redirect_uris), None)
        async with self._agent.open(preferred) as visit:
            client, redirect_uri = await self._register(fetcher, place, visit, scopes)
            try:
                asked = self._question(place, client, redirect_uri, scopes)
                back: Any = await visit.visit(asked.url, self.patience)
                form = self._read(place, asked, back)
                return await self._ask(fetcher, place, client, form, scopes)
            except AuthorizationError as error:
                await self._refused(place, error.error, client)
                raise

    def _question(
        self, place: Place, client: RegisteredClient, redirect_uri: str, scopes: tuple[str, ...]
    ) -> Asked:
        metadata = place.metadata
        return ask(
            metadata.authorization_endpoint or "",
            issuer=place.issuer,
            has_iss=bool(metadata.authorization_response_iss_parameter_supported),
            client_id=client.client_id,
            redirect_uri=redirect_uri,
            resource=place.resource,
            scopes=scopes,
            state=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
        )

    def _read(self, place: Place, asked: Asked, back: Any) -> Form:
        """Read what the browser came *back* with, and build what is asked for with it."""
        if not isinstance(back, str):
            raise AuthorizationError(
                "user", "the user agent returned no text: it has to return where the user came back"
            )
        outcome = read_redirect(back, asked)
        if isinstance(outcome, OAuthError):
            raise failure("authorization", f"{place.issuer} did not authorize", outcome)
        if not isinstance(outcome, Code):
            raise AuthorizationError(
                "authorization", f"the redirect from {place.issuer} does not count: {outcome}"
            )
        return code_form(outcome.code, asked.verifier, asked.redirect_uri, place.resource)

    # ---- who we are

    async def _client(self, place: Place) -> RegisteredClient | None:
        way = await self._way(place)
        return way.client if isinstance(way, Use) else None

    async def _way(self, place: Place, scopes: tuple[str, ...] = ()) -> Use | Register | Refuse:
        return choose_way(
            place.metadata,
            given=await super()._client(place),
            metadata_url=self._metadata_url,
            stored=await self._stored(place),
            scopes=scopes,
            now=time.time(),
        )

    def _registration(self, place: Place, client_id: str | None = None) -> str:
        """Name what a store has: the registration of now, or a former one."""
        former = "" if client_id is None else f" {client_id}"
        return f"client {self._name_there} {place.issuer}{former}"

    async def _stored(self, place: Place) -> RegisteredClient | None:
        return RegisteredClient.from_json(await self._store.load(self._registration(place)))

    async def _holder(self, place: Place, kept: Tokens) -> RegisteredClient | None:
        holder = await super()._holder(place, kept)
        if holder is not None or kept.client_id is None:
            return holder
        return RegisteredClient.from_json(
            await self._store.load(self._registration(place, kept.client_id))
        )

    async def _refused(self, place: Place, error: str | None, client: RegisteredClient) -> None:
        if error not in ("invalid_client", "unauthorized_client"):
            return
        stored = await self._stored(place)  # it does not know us any more
        if stored is not None and stored.client_id == client.client_id:
            await self._store.delete(self._registration(place))

    async def _register(
        self, fetcher: Fetcher, place: Place, visit: Visit, scopes: tuple[str, ...]
    ) -> tuple[RegisteredClient, str]:
        """Find or make the registration, and the redirect URI that goes with it."""
        async with self._store.locked(self._registration(place), 3 * self._timeout):
            way = await self._way(place, scopes)
            uri = visit.redirect_uri
            other = other_redirect_uri(uri)
            if isinstance(way, Refuse):
                raise AuthorizationError("registration", way.why)
            if isinstance(way, Use):
                known = way.client.redirect_uris
                if not known or uri in known:
                    return way.client, uri
                if other is not None and other in known:
                    return way.client, other
            scopes = union(scopes, place.scopes_supported or ())
            client = await self._register_as(fetcher, place, uri, scopes)
            if _minds_redirect(client) and other is not None:
                uri = other
                client = await self._register_as(fetcher, place, uri, scopes)
            if not isinstance(client, RegisteredClient):
                who = f"{self._name_there!r} with the redirect URI {uri}"
                what = f"{place.issuer} did not register {who}"
                raise failure("registration", what, client)
            stored = await self._stored(place)
            if stored is not None:  # tokens for other servers may be its own
                former = self._registration(place, stored.client_id)
                await self._store.save(former, stored.to_json())
            await self._store.save(self._registration(place), client.to_json())
            return client, uri

    async def _register_as(
        self, fetcher: Fetcher, place: Place, uri: str, scopes: tuple[str, ...]
    ) -> RegisteredClient | OAuthError | str:
        endpoint = place.metadata.registration_endpoint
        if endpoint is None:
            return f"it is registered with another one there, and {place.issuer} takes no new ones"
        form = registration_form(
            place.metadata, client_name=self._name_there, redirect_uris=[uri], scopes=scopes
        )
        headers = [("accept", "application/json")]
        answer = await fetcher.fetch("POST", endpoint, headers=headers, json=form)
        body = read_body(answer)
        refusal = read_refusal(200 if answer.status == 201 else answer.status, body)
        return refusal or read_registration(body, place.issuer, form)

    # ---- when to stop

    def _check(self, url: str, refused: str | None) -> None:
        now = time.time()
        # Whichever token it was: the one of the consent may have been renewed since.
        if refused is None or now - self._consented.get(url, 0.0) > YOUNG:
            return
        if not self._in_vain.allow(url, (), now):
            raise AuthorizationError(
                "authorization",
                f"{shown(url)} refuses each token that a user has just agreed to: no browser is "
                "opened for it any more for an hour",
                delivery="answered",
            )


def _minds_redirect(outcome: RegisteredClient | OAuthError | str) -> bool:
    """Tell whether it was the redirect URI that was refused (R-137)."""
    return isinstance(outcome, OAuthError) and "redirect_uri" in f"{outcome}"
