from __future__ import annotations

from typing import Any

import pytest

from snodo_actors.oauth.words.tokens import Tokens

PLAIN = Tokens(access_token="hush", issuer="https://as.test", resource="https://mcp.test/mcp")
FULL = Tokens(
    access_token="hush",
    token_type="dpop",
    refresh_token="hush",
    lifetime=600.0,
    expires_at=1600.0,
    scope=("a",),
    requested=("a", "b"),
    issuer="https://as.test",
    resource="https://mcp.test/mcp",
    resource_metadata="https://mcp.test/.well-known/oauth-protected-resource",
)


@pytest.mark.parametrize(
    ("lifetime", "fresh_until"),
    [
        (600.0, 570.0),  # half a minute before the end
        (100.0, 90.0),  # or a tenth of its life
        (1.0, 0.9),
    ],
)
def test_a_token_is_renewed_before_its_end(lifetime: float, fresh_until: float) -> None:
    tokens = Tokens(
        access_token="a", issuer="i", resource="r", lifetime=lifetime, expires_at=lifetime
    )

    assert tokens.is_fresh(fresh_until - 0.001)
    assert not tokens.is_fresh(fresh_until)
    assert not tokens.has_ended(lifetime - 0.001)
    assert tokens.has_ended(lifetime)
    assert not PLAIN.has_ended(lifetime)


def test_a_token_without_an_end_is_good_until_it_is_refused() -> None:
    assert PLAIN.is_fresh(1e12)


@pytest.mark.parametrize("tokens", [PLAIN, FULL])
def test_what_was_kept_is_found_again(tokens: Tokens) -> None:
    assert tokens == Tokens.from_json(tokens.to_json())


@pytest.mark.parametrize(
    "kept",
    [
        None,
        {},
        {"access_token": 1},
        {"access_token": "a"},
        PLAIN.to_json() | {"scope": None},
        PLAIN.to_json() | {"expires_at": "soon"},
    ],
)
def test_what_was_not_kept_by_us_is_nothing(kept: Any) -> None:
    assert Tokens.from_json(kept) is None


def test_a_token_is_not_shown() -> None:
    assert "hush" not in repr(FULL)
