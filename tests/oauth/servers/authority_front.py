"""What users and clients meet first: registration, HTTP Basic, and the way back from consent."""

from __future__ import annotations

import base64
import secrets
from typing import Any
from urllib.parse import unquote_plus

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authority_books import Books, Client


def credentials(header: str) -> tuple[str, str] | None:
    """Read HTTP Basic as RFC 6749 has it, where both parts are coded as in a form (2.3.1)."""
    scheme, _, coded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    id, _, secret = base64.b64decode(coded).decode().partition(":")
    return unquote_plus(id), unquote_plus(secret)


def basic(query_client: Any, asked: Any) -> Client | None:
    """Know a client by its password. Authlib takes a plus sign for what it is."""
    said = credentials(asked.headers.get("authorization", ""))
    client = query_client(said[0]) if said else None
    return client if said and client and client.check_client_secret(said[1]) else None


def registration(books: Books) -> type[ClientRegistrationEndpoint]:
    class Registration(ClientRegistrationEndpoint):
        def authenticate_token(self, asked: Any) -> bool:
            return True

        def get_server_metadata(self) -> dict[str, Any]:
            return {}

        def generate_client_id(self, asked: Any) -> str:
            return f"client-{secrets.token_hex(8)}"

        def generate_client_info(self, asked: Any) -> dict[str, Any]:
            info = super().generate_client_info(asked)
            method = books.knobs["registers_as"] or asked.payload.data.get(
                "token_endpoint_auth_method", "client_secret_basic"
            )
            info["token_endpoint_auth_method"] = method
            if method in {"none", "private_key_jwt"}:
                del info["client_secret"], info["client_secret_expires_at"]
            return info

        def save_client(self, info: Any, metadata: Any, asked: Any) -> Client:
            method = info["token_endpoint_auth_method"]
            said = {**metadata, "token_endpoint_auth_method": method}
            books.clients[info["client_id"]] = client = Client(
                info["client_id"], said, info.get("client_secret", "")
            )
            return client

    return Registration


def bent_answer(books: Books) -> Any:
    def bend(_server: Any, response: Any) -> None:
        """RFC 9207 puts the issuer into each answer; the knobs say how it is got wrong."""
        if not response.location:
            return
        knobs = books.knobs
        if knobs["iss"] != "missing":
            wrong = knobs["iss"].replace("{issuer}", books.issuer)
            iss = books.issuer if knobs["iss"] == "right" else wrong
            response.location = add_params_to_uri(response.location, {"iss": iss})
        if knobs["state"] != "right":
            head, _, query = response.location.partition("?")
            kept = [one for one in query.split("&") if not one.startswith("state=")]
            if knobs["state"] != "missing":
                kept.append(f"state={knobs['state']}")
            response.location = f"{head}?{'&'.join(kept)}"
        if knobs["redirects_to"] is not None:
            _, _, query = response.location.partition("?")
            response.location = f"{knobs['redirects_to']}?{query}"

    return bend
