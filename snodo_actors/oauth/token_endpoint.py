"""Asks a token endpoint, as who we are and with the proofs it wants."""

from __future__ import annotations

import secrets
import time
from typing import Any

from snodo_actors.oauth.fetch import Answer, Fetcher
from snodo_actors.oauth.machines.oauth_error import OAuthError, without
from snodo_actors.oauth.machines.said import listed
from snodo_actors.oauth.machines.signed import assertion_claims
from snodo_actors.oauth.machines.token_answer import read_refusal
from snodo_actors.oauth.machines.token_request import Form, authenticate, choose_auth_method
from snodo_actors.oauth.proofs import Proofs
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.errors import AuthorizationError, Step

SECRETS = (
    "assertion",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "refresh_token",
    "subject_token",
)
"""Fields of a form that nobody is shown."""
MIN_SECRET = 8
"""Characters of the shortest that is looked for: what is shorter is in many a word."""


async def ask_token_endpoint(
    fetcher: Fetcher,
    endpoint: str,
    form: Form,
    client: RegisteredClient | None,
    *,
    supported: tuple[str, ...] | None,
    audience: str,
    proofs: Proofs | None = None,
    resource: str = "",
) -> tuple[int, Any]:
    """Send *form* as *client*, and return the status and the decoded body of the answer.

    None for a client: the grant itself says who asks.
    *supported* are the ways of authentication the server takes, *audience* is what an assertion of
    ours is for. With *proofs*, each try has one, for the key of *resource*.

    Raises:
        AuthorizationError: No answer came, or *client* cannot prove itself here.
    """
    headers = [("accept", "application/json")]
    if client is not None:
        form, proof = _authenticate(form, client, supported, audience)
        headers += proof

    async def send() -> Answer:
        proof = [] if proofs is None else proofs.headers(resource, "POST", endpoint)
        answer = await fetcher.fetch("POST", endpoint, headers=[*headers, *proof], form=form)
        if proofs is not None:
            proofs.keep_nonce(endpoint, answer.headers)
        return answer

    answer = await send()
    if proofs is not None and _wants_nonce(answer):
        answer = await send()
    sent = [form.get(name, "") for name in SECRETS]
    sent.append((client and client.client_secret) or "")
    return answer.status, without(
        read_body(answer), [one for one in sent if len(one) >= MIN_SECRET]
    )


def _authenticate(
    form: Form, client: RegisteredClient, supported: tuple[str, ...] | None, audience: str
) -> tuple[Form, list[tuple[str, str]]]:
    method = choose_auth_method(client, supported)
    if method is None:
        raise AuthorizationError(
            "registration",
            f"{audience} takes none of the ways in which the client {client.client_id!r} can prove "
            f"itself; it takes {listed(supported or (), 'none')}",
        )
    assertion = None
    if method == "private_key_jwt" and client.key is not None:
        unique = secrets.token_urlsafe(16)
        claims = assertion_claims(client.client_id, audience, time.time(), unique)
        assertion = client.key.sign({"typ": "JWT"}, claims)
    return authenticate(form, client, method, assertion)


def _wants_nonce(answer: Answer) -> bool:
    refusal = read_refusal(answer.status, read_body(answer))
    return isinstance(refusal, OAuthError) and refusal.error == "use_dpop_nonce"


def read_body(answer: Answer) -> Any:
    """Decode the body of an *answer*; what is no JSON is as good as none."""
    try:
        return answer.json()
    except AuthorizationError:
        return None


def failure(step: Step, what: str, outcome: OAuthError | str) -> AuthorizationError:
    """Make the error for *what* the authorization server did not do."""
    if isinstance(outcome, OAuthError):
        return AuthorizationError(
            step,
            f"{what}: {outcome}",
            error=outcome.error,
            error_description=outcome.description,
        )
    return AuthorizationError(step, f"{what}: {outcome}")
