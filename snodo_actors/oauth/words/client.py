"""Who we are at an authorization server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import msgspec

from snodo_actors.oauth.words.signing import Signer

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
AUTH_METHODS: tuple[str, ...] = get_args(AuthMethod)


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A client id, what proves it is ours, and the one authorization server that knows it.

    Attributes:
        client_id: The id that the authorization server gave.
        client_secret: Its secret, or None.
        issuer: The authorization server it is registered at. It is never sent to another one;
            None: the first one that an MCP server names, and only that from then on.
        key: The private key, where the client proves itself with a signed assertion.
        auth_method: How it proves itself at the token endpoint; None: by what it has, and what the
            authorization server supports.
        redirect_uris: The redirect URIs it is registered with, as far as they are known.
        scopes: What it was registered for, as far as that is known.
        expires_at: When the secret ends, in seconds since 1970; None: never.

    Raises:
        ValueError: Secret, key and method do not fit each other, when it is made.
    """

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    issuer: str | None = field(default=None, kw_only=True)
    key: Signer | None = field(default=None, repr=False, kw_only=True)
    auth_method: AuthMethod | None = field(default=None, kw_only=True)
    redirect_uris: tuple[str, ...] = field(default=(), kw_only=True)
    scopes: tuple[str, ...] | None = field(default=None, kw_only=True)
    expires_at: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not self.client_id:
            raise ValueError("client_id is empty: write the id the authorization server gave")
        if self.client_secret is not None and self.key is not None:
            raise ValueError("a client has a secret or a key, not both: leave out one of the two")
        method = self.auth_method
        if method is not None and method not in AUTH_METHODS:
            raise ValueError(f"auth_method is {method!r}: write one of {', '.join(AUTH_METHODS)}")
        if method in ("client_secret_basic", "client_secret_post") and self.client_secret is None:
            raise ValueError(f"auth_method={method!r} needs client_secret=")
        if method == "private_key_jwt" and self.key is None:
            raise ValueError('auth_method="private_key_jwt" needs key=oauth.SigningKey.from_pem(…)')

    def has_expired(self, now: float) -> bool:
        """Tell whether its secret is of no use any more at *now*."""
        return self.expires_at is not None and self.expires_at <= now

    def to_json(self) -> dict[str, Any]:
        """Build what a store keeps; a key is not in it."""
        return {
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "issuer": self.issuer,
            "auth_method": self.auth_method,
            "redirect_uris": list(self.redirect_uris),
            "scopes": None if self.scopes is None else list(self.scopes),
            "expires_at": self.expires_at,
        }

    @classmethod
    def from_json(cls, value: Any) -> RegisteredClient | None:
        """Read what a store kept, or None from what it did not."""
        try:
            kept = msgspec.convert(value, _Kept)
            return cls(
                kept.client_id,
                kept.client_secret,
                issuer=kept.issuer,
                auth_method=kept.auth_method,
                redirect_uris=kept.redirect_uris,
                scopes=kept.scopes,
                expires_at=kept.expires_at,
            )
        except ValueError:  # msgspec's is one
            return None


class _Kept(msgspec.Struct, frozen=True):
    """The fields of `to_json`."""

    client_id: str
    client_secret: str | None
    issuer: str | None
    auth_method: AuthMethod | None
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...] | None
    expires_at: float | None
