from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from snodo_actors.oauth.words.client import RegisteredClient


class Key:
    """As much of a key as a client asks for."""

    algorithm = "ES256"

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        return f"{header}{claims}"


@pytest.mark.parametrize(
    ("why", "args", "options"),
    [
        ("client_id is empty", ("",), {}),
        ("not both", ("id", "secret"), {"key": Key()}),
        ("write one of none, client_secret_basic", ("id",), {"auth_method": "tls"}),
        ("needs client_secret=", ("id",), {"auth_method": "client_secret_basic"}),
        ("needs client_secret=", ("id",), {"auth_method": "client_secret_post"}),
        ("needs key=", ("id", "secret"), {"auth_method": "private_key_jwt"}),
    ],
)
def test_what_does_not_fit_is_refused(why: str, args: Any, options: Any) -> None:
    with pytest.raises(ValueError, match=why):
        RegisteredClient(*args, **options)


def test_what_fits() -> None:
    RegisteredClient("id", key=Key(), auth_method="private_key_jwt")
    RegisteredClient("id", "secret", auth_method="client_secret_post")


def test_a_secret_is_not_shown() -> None:
    assert "hush" not in repr(RegisteredClient("id", "hush"))
    assert "Key" not in repr(RegisteredClient("id", key=Key()))


@pytest.mark.parametrize(("expires_at", "expired"), [(None, False), (10.0, True), (10.1, False)])
def test_a_secret_may_end(expires_at: float | None, expired: bool) -> None:
    assert expired == RegisteredClient("id", "secret", expires_at=expires_at).has_expired(10.0)


@pytest.mark.parametrize(
    "client",
    [
        RegisteredClient("id"),
        RegisteredClient(
            "id",
            "secret",
            issuer="https://as.test",
            auth_method="client_secret_post",
            redirect_uris=("http://127.0.0.1:1/callback",),
            scopes=("a", "b"),
            expires_at=5.0,
        ),
    ],
)
def test_what_was_kept_is_found_again(client: RegisteredClient) -> None:
    assert client == RegisteredClient.from_json(client.to_json())


@pytest.mark.parametrize(
    "kept",
    [
        None,
        [],
        {},
        {"client_id": 1},
        {"client_id": "id"},
        RegisteredClient("id").to_json() | {"client_id": ""},
        RegisteredClient("id").to_json() | {"redirect_uris": None},
    ],
)
def test_what_was_not_kept_by_us_is_nothing(kept: Any) -> None:
    assert RegisteredClient.from_json(kept) is None
