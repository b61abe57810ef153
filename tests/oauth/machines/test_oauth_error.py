from __future__ import annotations

from typing import Any

import pytest

from snodo_actors.oauth.machines.oauth_error import (
    HIDDEN,
    MAX_SHOWN,
    OAuthError,
    read_words,
    without,
)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"error": "access_denied"}, ("access_denied", None)),
        ({"error": "e", "error_description": "d"}, ("e", "d")),
        ({"error": "e", "error_description": ""}, ("e", None)),
        ({"error": "e", "error_description": 5}, ("e", None)),
        ({"error": "e\x1b[2J\n", "error_description": "a\r\nb\x00c"}, ("e [2J", "a b c")),
        ({"error": ""}, ("an empty error", None)),
        ({"error": "e" * 1000}, ("e" * MAX_SHOWN + "…", None)),
    ],
)
def test_words_are_fit_to_be_shown(params: dict[str, Any], words: tuple[str, str | None]) -> None:
    assert words == read_words(params)


def test_text() -> None:
    assert (str(OAuthError("e")), str(OAuthError("e", "d"))) == ("e", "e: d")


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ({"error": "e", "error_description": "d"}, {"error": "e", "error_description": "d"}),
        (
            {"error": "e", "error_description": "no s3cret"},
            {"error": "e", "error_description": HIDDEN},
        ),
        ({"error": "s3cret", "n": 5}, {"error": HIDDEN, "n": 5}),
        ({"access_token": "s3cret"}, {"access_token": "s3cret"}),
        (None, None),
        (["error"], ["error"]),
    ],
)
def test_what_was_sent_is_not_said_back(body: Any, left: Any) -> None:
    assert left == without(body, ["s3cret"])
