"""How we become known at an authorization server.

Knows the ways and their order: registered beforehand, a client id metadata document, registered
dynamically. Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from snodo_actors.oauth.machines.said import quoted
from snodo_actors.oauth.words.client import AUTH_METHODS, AuthMethod, RegisteredClient
from snodo_actors.oauth.words.metadata import ServerMetadata
from snodo_actors.words.types import is_object

_LOOPBACK = {"127.0.0.1": "localhost", "localhost": "127.0.0.1", "[::1]": "localhost"}


@dataclass(frozen=True, slots=True)
class Use:
    """Go on as *client*."""

    client: RegisteredClient


@dataclass(frozen=True, slots=True)
class Register:
    """Register at *endpoint* first."""

    endpoint: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """There is no way; *why* says what the user can do."""

    why: str


def choose_way(
    metadata: ServerMetadata,
    *,
    given: RegisteredClient | None,
    metadata_url: str | None,
    stored: RegisteredClient | None,
    scopes: Iterable[str] = (),
    now: float,
) -> Use | Register | Refuse:
    """Choose how to be known at the authorization server of *metadata* (R-134).

    *given* is registered here beforehand, *stored* by ourselves, earlier. *scopes* are what is
    wanted now: some servers give no client more than it was registered for.
    """
    if given is not None:
        return Use(given)
    if metadata_url is not None and metadata.client_id_metadata_document_supported:
        return Use(RegisteredClient(metadata_url, issuer=metadata.issuer, auth_method="none"))
    if stored is not None and _is_good(stored, metadata.issuer, scopes, now):
        return Use(stored)
    if metadata.registration_endpoint is not None:
        return Register(metadata.registration_endpoint)
    return Refuse(
        f"{metadata.issuer} registers no clients by itself: register one there by hand, and write "
        "client=oauth.RegisteredClient(client_id, client_secret, issuer=...)"
    )


def _is_good(stored: RegisteredClient, issuer: str, scopes: Iterable[str], now: float) -> bool:
    covered = stored.scopes is None or set(scopes) <= set(stored.scopes)
    return stored.issuer == issuer and covered and not stored.has_expired(now)


def choose_method(metadata: ServerMetadata) -> AuthMethod:
    """Choose how a client that registers itself is to prove who it is.

    A program on somebody's machine keeps no secret that would be one, so none is the first choice.
    """
    supported = metadata.token_endpoint_auth_methods_supported
    if supported is None:
        supported = ("client_secret_basic",)  # RFC 8414 says so
    if "none" in supported:
        return "none"
    if "client_secret_basic" in supported:
        return "client_secret_basic"
    return "client_secret_post" if "client_secret_post" in supported else "none"


def registration_form(
    metadata: ServerMetadata,
    *,
    client_name: str,
    redirect_uris: Iterable[str],
    scopes: Iterable[str] = (),
) -> dict[str, Any]:
    """Build what is sent to the registration endpoint (RFC 7591; R-136)."""
    uris = list(redirect_uris)
    form: dict[str, Any] = {
        "client_name": client_name,
        "redirect_uris": uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": choose_method(metadata),
        "application_type": "native" if all(map(is_native, uris)) else "web",
    }
    scope = " ".join(scopes)
    return form | ({"scope": scope} if scope else {})


def read_registration(body: Any, issuer: str, asked: Mapping[str, Any]) -> RegisteredClient | str:
    """Read the answer to the form *asked*; a text says what is wrong with it."""
    if not is_object(body):
        return "it is no JSON object"
    fields = body
    client_id, secret = fields.get("client_id"), fields.get("client_secret") or None
    if not isinstance(client_id, str) or not client_id:
        return "it has no client_id"
    if secret is not None and not isinstance(secret, str):
        return "its client_secret is no text"
    method = fields.get("token_endpoint_auth_method")
    if method is None:
        # What was asked for holds, if it goes with there being a secret; else the metadata decide.
        method = asked["token_endpoint_auth_method"]
        method = method if (method == "none") == (secret is None) else None
    elif method not in AUTH_METHODS or method == "private_key_jwt":
        return f"it wants the client to prove itself by {quoted(method)}, which was not asked for"
    if method in ("client_secret_basic", "client_secret_post") and secret is None:
        return f"it wants the client to prove itself by {method}, and gives no secret"
    expires, scope = fields.get("client_secret_expires_at"), fields.get("scope", asked.get("scope"))
    return RegisteredClient(
        client_id,
        secret,
        issuer=issuer,
        auth_method=cast("AuthMethod | None", method),
        redirect_uris=tuple(asked["redirect_uris"]),
        scopes=tuple(scope.split()) if isinstance(scope, str) else None,
        expires_at=_moment(expires),
    )


def _moment(value: Any) -> float | None:
    """Read when a secret ends; 0, and what is beyond all numbers, is never."""
    try:
        return float(value) if isinstance(value, int | float) and value > 0 else None
    except OverflowError:
        return None


def other_redirect_uri(uri: str) -> str | None:
    """Write a loopback address the other way: servers want the name, or the number (R-137)."""
    parts = urlsplit(uri)
    host, _, port = parts.netloc.rpartition(":") if parts.port else (parts.netloc, "", "")
    other = _LOOPBACK.get(host)
    if other is None:
        return None
    return urlunsplit(parts._replace(netloc=f"{other}:{port}" if port else other))


def is_native(uri: str) -> bool:
    """Tell whether a redirect *uri* leads to a program on the user's machine."""
    parts = urlsplit(uri)
    return parts.scheme != "https" or f"{parts.hostname}" in ("localhost", "127.0.0.1", "::1")


def refuse_metadata_url(url: str) -> str | None:
    """Say why *url* cannot be a client id, or None (R-135)."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        return "it must be an https URL"
    if parts.path in ("", "/"):
        return "it must have a path"
    if any(part in (".", "..") for part in parts.path.split("/")):
        return "its path must not have dots for segments"
    if parts.fragment or parts.username is not None or parts.password is not None:
        return "it must have no fragment, user name or password"
    return None
