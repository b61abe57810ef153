from __future__ import annotations

from typing import Any

import pytest

from snodo_actors.oauth.machines.oauth_error import OAuthError
from snodo_actors.oauth.machines.token_answer import is_final, read_assertion, read_token_answer
from snodo_actors.oauth.words.tokens import Tokens

GOOD = {"access_token": "t", "token_type": "Bearer"}


def read(body: Any, status: int = 200, **options: Any) -> Any:
    usual: dict[str, Any] = {"now": 100.0, "requested": ("a", "b"), "issuer": "i"}
    usual |= {"resource": "r", "bound": False}
    return read_token_answer(status, body, **(usual | options))


def test_the_least() -> None:
    assert Tokens(
        access_token="t", scope=("a", "b"), requested=("a", "b"), issuer="i", resource="r"
    ) == read(GOOD)


def test_everything() -> None:
    body = GOOD | {"refresh_token": "f", "expires_in": 60, "scope": "a"}

    assert Tokens(
        access_token="t",
        refresh_token="f",
        lifetime=60.0,
        expires_at=160.0,
        scope=("a",),
        requested=("a", "b"),
        issuer="i",
        resource="r",
    ) == read(body)


@pytest.mark.parametrize(
    ("expires_in", "lifetime"),
    [
        ("60", 60.0),
        (0, None),
        (-1, None),
        (None, None),
        ("soon", None),
        ([], None),
        ("inf", None),
        (10**400, None),
    ],
)
def test_a_life_that_is_none(expires_in: Any, lifetime: float | None) -> None:
    assert lifetime == read(GOOD | {"expires_in": expires_in}).lifetime


def test_what_a_renewal_leaves_out_stays() -> None:
    before = Tokens(access_token="s", refresh_token="f", scope=("a",), issuer="i", resource="r")
    same = read(GOOD, before=before)
    rotated = read(GOOD | {"refresh_token": "g", "scope": " "}, before=before)

    assert (same.refresh_token, same.scope) == ("f", ("a",))
    assert (rotated.refresh_token, rotated.scope) == ("g", ("a",))


def test_a_bound_token() -> None:
    assert read(GOOD | {"token_type": "DPoP"}, bound=True).token_type == "dpop"
    assert read(GOOD, bound=True) == "its token_type is 'Bearer', not dpop"


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ([], 200, "it is no JSON object"),
        (None, 200, "it is no JSON object"),
        (GOOD, 500, "its status is 500"),
        (None, 404, "its status is 404"),
        ({"error": "e"}, 503, "its status is 503"),
        ({"token_type": "Bearer"}, 200, "it has no access_token"),
        (GOOD | {"access_token": "a b"}, 200, "one that cannot be sent"),
        ({"access_token": "t"}, 200, "its token_type is missing, not bearer"),
        (GOOD | {"token_type": "mac"}, 200, "its token_type is 'mac', not bearer"),
        (GOOD | {"refresh_token": 5}, 200, "its refresh_token is no text"),
        (GOOD | {"refresh_token": ""}, 200, "its refresh_token is no text"),
    ],
)
def test_what_brings_no_token(body: Any, status: int, why: str) -> None:
    said = read(body, status)

    assert isinstance(said, str)
    assert why in said


def test_a_refusal() -> None:
    body = {"error": "invalid_grant", "error_description": "it ended"}

    assert OAuthError("invalid_grant", "it ended") == read(body, 400)
    assert OAuthError("invalid_grant", "it ended") == read(body, 200)  # as GitHub does
    assert read(GOOD | {"error": "none"}).access_token == "t"


@pytest.mark.parametrize(
    ("said", "status", "refusal", "final"),
    [
        ("the grant is refused", 400, OAuthError("invalid_grant"), True),
        ("and we are", 401, OAuthError("invalid_client"), True),
        ("without an error code", 400, "its status is 400", True),
        ("nor with 401", 401, "its status is 401", True),
        ("later, perhaps", 400, OAuthError("temporarily_unavailable"), False),
        ("more slowly", 400, OAuthError("slow_down"), False),
        ("a proxy may have said so", 403, "its status is 403", False),
        ("there is trouble", 503, "its status is 503", False),
        ("nothing was refused", 200, "it has no access_token", False),
    ],
)
def test_what_a_refusal_is_of(
    said: str, status: int, refusal: OAuthError | str, final: bool
) -> None:
    assert final == is_final(status, refusal), said


JAG = "urn:ietf:params:oauth:token-type:id-jag"


@pytest.mark.parametrize(
    ("body", "status", "outcome"),
    [
        ({"access_token": "j", "issued_token_type": JAG, "token_type": "N_A"}, 200, "j"),
        ({"error": "e"}, 400, OAuthError("e")),
        ({}, 500, OAuthError("no assertion", "its status is 500")),
        ({"access_token": "j"}, 200, OAuthError("no assertion", f"it issued missing, not {JAG}")),
        (
            {"access_token": "", "issued_token_type": JAG},
            200,
            OAuthError("no assertion", f"it issued {JAG!r}, not {JAG}"),
        ),
        (
            {"access_token": 1, "issued_token_type": "x"},
            200,
            OAuthError("no assertion", f"it issued 'x', not {JAG}"),
        ),
    ],
)
def test_an_assertion(body: Any, status: int, outcome: object) -> None:
    assert outcome == read_assertion(status, body, JAG)
