"""The token providers that the scenarios of authorization want, and what the user does in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import httpx

from snodo_actors import oauth

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client id that the suite knows; nobody ever fetches it."""
REDIRECT = "http://localhost:3000/callback"
"""Nothing listens there: the user is a function."""

REFUSED = {
    "auth/scope-retry-limit",
    "auth/resource-mismatch",
    "auth/metadata-issuer-mismatch",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
}
"""Scenarios in which a client has to give up."""


async def agree(url: str) -> str:
    """Go where the browser would, and say where it was sent back to."""
    async with httpx.AsyncClient(trust_env=False) as browser:
        answer = await browser.get(url)
    return answer.headers["location"]


def by_code(**options: Any) -> oauth.AuthorizationCode:
    agent = oauth.FixedRedirect(REDIRECT, agree)
    return oauth.AuthorizationCode(
        client_name="conformance",
        user_agent=agent,
        client_metadata_url=DOCUMENT,
        timeout=5.0,
        user_timeout=5.0,
        **options,
    )


def registered(context: dict[str, Any], **options: Any) -> oauth.RegisteredClient:
    return oauth.RegisteredClient(context["client_id"], context.get("client_secret"), **options)


def by_secret(context: dict[str, Any]) -> oauth.Provider:
    return oauth.ClientCredentials(registered(context))


def by_key(context: dict[str, Any]) -> oauth.Provider:
    key = oauth.SigningKey.from_pem(context["private_key_pem"], context["signing_algorithm"])
    return oauth.ClientCredentials(registered(context, key=key))


def by_company(context: dict[str, Any]) -> oauth.Provider:
    company = oauth.IdentityProvider(
        issuer=context["idp_issuer"],
        token_endpoint=context["idp_token_endpoint"],
        client=oauth.RegisteredClient(context["idp_client_id"]),
    )
    return oauth.EnterpriseManaged(
        registered(context), identity_provider=company, id_token=context["idp_id_token"]
    )


def by_workload(context: dict[str, Any]) -> oauth.Provider:
    return oauth.WorkloadIdentity(context["valid_jwt"], client=registered(context))


PROVIDERS: dict[str, Callable[[dict[str, Any]], oauth.Provider]] = {
    "auth/pre-registration": lambda context: by_code(
        client=registered(context, issuer=context["issuer"])
    ),
    "auth/client-credentials-basic": by_secret,
    "auth/client-credentials-jwt": by_key,
    "auth/enterprise-managed-authorization": by_company,
    "auth/wif-jwt-bearer": by_workload,
    "auth/dpop": lambda _: by_code(dpop=True),
    "auth/dpop-nonce": lambda _: by_code(dpop=True),
}


def provider(scenario: str) -> oauth.Provider:
    """Make the provider for *scenario*."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    return PROVIDERS.get(scenario, lambda _: by_code())(context)
