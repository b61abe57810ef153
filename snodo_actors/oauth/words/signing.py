"""What signs for us: the shape of a key, whatever library holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Signer(Protocol):
    """A private key that signs JSON Web Tokens; `snodo_actors.oauth.SigningKey` is one."""

    @property
    def algorithm(self) -> str:
        """The algorithm it signs by, such as ``ES256``."""
        ...

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """Make a signed token; `alg`, and `kid` where the key has one, are added to *header*."""
        ...
