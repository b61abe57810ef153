"""What is sent to a token endpoint.

Knows the grants, and how a client proves who it is; knows nothing of keys, clocks or requests.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import quote

from snodo_actors.oauth.words.client import AuthMethod, RegisteredClient

Form: TypeAlias = dict[str, str]

_GRANT = "urn:ietf:params:oauth:grant-type:"
_TOKEN = "urn:ietf:params:oauth:token-type:"  # noqa: S105  # a name, not a secret
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ID_TOKEN = f"{_TOKEN}id_token"
SAML2 = f"{_TOKEN}saml2"
ID_JAG = f"{_TOKEN}id-jag"


def code_form(code: str, verifier: str, redirect_uri: str, resource: str) -> Form:
    """Ask for a token for a *code*."""
    return {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        "redirect_uri": redirect_uri,
        "resource": resource,
    }


def refresh_form(refresh_token: str, resource: str) -> Form:
    """Ask for the next token; the scopes stay what they were."""
    return {"grant_type": "refresh_token", "refresh_token": refresh_token, "resource": resource}


def client_credentials_form(resource: str, scopes: Iterable[str]) -> Form:
    """Ask for a token for the client itself."""
    return {"grant_type": "client_credentials", "resource": resource} | _scope(scopes)


def jwt_bearer_form(assertion: str, resource: str, scopes: Iterable[str]) -> Form:
    """Ask for a token for an *assertion* of somebody the authorization server trusts (RFC 7523)."""
    grant = {"grant_type": f"{_GRANT}jwt-bearer", "assertion": assertion, "resource": resource}
    return grant | _scope(scopes)


def exchange_form(
    subject_token: str,
    subject_token_type: str,
    *,
    audience: str,
    resource: str,
    scopes: Iterable[str],
) -> Form:
    """Ask an identity provider for an assertion that another server takes (RFC 8693; R-167)."""
    return {
        "grant_type": f"{_GRANT}token-exchange",
        "requested_token_type": ID_JAG,
        "subject_token": subject_token,
        "subject_token_type": subject_token_type,
        "audience": audience,
        "resource": resource,
    } | _scope(scopes)


def choose_auth_method(
    client: RegisteredClient, supported: tuple[str, ...] | None
) -> AuthMethod | None:
    """Choose how *client* proves who it is; None: it has a secret that the server does not take."""
    if client.auth_method is not None:
        return client.auth_method
    if supported is None:
        supported = ("client_secret_basic",)  # RFC 8414 says so
    if client.key is not None:
        return "private_key_jwt"
    if client.client_secret is None:
        return "none"
    ways: tuple[AuthMethod, ...] = ("client_secret_basic", "client_secret_post", "none")
    return next((way for way in ways if way in supported), None)


def authenticate(
    form: Form, client: RegisteredClient, method: AuthMethod, assertion: str | None = None
) -> tuple[Form, list[tuple[str, str]]]:
    """Add to *form* and headers what proves who the client is; *assertion* is signed already."""
    match method:
        case "client_secret_basic":
            # Both parts are coded as in a form before they are joined: RFC 6749, section 2.3.1. A
            # blank is %20, as not everybody who reads it takes a plus sign for one.
            pair = f"{quote(client.client_id, '')}:{quote(client.client_secret or '', '')}"
            proof = [("authorization", f"Basic {b64encode(pair.encode()).decode()}")]
            return form | {"client_id": client.client_id}, proof  # some look for it there first
        case "client_secret_post":
            secret = {"client_secret": client.client_secret or ""}
            return form | {"client_id": client.client_id} | secret, []
        case "private_key_jwt":
            signed = {"client_assertion_type": _ASSERTION, "client_assertion": assertion or ""}
            return form | signed, []  # the assertion says which client it is
        case _:
            return form | {"client_id": client.client_id}, []


def _scope(scopes: Iterable[str]) -> Form:
    scope = " ".join(scopes)
    return {"scope": scope} if scope else {}
