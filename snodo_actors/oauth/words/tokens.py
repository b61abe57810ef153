"""The tokens one MCP server is reached with, as a store keeps them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

LEEWAY = 30.0
"""Seconds before its end that an access token is renewed; a tenth of its life, if that is less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """An access token, and what is needed to have the next one.

    Attributes:
        access_token: What the MCP server gets.
        token_type: ``bearer`` or ``dpop``.
        refresh_token: What the next one may be had for, or None: none was issued.
        lifetime: Seconds it was issued for, or None: the authorization server did not say.
        expires_at: When that is over, in seconds since 1970.
        scope: What was granted, as far as that is known.
        requested: What was asked for; a step-up asks for this and more.
        issuer: The authorization server that issued them, the only one that gets the refresh token.
        client_id: Who they were issued to, the only one that may use it; None: that is not known.
        resource: What they are for.
        resource_metadata: Where the metadata of the server were found, or None.
    """

    access_token: str = field(repr=False)
    token_type: str = "bearer"  # noqa: S105  # a kind of token, not one
    refresh_token: str | None = field(default=None, repr=False)
    lifetime: float | None = None
    expires_at: float | None = None
    scope: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()
    issuer: str
    resource: str
    resource_metadata: str | None = None
    client_id: str | None = None

    def is_fresh(self, now: float) -> bool:
        """Tell whether the access token is good at *now* and for a while."""
        if self.expires_at is None or self.lifetime is None:
            return True
        return now < self.expires_at - min(LEEWAY, self.lifetime / 10)

    def has_ended(self, now: float) -> bool:
        """Tell whether the access token is good for nothing at *now*."""
        return self.expires_at is not None and now >= self.expires_at

    def to_json(self) -> dict[str, Any]:
        """Build what a store keeps."""
        return asdict(self) | {"scope": list(self.scope), "requested": list(self.requested)}

    @classmethod
    def from_json(cls, value: Any) -> Tokens | None:
        """Read what a store kept, or None from what it did not."""
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError:
            return None
