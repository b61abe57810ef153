"""Tokens by the single sign-on of a company: its identity provider says who may use which server.

The identity of a user is exchanged at the identity provider for an assertion that the server's
authorization server takes, and that for a token. No user is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from snodo_actors.oauth.assertions import Assertion, read_assertion_source
from snodo_actors.oauth.discovery import Place, server_metadata
from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.machines.oauth_error import OAuthError
from snodo_actors.oauth.machines.token_answer import read_assertion
from snodo_actors.oauth.machines.token_request import (
    ID_JAG,
    ID_TOKEN,
    exchange_form,
    jwt_bearer_form,
)
from snodo_actors.oauth.machines.urls import check_endpoint
from snodo_actors.oauth.options import ProviderOptions
from snodo_actors.oauth.provider import Provider
from snodo_actors.oauth.token_endpoint import ask_token_endpoint, failure
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.oauth.words.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """The identity provider of the company, as its administrator configured it.

    *client* is who we are there. Either *token_endpoint* is given, or *issuer*, whose metadata name
    it.

    Raises:
        ValueError: Neither of them is given, or one is no https URL.
    """

    client: RegisteredClient
    issuer: str | None = None
    token_endpoint: str | None = None

    def __post_init__(self) -> None:
        if self.issuer is None and self.token_endpoint is None:
            raise ValueError("an identity provider needs issuer= or token_endpoint=")
        for url in filter(None, (self.issuer, self.token_endpoint)):
            refused = check_endpoint(url)
            if refused is not None:
                raise ValueError(f"the identity provider's URL {url!r} is refused: {refused}")


class EnterpriseManaged(Provider):
    """A token provider for what a company manages for its people (R-167).

    *client* is who we are at the authorization server of the MCP server. *id_token* is the identity
    of the user, or a function, plain or async, that has it; *id_token_type* says what it is. The
    other options are those of `AuthorizationCode`, as far as they have to do with it.
    """

    kind: ClassVar[str] = "enterprise"
    extensions: ClassVar[Mapping[str, dict[str, Any]]] = {
        "io.modelcontextprotocol/enterprise-managed-authorization": {}
    }

    def __init__(
        self,
        client: RegisteredClient,
        *,
        identity_provider: IdentityProvider,
        id_token: Assertion,
        id_token_type: str = ID_TOKEN,
        **options: Unpack[ProviderOptions],
    ) -> None:
        super().__init__(client, **options)
        self._provider = identity_provider
        self._id_token = id_token
        self._id_token_type = id_token_type

    async def _obtain(self, fetcher: Fetcher, place: Place, scopes: tuple[str, ...]) -> Tokens:
        client = await self._client(place)
        assert client is not None  # the constructor takes no None
        assertion = await self._exchange(place, scopes)
        form = jwt_bearer_form(assertion, place.resource, scopes)
        return await self._ask(fetcher, place, client, form, scopes)

    async def _exchange(self, place: Place, scopes: tuple[str, ...]) -> str:
        """Have the assertion that the authorization server of *place* takes."""
        provider = self._provider
        id_token = await read_assertion_source(self._id_token, "the user's identity")
        # An administrator wrote its address: it may be where the identity provider is.
        fetcher = self._fetcher(provider.token_endpoint or provider.issuer or "")
        endpoint, supported = provider.token_endpoint, None
        if endpoint is None and provider.issuer is not None:
            metadata = await server_metadata(fetcher, provider.issuer)
            if metadata is None:
                raise AuthorizationError("discovery", f"{provider.issuer} has no metadata")
            endpoint = metadata.token_endpoint
            supported = metadata.token_endpoint_auth_methods_supported
        status, body = await ask_token_endpoint(
            fetcher,
            endpoint or "",
            exchange_form(
                id_token,
                self._id_token_type,
                audience=place.issuer,
                resource=place.resource,
                scopes=scopes,
            ),
            provider.client,
            supported=supported,
            audience=provider.issuer or endpoint or "",
        )
        assertion = read_assertion(status, body, ID_JAG)
        if isinstance(assertion, OAuthError):
            who = provider.issuer or endpoint
            raise failure("token", f"the identity provider {who} gave no assertion", assertion)
        return assertion
