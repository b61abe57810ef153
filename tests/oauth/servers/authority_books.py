"""What an authorization server remembers: its clients, codes and tokens, and all that was asked.

Knows nothing of HTTP. What a client is and what a token is, Authlib says: these are its mixins.
"""

from __future__ import annotations

import copy
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin
from joserfc.jwk import ECKey

METHODS = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
USER = "someone"

KNOBS: dict[str, Any] = {
    # -- metadata
    "issuer_path": "",  # "/tenant1"
    "metadata": ["oauth", "openid_inserted", "openid_appended"],  # which documents there are
    "issuer": None,  # said in the metadata instead of the true one
    "endpoints_at": None,  # said to be there, not at this server
    "extra": {},  # fields of the metadata, over all others; null leaves one out
    "scopes_supported": None,
    "challenge_methods": ["S256"],
    "auth_methods": METHODS,
    "cimd": False,
    "documents": {},  # client id metadata documents, as if fetched from their URLs
    # -- registration
    "registration": True,
    "registers_as": None,  # the authentication method of new clients, whatever they ask for
    "rejects": [],  # redirect URIs that have one of these in them are not registered
    "clients": [],  # registered beforehand: the metadata of RFC 7591 with an id
    # -- the user's answer
    "consent": True,
    "denial": "access_denied",
    "iss": "right",  # "missing", or any other text as it is; "{issuer}" in it is the true one
    "iss_supported": True,  # said in the metadata; null leaves it out
    "state": "right",  # "missing", or any other text as it is
    "redirects_to": None,  # instead of the redirect URI
    # -- tokens
    "expires_in": 3600,  # seconds; null: not said
    "lifetime": 3600,  # seconds, really; the smaller of the two counts
    "refresh_tokens": True,
    "rotates": True,
    "grants_scope": None,  # whatever was asked for
    "says_scope": True,
    "token_type": None,  # said instead of the true one
    "needs_resource": True,
    "dpop": False,  # proofs are understood, and tokens bound to them
    "dpop_nonce": False,  # ... and have to have a nonce
    "trusts": [],  # issuers of assertions: {"issuer", "jwks", "client_id"}
    "clients_at": {},  # for an identity provider: who a client of ours is, by audience
    # -- misbehaviour: what comes instead of an answer, by endpoint
    "answers": {},
}


@dataclass(eq=False)
class Client(ClientMixin):
    """Someone registered, as RFC 7591 describes it."""

    client_id: str
    metadata: dict[str, Any]
    client_secret: str = ""

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str | None:
        uris = self.metadata.get("redirect_uris") or [None]
        return uris[0]

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.metadata.get("redirect_uris", ())

    def check_client_secret(self, client_secret: str) -> bool:
        return bool(self.client_secret) and self.client_secret == client_secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == self.metadata.get("token_endpoint_auth_method", "client_secret_basic")

    def check_response_type(self, response_type: str) -> bool:
        return response_type in self.metadata.get("response_types", ["code"])

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.metadata.get("grant_types", ["authorization_code"])


@dataclass(eq=False)
class Code(AuthorizationCodeMixin):
    """What a user consented to."""

    code: str
    client_id: str
    redirect_uri: str
    scope: str
    resources: list[str]
    code_challenge: str | None
    code_challenge_method: str | None

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass(eq=False)
class Token(TokenMixin):
    """An access token, and the refresh token that came with it."""

    access_token: str
    refresh_token: str | None
    client_id: str
    scope: str
    resources: list[str]
    family: str
    thumbprint: str | None
    expires_at: float
    user: str
    revoked: bool = False
    rotated: bool = False

    def check_client(self, client: ClientMixin) -> bool:
        return self.client_id == client.get_client_id()

    def get_scope(self) -> str:
        return self.scope

    def get_expires_in(self) -> int:
        return int(self.expires_at - time.time())

    def is_expired(self) -> bool:
        return time.time() >= self.expires_at

    def is_revoked(self) -> bool:
        return self.revoked


@dataclass(eq=False)
class Books:
    """Everything one authorization server knows."""

    knobs: dict[str, Any]
    origin: str
    clients: dict[str, Client] = field(default_factory=dict)
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    nonces: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)
    key: ECKey = field(
        default_factory=lambda: ECKey.generate_key(
            "P-256", {"kid": "one", "use": "sig", "alg": "ES256"}
        )
    )

    def __post_init__(self) -> None:
        self.turn(self.knobs)

    @property
    def issuer(self) -> str:
        return self.origin + self.knobs["issuer_path"]

    def turn(self, knobs: dict[str, Any]) -> None:
        """Change some knobs."""
        unknown = set(knobs) - set(KNOBS)
        if unknown:
            raise ValueError(f"there are no such knobs: {sorted(unknown)}")
        with self.lock:
            self.knobs = {**copy.deepcopy(KNOBS), **self.knobs, **knobs}
            for said in knobs.get("clients", ()):
                self.add_client(**said)

    def add_client(self, client_id: str, client_secret: str = "", **metadata: Any) -> Client:
        self.clients[client_id] = Client(client_id, metadata, client_secret)
        return self.clients[client_id]

    def query_client(self, client_id: str) -> Client | None:
        document = self.knobs["documents"].get(client_id)
        if self.knobs["cimd"] and document is not None and document["client_id"] == client_id:
            return Client(client_id, document)
        return self.clients.get(client_id)

    def revoke(self, what: str) -> None:
        """Let no access token be good any more; with "all", no refresh token either."""
        with self.lock:
            for token in self.tokens:
                token.revoked = True
                token.rotated = token.rotated or what == "all"

    def by_access(self, access_token: str) -> Token | None:
        return next((one for one in self.tokens if one.access_token == access_token), None)

    def by_refresh(self, refresh_token: str) -> Token | None:
        """The token to refresh. One that was used before ends its whole family (RFC 9700, 4.14)."""
        token = next((one for one in self.tokens if one.refresh_token == refresh_token), None)
        if token is None:
            return None
        if token.rotated:
            for one in self.tokens:
                if one.family == token.family:
                    one.rotated = one.revoked = True
            return None
        return token

    def once(self, id: str) -> bool:
        """Whether this is the first time that *id* is seen."""
        with self.lock:
            is_new = id not in self.seen
            self.seen.add(id)
            return is_new

    def nonce(self) -> str:
        nonce = secrets.token_urlsafe(12)
        self.nonces.add(nonce)
        return nonce
