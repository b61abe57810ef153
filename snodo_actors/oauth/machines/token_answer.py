"""What came of a request to a token endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

from snodo_actors.oauth.machines.oauth_error import OAuthError, read_words
from snodo_actors.oauth.words.tokens import Tokens
from snodo_actors.wire.headers import is_token
from snodo_actors.words.types import is_object

_TRY_AGAIN = 500
_TRANSIENT = ("server_error", "slow_down", "temporarily_unavailable")
_REFUSALS = (400, 401)
"""Statuses that refuse a grant without an error code; others, as 403 and 404, may be a proxy's."""


def read_token_answer(
    status: int,
    body: Any,
    *,
    now: float,
    requested: tuple[str, ...],
    issuer: str,
    resource: str,
    bound: bool,
    before: Tokens | None = None,
) -> Tokens | OAuthError | str:
    """Read the tokens out of an answer; a text says why it has none.

    *bound*: the token must be bound to a key (DPoP). *before* is what was refreshed: what the
    answer leaves out stays as it was.
    """
    refusal = read_refusal(status, body)
    if refusal is not None:
        return refusal
    fields = cast("Mapping[str, Any]", body)
    token: Any = fields.get("access_token")
    kind, refresh = fields.get("token_type"), fields.get("refresh_token")
    if not is_token(token):
        return "it has no access_token, or one that cannot be sent"
    wanted = "dpop" if bound else "bearer"
    if not isinstance(kind, str) or kind.lower() != wanted:
        return f"its token_type is {_named(kind)}, not {wanted}"
    if refresh is not None and (not isinstance(refresh, str) or not refresh):
        return "its refresh_token is no text"
    lifetime = _lifetime(fields.get("expires_in"))
    return Tokens(
        access_token=token,
        token_type=wanted,
        refresh_token=refresh or (before.refresh_token if before else None),
        lifetime=lifetime,
        expires_at=None if lifetime is None else now + lifetime,
        scope=_scope(fields.get("scope"), before.scope if before else requested),
        requested=requested,
        issuer=issuer,
        resource=resource,
    )


def read_assertion(status: int, body: Any, kind: str) -> str | OAuthError:
    """Read the assertion of type *kind* that an identity provider gave for an exchange."""
    refusal = read_refusal(status, body)
    if isinstance(refusal, OAuthError):
        return refusal
    fields = cast("Mapping[str, Any]", {} if refusal else body)
    token, issued = fields.get("access_token"), fields.get("issued_token_type")
    if not isinstance(token, str) or not token or issued != kind:
        why = refusal or f"it issued {_named(issued)}, not {kind}"
        return OAuthError("no assertion", why)
    return token


def read_refusal(status: int, body: Any) -> OAuthError | str | None:
    """Say why the answer brings nothing; None: it is an object of status 200."""
    fields = cast("Mapping[str, Any]", body if is_object(body) else {})
    if status != 200:
        if status < _TRY_AGAIN and "error" in fields:
            return OAuthError(*read_words(fields))
        return f"its status is {status}"
    if isinstance(fields.get("error"), str) and "access_token" not in fields:
        return OAuthError(*read_words(fields))  # GitHub's errors have the status 200
    return None if is_object(body) else "it is no JSON object"


def is_final(status: int, refusal: OAuthError | str) -> bool:
    """Tell whether it was the grant that was refused, and not only this request for it."""
    if isinstance(refusal, OAuthError):
        return refusal.error not in _TRANSIENT
    return status in _REFUSALS


def _lifetime(value: Any) -> float | None:
    """Read a number of seconds; some servers write it as a text."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if isfinite(seconds) and seconds > 0 else None


def _scope(value: Any, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(value.split()) if isinstance(value, str) and value.strip() else otherwise


def _named(value: Any) -> str:
    return f"{value[:60]!r}" if isinstance(value, str) else "missing"
