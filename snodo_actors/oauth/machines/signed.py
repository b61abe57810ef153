"""What is in the tokens we sign ourselves: client assertions, and proofs of possession."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from snodo_actors.oauth.machines.pkce import unpadded

ASSERTION_LIFETIME = 60
"""Seconds a client assertion is good for: it is used at once."""


def assertion_claims(client_id: str, audience: str, now: float, unique: str) -> dict[str, Any]:
    """Build the claims by which a client proves who it is (RFC 7523, section 3).

    The audience is the issuer, not the endpoint: an endpoint may belong to somebody else.
    """
    return {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": int(now),
        "exp": int(now) + ASSERTION_LIFETIME,
        "jti": unique,
    }


def proof_header(public_jwk: Mapping[str, Any]) -> dict[str, Any]:
    """Build the header of a proof (RFC 9449, section 4.2)."""
    return {"typ": "dpop+jwt", "jwk": dict(public_jwk)}


def proof_claims(
    method: str, url: str, now: float, unique: str, *, token: str | None, nonce: str | None
) -> dict[str, Any]:
    """Build the claims of a proof for one request; *token* is what goes with it, if any."""
    claims: dict[str, Any] = {
        "htm": method,
        "htu": urlunsplit(urlsplit(url)._replace(query="", fragment="")),
        "iat": int(now),
        "jti": unique,
    }
    if token is not None:
        claims["ath"] = unpadded(hashlib.sha256(token.encode()).digest())
    if nonce is not None:
        claims["nonce"] = nonce
    return claims
