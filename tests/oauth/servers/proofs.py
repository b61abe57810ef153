"""DPoP proofs (RFC 9449), verified with joserfc and nothing of ours."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Collection
from urllib.parse import urlsplit, urlunsplit

from joserfc import jws, jwt
from joserfc.jwk import ECKey, RSAKey

ALGORITHMS = ["ES256", "ES384", "RS256", "PS256"]


class BadProof(Exception):
    """The proof proves nothing; says why."""


class NeedsNonce(Exception):
    """The proof has no nonce, or an old one."""


def verify(
    proofs: list[str],
    *,
    method: str,
    url: str,
    once: Callable[[str], bool],
    access_token: str | None = None,
    nonces: Collection[str] | None = None,
) -> str:
    """Return the thumbprint of the key that signed the proof; see RFC 9449, section 4.3."""
    if len(proofs) != 1:
        raise BadProof(f"{len(proofs)} DPoP headers")
    [proof] = proofs
    header = jws.extract_compact(proof.encode()).headers()
    if header.get("typ") != "dpop+jwt":
        raise BadProof(f"typ is {header.get('typ')}")
    if header.get("alg") not in ALGORITHMS:
        raise BadProof(f"alg is {header.get('alg')}")
    said = header.get("jwk")
    if not isinstance(said, dict) or "d" in said:
        raise BadProof("jwk is not a public key")
    key = (ECKey if said.get("kty") == "EC" else RSAKey).import_key(said)
    claims = jwt.decode(proof, key, algorithms=ALGORITHMS).claims
    if claims.get("htm") != method:
        raise BadProof(f"htm is {claims.get('htm')}, not {method}")
    if claims.get("htu") != without_query(url):
        raise BadProof(f"htu is {claims.get('htu')}, not {without_query(url)}")
    if abs(time.time() - claims["iat"]) > 60:
        raise BadProof("iat is long ago or in future")
    if not once(f"dpop:{claims['jti']}"):
        raise BadProof("jti was used before")
    if access_token is not None and claims.get("ath") != hash_of(access_token):
        raise BadProof("ath is not that of the token")
    if access_token is None and "ath" in claims:
        raise BadProof("ath without a token")
    if nonces is not None and claims.get("nonce") not in nonces:
        raise NeedsNonce
    return key.thumbprint()


def without_query(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def hash_of(access_token: str) -> str:
    digest = hashlib.sha256(access_token.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
