"""Has tokens for a grant, whatever the grant is."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from snodo_actors.oauth.discovery import Place
from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.machines.oauth_error import OAuthError
from snodo_actors.oauth.machines.token_answer import is_final, read_token_answer
from snodo_actors.oauth.machines.token_request import Form
from snodo_actors.oauth.proofs import Proofs
from snodo_actors.oauth.token_endpoint import ask_token_endpoint, failure
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.errors import AuthorizationError, Step
from snodo_actors.oauth.words.tokens import Tokens


@dataclass(frozen=True, slots=True)
class NoTokens:
    """The authorization server gave none; *is_final*: the same grant will never be worth any."""

    issuer: str
    refusal: OAuthError | str
    is_final: bool

    @property
    def error(self) -> str | None:
        """The error code of the authorization server, if it gave one."""
        return self.refusal.error if isinstance(self.refusal, OAuthError) else None

    def failure(self, step: Step) -> AuthorizationError:
        """Make the error that says so."""
        return failure(step, f"{self.issuer} gave no token", self.refusal)


async def ask_tokens(
    fetcher: Fetcher,
    place: Place,
    client: RegisteredClient | None,
    form: Form,
    requested: tuple[str, ...],
    *,
    proofs: Proofs | None,
    before: Tokens | None = None,
) -> Tokens | NoTokens:
    """Have tokens for *form*; *before* are those that it renews.

    Raises:
        AuthorizationError: No answer came, or *client* cannot prove itself here.
    """
    status, body = await ask_token_endpoint(
        fetcher,
        place.metadata.token_endpoint,
        form,
        client,
        supported=place.metadata.token_endpoint_auth_methods_supported,
        audience=place.issuer,
        proofs=proofs,
        resource=place.server_url,
    )
    outcome = read_token_answer(
        status,
        body,
        now=time.time(),
        requested=requested,
        issuer=place.issuer,
        resource=place.resource,
        bound=proofs is not None,
        before=before,
    )
    if not isinstance(outcome, Tokens):
        return NoTokens(place.issuer, outcome, is_final(status, outcome))
    return replace(
        outcome,
        resource_metadata=place.resource_metadata,
        client_id=None if client is None else client.client_id,
    )
