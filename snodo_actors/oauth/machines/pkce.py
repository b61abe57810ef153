"""The proof that whoever brings a code is who asked for it (RFC 7636)."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode

from snodo_actors.oauth.machines.said import listed
from snodo_actors.oauth.words.metadata import ServerMetadata

METHOD = "S256"


def challenge_of(verifier: str) -> str:
    """Build the challenge that goes ahead of the *verifier*."""
    return unpadded(hashlib.sha256(verifier.encode()).digest())


def unpadded(data: bytes) -> str:
    """Write *data* in the base64 of URLs, without its padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def refuse_without_pkce(metadata: ServerMetadata) -> str | None:
    """Say why a code must not be asked for here, or None (R-142, R-143)."""
    methods = metadata.code_challenge_methods_supported
    if methods is None:
        return "its metadata do not say that it supports PKCE (code_challenge_methods_supported)"
    if METHOD not in methods:
        return f"it does not support PKCE with {METHOD}, only with {listed(methods, 'nothing')}"
    return None
