from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from snodo_actors.oauth.machines import token_request as forms
from snodo_actors.oauth.words.client import AuthMethod, RegisteredClient

MCP = "https://mcp.test/mcp"
URN = "urn:ietf:params:oauth:"


class Key:
    """As much of a key as a client asks for."""

    algorithm = "ES256"

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        return f"{header}{claims}"


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (
            forms.code_form("c", "v", "http://127.0.0.1/", MCP),
            {
                "grant_type": "authorization_code",
                "code": "c",
                "code_verifier": "v",
                "redirect_uri": "http://127.0.0.1/",
            },
        ),
        (forms.refresh_form("r", MCP), {"grant_type": "refresh_token", "refresh_token": "r"}),
        (forms.client_credentials_form(MCP, []), {"grant_type": "client_credentials"}),
        (
            forms.client_credentials_form(MCP, ["a", "b"]),
            {"grant_type": "client_credentials", "scope": "a b"},
        ),
        (
            forms.jwt_bearer_form("j", MCP, ["a"]),
            {"grant_type": f"{URN}grant-type:jwt-bearer", "assertion": "j", "scope": "a"},
        ),
        (
            forms.exchange_form(
                "i", forms.ID_TOKEN, audience="https://as", resource=MCP, scopes=[]
            ),
            {
                "grant_type": f"{URN}grant-type:token-exchange",
                "requested_token_type": f"{URN}token-type:id-jag",
                "subject_token": "i",
                "subject_token_type": f"{URN}token-type:id_token",
                "audience": "https://as",
            },
        ),
    ],
)
def test_each_grant_names_the_resource(form: forms.Form, wanted: forms.Form) -> None:
    assert wanted | {"resource": MCP} == form


SECRET = RegisteredClient("id", "secret")


@pytest.mark.parametrize(
    ("client", "supported", "method"),
    [
        (RegisteredClient("id"), ("client_secret_basic",), "none"),
        (RegisteredClient("id", key=Key()), ("client_secret_basic",), "private_key_jwt"),
        (SECRET, None, "client_secret_basic"),
        (SECRET, ("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (SECRET, ("none", "client_secret_post"), "client_secret_post"),
        (SECRET, ("none",), "none"),
        (SECRET, ("tls_client_auth",), None),
        (RegisteredClient("id", "s", auth_method="client_secret_post"), (), "client_secret_post"),
    ],
)
def test_how_a_client_proves_itself(
    client: RegisteredClient, supported: tuple[str, ...] | None, method: str | None
) -> None:
    assert method == forms.choose_auth_method(client, supported)


ODD = RegisteredClient("i d:1", "p%+&é")
ODD_PAIR = "aSUyMGQlM0ExOnAlMjUlMkIlMjYlQzMlQTk="  # base64 of "i%20d%3A1:p%25%2B%26%C3%A9"


@pytest.mark.parametrize(
    ("client", "method", "added", "header"),
    [
        (
            ODD,
            "client_secret_basic",
            {"client_id": "i d:1"},
            f"Basic {ODD_PAIR}",
        ),
        (ODD, "client_secret_post", {"client_id": "i d:1", "client_secret": "p%+&é"}, None),
        (ODD, "none", {"client_id": "i d:1"}, None),
        (RegisteredClient("id"), "client_secret_basic", {"client_id": "id"}, "Basic aWQ6"),
        (
            RegisteredClient("id"),
            "client_secret_post",
            {"client_id": "id", "client_secret": ""},
            None,
        ),
        (
            RegisteredClient("id", key=Key()),
            "private_key_jwt",
            {
                "client_assertion_type": f"{URN}client-assertion-type:jwt-bearer",
                "client_assertion": "signed",
            },
            None,
        ),
    ],
)
def test_the_proof(
    client: RegisteredClient, method: AuthMethod, added: forms.Form, header: str | None
) -> None:
    signed = "signed" if method == "private_key_jwt" else None
    form, headers = forms.authenticate({"grant_type": "g"}, client, method, signed)

    assert {"grant_type": "g"} | added == form
    assert headers == [] if header is None else [("authorization", header)] == headers
