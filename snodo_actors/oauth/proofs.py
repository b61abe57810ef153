"""Proofs that whoever uses a token has the key it is bound to (DPoP, RFC 9449).

One key for each MCP server, so that two authorization servers cannot tell that they serve the same
client; the newest nonce of each origin.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from typing import Any

from snodo_actors.oauth.bounded import put
from snodo_actors.oauth.keys import SigningKey, import_jwk
from snodo_actors.oauth.machines.signed import proof_claims, proof_header
from snodo_actors.oauth.machines.urls import canonical_resource, origin
from snodo_actors.oauth.store import Store

HEADER = "dpop"
NONCE = "dpop-nonce"
MAX_NONCE = 1024
"""Characters of a nonce that are kept."""


class Proofs:
    """The keys of one provider, and what the servers want to see in the proofs.

    Raises:
        ImportError: joserfc is not installed.
    """

    def __init__(self, store: Store) -> None:
        import_jwk()  # now, and not in the middle of a call
        self._store = store
        self._keys: dict[str, SigningKey] = {}
        self._nonces: dict[str, str] = {}
        self._lock = threading.Lock()

    async def load(self, resource: str) -> SigningKey:
        """Find the key for *resource*, or make it; the lock of its tokens is held."""
        key = self._keys.get(resource)
        if key is None:
            name = f"dpop {resource}"
            key = _read(await self._store.load(name))
            if key is None:
                key = SigningKey.generate()
                await self._store.save(name, key.to_jwk())
            with self._lock:
                put(self._keys, resource, key)
        return key

    def headers(
        self, resource: str, method: str, url: str, token: str | None = None
    ) -> list[tuple[str, str]]:
        """Build the header with a new proof for one request; the key is loaded already."""
        key = self._keys[resource]
        claims = proof_claims(
            method,
            url,
            time.time(),
            secrets.token_urlsafe(16),
            token=token,
            nonce=self._nonces.get(origin(url)),
        )
        return [(HEADER, key.sign(proof_header(key.public_jwk()), claims))]

    def authorize(self, token: str, request: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Build the headers of a *request* to an MCP server, with a new proof."""
        url = request["url"]
        proof = self.headers(canonical_resource(url), request["method"], url, token)
        return [("authorization", f"DPoP {token}"), *proof]

    def answered(
        self, request: Mapping[str, Any], _status: int, headers: Mapping[str, Any]
    ) -> None:
        """Take note of the answer of an MCP server."""
        self.keep_nonce(request["url"], headers)

    def keep_nonce(self, url: str, headers: Mapping[str, Any]) -> None:
        """Keep the nonce that an answer brought."""
        nonce = headers.get(NONCE)
        if isinstance(nonce, str) and 0 < len(nonce) <= MAX_NONCE:
            with self._lock:
                put(self._nonces, origin(url), nonce)


def _read(kept: Mapping[str, Any] | None) -> SigningKey | None:
    """Read the key that was *kept*; what is damaged is as good as none: no token goes with it."""
    try:
        return None if kept is None else SigningKey.from_jwk(kept)
    except ValueError:
        return None
