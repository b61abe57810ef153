"""With whom the clients of an HTTP endpoint share what is kept of results."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Final

from snodo_actors.actors.caching import Sharing
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.types import Session

_OF_PERSONS: Final = ("authorization", "cookie")
"""Headers that say who asks; the others may say how a result shall look, to everybody."""


def sharing_of_endpoint(url: str, http: HttpOptions) -> Sharing:
    """With whom a client of *url* shares: with all clients of it that ask in the same way."""
    pairs = [(name.lower(), value) for name, value in http.header_pairs]
    headers = tuple(pair for pair in pairs if pair[0] not in _OF_PERSONS)
    return Sharing(("http", url), (headers, http.max_response_bytes, http.ssl))


def credential(http: HttpOptions, token: str | None, session: Session | None) -> Hashable:
    """Make the key of who asks with *token* in *session*; no secret can be read from it."""
    secret = hashlib.sha256(repr((http.header_pairs, token is None, str(token))).encode()).digest()
    return secret, http.ssl, session.id if session is not None else None
