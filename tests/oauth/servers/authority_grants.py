"""What an authorization server gives tokens for: Authlib's grants, with our books behind them."""

from __future__ import annotations

import secrets
import time
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import (
    AuthorizationCodeGrant,
    ClientCredentialsGrant,
    InvalidRequestError,
    RefreshTokenGrant,
)
from authlib.oauth2.rfc7636 import CodeChallenge
from authority_assertions import client_assertions, jwt_bearer, token_exchange
from authority_books import METHODS, USER, Books, Client, Code, Token
from authority_front import basic, bent_answer, registration
from authority_resources import resources
from flask import g, request


def authorization_server(app: Any, books: Books) -> AuthorizationServer:
    """Make the server of *books*, in a Flask application."""

    def save(token: dict[str, Any], asked: Any) -> None:
        books.tokens.append(
            Token(
                access_token=token["access_token"],
                refresh_token=token.get("refresh_token"),
                client_id=asked.client.client_id,
                scope=g.scope,
                resources=g.resources,
                family=g.get("family") or secrets.token_hex(8),
                thumbprint=g.thumbprint,
                expires_at=time.time() + min(books.knobs["lifetime"], _said_lifetime(books)),
                user=USER,
            )
        )

    def generate(**asked: Any) -> dict[str, Any]:
        knobs = books.knobs
        wanted = asked.get("scope") or ""
        g.scope = wanted if knobs["grants_scope"] is None else knobs["grants_scope"]
        bound = "Bearer" if g.thumbprint is None else "DPoP"
        token = {
            "token_type": knobs["token_type"] or bound,
            "access_token": f"access-{secrets.token_urlsafe(24)}",
        }
        if knobs["expires_in"] is not None:
            token["expires_in"] = knobs["expires_in"]
        if g.scope and knobs["says_scope"]:
            token["scope"] = g.scope
        if asked.get("include_refresh_token") and knobs["refresh_tokens"]:
            token["refresh_token"] = f"refresh-{secrets.token_urlsafe(24)}"
        return token

    server = AuthorizationServer(app, query_client=books.query_client, save_token=save)
    server.register_token_generator("default", generate)
    server.register_client_auth_method("client_secret_basic", basic)
    server.register_client_auth_method("private_key_jwt", client_assertions(books))
    server.register_grant(_authorization_code(books), [_S256Only(required=True)])
    server.register_grant(_refresh_token(books))
    server.register_grant(_client_credentials(books))
    server.register_grant(jwt_bearer(books))
    server.register_grant(token_exchange(books))
    server.register_endpoint(registration(books))
    server.register_hook("after_create_authorization_response", bent_answer(books))
    return server


def _said_lifetime(books: Books) -> float:
    return 3600 if books.knobs["expires_in"] is None else books.knobs["expires_in"]


class _S256Only(CodeChallenge):
    DEFAULT_CODE_CHALLENGE_METHOD = "S256"
    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        for name in ("code_challenge", "code_challenge_method"):
            if not request.args.get(name):
                raise InvalidRequestError(f"{name} is missing")
        super().validate_code_challenge(grant, redirect_uri)


def _authorization_code(books: Books) -> type[AuthorizationCodeGrant]:
    class Grant(AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def save_authorization_code(self, code: str, asked: Any) -> None:
            books.codes[code] = Code(
                code,
                asked.client.client_id,
                asked.payload.redirect_uri,
                asked.scope,
                resources(books),
                request.args.get("code_challenge"),
                request.args.get("code_challenge_method"),
            )

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            found = books.codes.get(code)
            if found is None or found.client_id != client.client_id:
                return None
            g.resources = resources(books, among=found.resources)
            return found

        def delete_authorization_code(self, authorization_code: Code) -> None:
            del books.codes[authorization_code.code]

        def authenticate_user(self, authorization_code: Code) -> str:
            return USER

    return Grant


def _refresh_token(books: Books) -> type[RefreshTokenGrant]:
    class Grant(RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        @property
        def INCLUDE_NEW_REFRESH_TOKEN(self) -> bool:  # noqa: N802  # Authlib's name
            return books.knobs["rotates"]

        def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
            token = books.by_refresh(refresh_token)
            if token is None or (token.thumbprint or None) != g.thumbprint:
                return None
            g.family = token.family
            g.resources = resources(books, among=token.resources)
            return token

        def authenticate_user(self, refresh_token: Token) -> str:
            return refresh_token.user

        def revoke_old_credential(self, refresh_token: Token) -> None:
            refresh_token.revoked = True
            refresh_token.rotated = books.knobs["rotates"]

    return Grant


def _client_credentials(books: Books) -> type[ClientCredentialsGrant]:
    class Grant(ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS[1:]

        def validate_token_request(self) -> None:
            super().validate_token_request()
            g.resources = resources(books)

    return Grant
