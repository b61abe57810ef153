"""Tokens for a program whose platform says who it is: the JWT bearer grant (RFC 7523)."""

from __future__ import annotations

from typing import ClassVar, Unpack

from snodo_actors.oauth.assertions import Assertion, read_assertion_source
from snodo_actors.oauth.discovery import Place
from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.machines.token_request import jwt_bearer_form
from snodo_actors.oauth.options import ProviderOptions
from snodo_actors.oauth.provider import Provider
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.tokens import Tokens


class WorkloadIdentity(Provider):
    """A token provider for a workload, such as a pod with a signed token in a file.

    *assertion* is that token, or a function, plain or async, that has a fresh one for each grant.
    *client* is who we are at the authorization server, if it wants to know. The other options are
    those of `AuthorizationCode`, as far as they have to do with it. What the authorization server
    refuses is not tried again, and in no other way.
    """

    kind: ClassVar[str] = "workload"

    def __init__(
        self,
        assertion: Assertion,
        *,
        client: RegisteredClient | None = None,
        **options: Unpack[ProviderOptions],
    ) -> None:
        super().__init__(client, **options)
        self._assertion = assertion

    async def _obtain(self, fetcher: Fetcher, place: Place, scopes: tuple[str, ...]) -> Tokens:
        client = await self._client(place)
        assertion = await read_assertion_source(self._assertion, "the assertion of the workload")
        form = jwt_bearer_form(assertion, place.resource, scopes)
        return await self._ask(fetcher, place, client, form, scopes)
