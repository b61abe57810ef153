"""What the user's browser is sent to, and what it comes back with.

Knows the parameters of both and who may have sent them; knows nothing of browsers. Nothing of an
answer is believed or shown before its state and its issuer are right (R-149 to R-152).
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from snodo_actors.oauth.machines.oauth_error import OAuthError, read_words
from snodo_actors.oauth.machines.pkce import METHOD, challenge_of
from snodo_actors.oauth.machines.scopes import OFFLINE

MAX_URL = 16 * 1024
"""Characters of a redirect that are looked at."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was sent to the browser, and what the answer is held against."""

    url: str = field(repr=False)
    redirect_uri: str
    issuer: str
    has_iss: bool
    """Whether the authorization server says that its answers name it."""
    state: str = field(repr=False)
    verifier: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Code:
    """The user agreed; the *code* is worth a token."""

    code: str = field(repr=False)


def ask(
    endpoint: str,
    *,
    issuer: str,
    has_iss: bool,
    client_id: str,
    redirect_uri: str,
    resource: str,
    scopes: Iterable[str],
    state: str,
    verifier: str,
) -> Asked:
    """Build the URL for the browser; *state* and *verifier* are new secrets."""
    params = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": METHOD,
        "resource": resource,
    }
    scopes = tuple(scopes)
    if scopes:
        params["scope"] = " ".join(scopes)
    if OFFLINE in scopes:
        params["prompt"] = "consent"  # OpenID Connect Core, section 11
    return Asked(_with_query(endpoint, params), redirect_uri, issuer, has_iss, state, verifier)


def read_redirect(url: str, asked: Asked) -> Code | OAuthError | str:
    """Read where the browser was sent back to; a text says why the answer counts for nothing."""
    if len(url) > MAX_URL:
        return f"it is longer than {MAX_URL} characters"
    try:
        is_there = _place(url) == _place(asked.redirect_uri)
    except ValueError:  # such as a bracket that is not closed
        is_there = False
    if not is_there:
        return f"it is not an address of {asked.redirect_uri}"
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    params = dict(pairs)
    if len(params) != len(pairs):
        return "it has a parameter twice"
    if not hmac.compare_digest(_bytes(params.get("state", "")), _bytes(asked.state)):
        return "its state is not the one that was sent: it answers another request, or is forged"
    mixed_up = _refuse_iss(params.get("iss"), asked)
    if mixed_up is not None:
        return mixed_up
    if "error" in params:
        return OAuthError(*read_words(params))
    code = params.get("code")
    return Code(code) if code else "it has neither a code nor an error"


def _refuse_iss(iss: str | None, asked: Asked) -> str | None:
    """Apply the table of RFC 9207: compared as it is, and missed where it was promised."""
    if iss is None:
        return (
            "it does not name its issuer, though the metadata promise it" if asked.has_iss else None
        )
    return None if iss == asked.issuer else f"it comes from another issuer than {asked.issuer}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _place(url: str) -> tuple[str, str, str]:
    """Say where *url* leads; this machine has several names."""
    parts = urlsplit(url)
    host, mark, port = parts.netloc.partition(":")
    host = "127.0.0.1" if host == "localhost" else host
    return parts.scheme, f"{host}{mark}{port}", parts.path or "/"


def _with_query(url: str, params: Mapping[str, str]) -> str:
    """Add to the query that *url* may have."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query, True) if name not in params]
    return urlunsplit(parts._replace(query=urlencode([*kept, *params.items()]), fragment=""))
