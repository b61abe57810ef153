"""Tokens for a program that acts for itself: the client credentials grant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from snodo_actors.oauth.discovery import Place
from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.machines.token_request import client_credentials_form
from snodo_actors.oauth.options import ProviderOptions
from snodo_actors.oauth.provider import Provider
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.tokens import Tokens


class ClientCredentials(Provider):
    """A token provider for a client that is registered with a secret or a key (R-166).

    The options are those of `AuthorizationCode`, as far as they have to do with it.

    Raises:
        ValueError: *client* has neither a secret nor a key.
    """

    kind: ClassVar[str] = "client_credentials"
    extensions: ClassVar[Mapping[str, dict[str, Any]]] = {
        "io.modelcontextprotocol/oauth-client-credentials": {}
    }

    def __init__(
        self,
        client: RegisteredClient,
        **options: Unpack[ProviderOptions],
    ) -> None:
        super().__init__(client, **options)
        if client.client_secret is None and client.key is None:
            raise ValueError(
                "client credentials need a secret or a key: write RegisteredClient(client_id, "
                "client_secret), or key=oauth.SigningKey.from_pem(...) in place of the secret"
            )

    async def _obtain(self, fetcher: Fetcher, place: Place, scopes: tuple[str, ...]) -> Tokens:
        client = await self._client(place)
        assert client is not None  # the constructor takes no None
        form = client_credentials_form(place.resource, scopes)
        return await self._ask(fetcher, place, client, form, scopes)
