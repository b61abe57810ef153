"""Signed assertions: who a client is, and what tokens are given for (RFC 7523, RFC 8693)."""

from __future__ import annotations

import secrets
import time
from typing import Any

from authlib.oauth2.rfc6749 import (
    BaseGrant,
    InvalidGrantError,
    InvalidRequestError,
    TokenEndpointMixin,
)
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from authority_books import METHODS, USER, Books, Client
from authority_resources import resources
from flask import g, request
from joserfc import jwt
from joserfc.jwk import KeySet

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def client_assertions(books: Books) -> JWTBearerClientAssertion:
    class Assertions(JWTBearerClientAssertion):
        CLIENT_AUTH_METHOD = "private_key_jwt"

        def get_audiences(self) -> list[str]:
            return [books.issuer, f"{books.issuer}/token"]

        def validate_jti(self, claims: dict[str, Any], jti: str) -> bool:
            return books.once(f"assertion:{jti}")

        def resolve_client_public_key(self, client: Client) -> KeySet:
            return KeySet.import_key_set(client.metadata["jwks"])

    return Assertions()


def jwt_bearer(books: Books) -> type[JWTBearerGrant]:
    class Grant(JWTBearerGrant):
        def resolve_issuer_client(self, issuer: str) -> Client | None:
            """The client that authenticated itself; without one, that of a workload."""
            trusted = self._trusted(issuer)
            asked = request.form
            if request.authorization or "client_id" in asked or "client_assertion" in asked:
                return self.server.authenticate_client(self.request, METHODS)
            return books.query_client((trusted or {}).get("client_id"))

        def resolve_client_public_key(self, client: Client) -> KeySet:
            header, claims = self.extract_assertion(request.form["assertion"])
            trusted = self._trusted(claims["iss"])
            if trusted is None:
                raise InvalidGrantError("nobody we trust")
            if header.get("typ") == "oauth-id-jag+jwt" and claims["client_id"] != client.client_id:
                raise InvalidGrantError("the assertion is another client's")
            g.resources = [claims["resource"]] if "resource" in claims else resources(books)
            return KeySet.import_key_set(trusted["jwks"])

        def _trusted(self, issuer: str) -> dict[str, Any] | None:
            found = [one for one in books.knobs["trusts"] if one["issuer"] == issuer]
            return found[0] if found else None

        def get_audiences(self) -> list[str]:
            return [books.issuer]

        def authenticate_user(self, subject: str) -> str:
            return subject

        def has_granted_permission(self, client: Client, user: str) -> bool:
            return True

    return Grant


def token_exchange(books: Books) -> type[BaseGrant]:
    class Grant(BaseGrant, TokenEndpointMixin):
        """An identity provider's: an ID token for an ID-JAG (RFC 8693)."""

        GRANT_TYPE = EXCHANGE
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def validate_token_request(self) -> None:
            self.request.client = self.authenticate_token_endpoint_client()
            form = request.form
            needed = ("audience", "resource", "subject_token", "subject_token_type")
            missing = [name for name in needed if not form.get(name)]
            if missing or form.get("requested_token_type") != ID_JAG:
                raise InvalidRequestError(f"missing: {missing or 'requested_token_type'}")
            try:
                self.claims = jwt.decode(form["subject_token"], books.key, algorithms=["ES256"])
            except Exception as error:
                raise InvalidGrantError("the subject token is not ours") from error
            if self.claims.claims["aud"] != self.request.client.client_id:
                raise InvalidGrantError("the subject token is another client's")

        def create_token_response(self) -> tuple[int, dict[str, Any], Any]:
            form, client = request.form, self.request.client
            claims = {
                "iss": books.issuer,
                "sub": self.claims.claims["sub"],
                "aud": form["audience"],
                "resource": form["resource"],
                "client_id": books.knobs["clients_at"].get(form["audience"], client.client_id),
                "jti": secrets.token_hex(8),
                "iat": int(time.time()),
                "exp": int(time.time()) + 300,
                "scope": form.get("scope", ""),
            }
            header = {"alg": "ES256", "typ": "oauth-id-jag+jwt", "kid": "one"}
            body = {
                "issued_token_type": ID_JAG,
                "access_token": jwt.encode(header, claims, books.key),
                "token_type": "N_A",
                "expires_in": 300,
            }
            return 200, body, self.TOKEN_RESPONSE_HEADER

    return Grant


def id_token(books: Books, client_id: str) -> str:
    """What a single sign-on gave a client."""
    now = int(time.time())
    claims = {"iss": books.issuer, "sub": USER, "aud": client_id, "iat": now, "exp": now + 600}
    return jwt.encode({"alg": "ES256", "kid": "one"}, claims, books.key)
