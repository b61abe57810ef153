from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.pkce import challenge_of, refuse_without_pkce
from snodo_actors.oauth.words.metadata import ServerMetadata


def test_the_example_of_the_standard() -> None:
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    assert challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        (("plain", "S256"), None),
        (None, "do not say that it supports PKCE"),
        (("plain",), "only with 'plain'"),
        ((), "only with nothing"),
    ],
)
def test_support_is_verified(methods: tuple[str, ...] | None, why: str | None) -> None:
    metadata = ServerMetadata(
        issuer="i", token_endpoint="t", code_challenge_methods_supported=methods
    )
    said = refuse_without_pkce(metadata)

    assert said is None if why is None else why in f"{said}"
