from __future__ import annotations

import jwt  # an implementation of its own: PyJWT
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from snodo_actors.oauth import SigningKey

KEYS = {
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
    "RS256": rsa.generate_private_key(65537, 2048),
}
KEYS["PS384"] = KEYS["RS256"]


def pem(algorithm: str) -> bytes:
    return KEYS[algorithm].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize("algorithm", KEYS)
def test_others_can_verify_what_it_signs(algorithm: str) -> None:
    key = SigningKey.from_pem(pem(algorithm), algorithm, key_id="k")
    signed = key.sign({"typ": "JWT"}, {"iss": "me"})

    assert {"typ": "JWT", "alg": algorithm, "kid": "k"} == jwt.get_unverified_header(signed)
    assert jwt.decode(signed, KEYS[algorithm].public_key(), [algorithm]) == {"iss": "me"}


@pytest.mark.parametrize("algorithm", ["ES256", "ES512", "RS256"])
def test_a_new_key_can_be_kept(algorithm: str) -> None:
    key = SigningKey.generate(algorithm)
    kept = SigningKey.from_jwk(key.to_jwk(), algorithm)

    assert key.public_jwk() == kept.public_jwk()
    public = jwt.PyJWK(key.public_jwk(), algorithm).key
    assert jwt.decode(kept.sign({}, {"a": 1}), public, [algorithm]) == {"a": 1}


def test_the_public_half_has_nothing_private() -> None:
    assert {"kty", "crv", "x", "y"} == set(SigningKey.generate().public_jwk())


@pytest.mark.parametrize(
    ("said", "written", "algorithm"),
    [
        ("another curve", pem("ES384"), "ES256"),
        ("another kind", pem("RS256"), "ES256"),
        ("another kind", pem("ES256"), "PS256"),
        ("no key at all", "hush", "ES256"),
        (
            "only the public half",
            KEYS["ES256"]
            .public_key()
            .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            "ES256",
        ),
    ],
)
def test_what_is_no_key_for_it(said: str, written: bytes | str, algorithm: str) -> None:
    with pytest.raises(ValueError, match=f"no private key for {algorithm}") as caught:
        SigningKey.from_pem(written, algorithm)

    assert "hush" not in f"{caught.value!r}{caught.value.__cause__!r}", said


def test_an_algorithm_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="write one of ES256"):
        SigningKey.generate("HS256")


def test_a_key_is_not_shown() -> None:
    key = SigningKey.generate()

    assert "<SigningKey ES256>" == repr(key) == str(key)
