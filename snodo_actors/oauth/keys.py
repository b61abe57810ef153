"""Private keys that sign JSON Web Tokens, on joserfc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_RSA_BITS: Final = 3072


class SigningKey:
    """A private key and the algorithm it signs by; no text of it shows the key.

    Takes the extra ``oauth``: ``pip install 'snodo-actors[oauth]'``.
    """

    __slots__ = ("_algorithm", "_key", "_key_id")

    def __init__(self, key: ECKey | RSAKey, algorithm: str, key_id: str | None) -> None:
        self._key = key
        self._algorithm = algorithm
        self._key_id = key_id

    @classmethod
    def generate(cls, algorithm: str = "ES256") -> Self:
        """Make a new key.

        Raises:
            ImportError: joserfc is not installed.
            ValueError: There is no such algorithm here.
        """
        kind = _kind(algorithm)
        size: Any = _RSA_BITS if algorithm in _RSA else _CURVES[algorithm]
        return cls(kind.generate_key(size, private=True), algorithm, None)

    @classmethod
    def from_pem(
        cls, pem: str | bytes, algorithm: str = "ES256", key_id: str | None = None
    ) -> Self:
        """Read a private key in PEM; *key_id* is what the authorization server calls it.

        Raises:
            ImportError: joserfc is not installed.
            ValueError: It is no private key for this algorithm.
        """
        return cls._read(pem, algorithm, key_id)

    @classmethod
    def from_jwk(cls, jwk: Mapping[str, Any], algorithm: str = "ES256") -> Self:
        """Read a private key from a JSON Web Key; its `kid` counts.

        Raises:
            ImportError: joserfc is not installed.
            ValueError: It is no private key for this algorithm.
        """
        key_id = jwk.get("kid")
        return cls._read(dict(jwk), algorithm, key_id if isinstance(key_id, str) else None)

    @classmethod
    def _read(cls, written: Any, algorithm: str, key_id: str | None) -> Self:
        kind = _kind(algorithm)
        try:
            key = kind.import_key(written)
            fits = key.is_private and algorithm in (*_RSA, *_curve_algorithms(key))
        except Exception as error:  # noqa: BLE001  # parsers raise what they like, and may show the key
            raise ValueError(
                f"this is no private key for {algorithm} ({type(error).__name__})"
            ) from None
        if not fits:
            raise ValueError(f"this is no private key for {algorithm}")
        return cls(key, algorithm, key_id)

    @property
    def algorithm(self) -> str:
        """The algorithm it signs by, such as ``ES256``."""
        return self._algorithm

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """Make a signed token; `alg`, and `kid` where the key has one, are added to *header*."""
        from joserfc import jwt  # noqa: PLC0415  # an extra

        whole = {**header, "alg": self._algorithm}
        if self._key_id is not None:
            whole["kid"] = self._key_id
        return jwt.encode(whole, dict(claims), self._key, algorithms=[self._algorithm])

    def public_jwk(self) -> dict[str, Any]:
        """Build the public half, which anybody may see."""
        return {
            name: value
            for name, value in self._key.as_dict(private=False).items()
            if name in ("kty", "crv", "x", "y", "n", "e")
        }

    def to_jwk(self) -> dict[str, Any]:
        """Build the whole key, as a store keeps it: a secret."""
        return dict(self._key.as_dict(private=True))

    def __repr__(self) -> str:
        return f"<SigningKey {self._algorithm}>"


def import_jwk() -> Any:
    """Import what keys are made with.

    Raises:
        ImportError: joserfc is not installed.
    """
    try:
        from joserfc import jwk  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("keys need joserfc: pip install 'snodo-actors[oauth]'") from error
    return jwk


def _kind(algorithm: str) -> Any:
    if algorithm not in (*_CURVES, *_RSA):
        raise ValueError(
            f"no keys for {algorithm!r} here: write one of {', '.join((*_CURVES, *_RSA))}"
        )
    jwk = import_jwk()
    return jwk.RSAKey if algorithm in _RSA else jwk.ECKey


def _curve_algorithms(key: Any) -> list[str]:
    name = getattr(key, "curve_name", None)
    return [algorithm for algorithm, curve in _CURVES.items() if curve == name]
