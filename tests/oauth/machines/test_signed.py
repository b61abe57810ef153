from __future__ import annotations

from snodo_actors.oauth.machines.signed import assertion_claims, proof_claims, proof_header


def test_an_assertion_is_for_the_issuer_and_for_a_minute() -> None:
    assert assertion_claims("me", "https://as.test", 100.9, "u") == {
        "iss": "me",
        "sub": "me",
        "aud": "https://as.test",
        "iat": 100,
        "exp": 160,
        "jti": "u",
    }


def test_a_proof_is_for_one_request() -> None:
    assert proof_claims(
        "POST", "https://as.test/token?a=b#c", 100.9, "u", token=None, nonce=None
    ) == {"htm": "POST", "htu": "https://as.test/token", "iat": 100, "jti": "u"}
    with_token = proof_claims("GET", "https://mcp.test/mcp", 1.0, "u", token="t", nonce="n")
    assert (
        with_token["nonce"],
        with_token["ath"],
    ) == ("n", "47mKTaMaEn1L3m5DAz9muidMqw636xxw7EFAK_YnPdg")


def test_the_header_shows_the_public_key() -> None:
    assert proof_header({"kty": "EC"}) == {"typ": "dpop+jwt", "jwk": {"kty": "EC"}}
