"""Which request to the loopback port, or which pasted text, is the redirect that is waited for.

Knows methods, targets and states; knows nothing of sockets and terminals. What is refused is never
repeated: a text says why, with nothing of the request in it.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

MAX_CHARACTERS = 16 * 1024
"""Characters of a target, or of what is pasted, that are looked at."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is waited for: a GET of *path* with *state*, as a redirect to *redirect_uri*."""

    redirect_uri: str
    path: str
    state: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redirected:
    """It is the one; *url* is the address that the browser was sent to."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """It is not: what to answer, and why."""

    status: int
    why: str


_OTHER_PATH = Answer(404, "its path is not that of the redirect URI")


def expect(url: str, redirect_uri: str) -> Expected:
    """Read from the authorization *url* what its answer will look like.

    The redirect URI in it may write the host of *redirect_uri* in another way.

    Raises:
        ValueError: It has no state, so nobody could tell its answer from a forged one.
    """
    params = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    state = params.get("state")
    if not state:
        raise ValueError("the authorization URL has no state: its answer could be forged")
    return Expected(
        params.get("redirect_uri", redirect_uri), urlsplit(redirect_uri).path or "/", state
    )


def read_request(method: str, target: str, expected: Expected) -> Redirected | Answer:
    """Read the head of a request."""
    path, _, query = _relative(target).partition("?")
    if path != expected.path:
        return _OTHER_PATH
    if method != "GET":
        return Answer(405, "it is no GET, which is how a browser follows a redirect")
    return _read_query(query, expected)


def read_paste(text: str, expected: Expected) -> Redirected | Answer:
    """Read what a user copied: the whole address, or what is in it from the path or query on."""
    text = "".join(text.split())  # a terminal may have broken the line
    if len(text) > MAX_CHARACTERS:
        return Answer(414, f"it is longer than {MAX_CHARACTERS} characters")
    before, mark, query = text.partition("#")[0].partition("?")
    if not mark and "=" in before:
        before, query = "", before
    if not query:
        return Answer(400, "it has no query, in which the answer would be")
    if before and not before.endswith(expected.path):
        return _OTHER_PATH
    return _read_query(query, expected)


def _relative(target: str) -> str:
    """Leave out scheme and host, which a request for a proxy has; the state is what counts."""
    if target.startswith("/"):
        return target  # though "//host/path" would have a host elsewhere
    scheme, mark, rest = target.partition("://")
    if not mark or scheme not in ("http", "https"):
        return target
    authority, slash, path = rest.partition("/")
    return f"/{path}" if slash and "?" not in authority else rest


def _read_query(query: str, expected: Expected) -> Redirected | Answer:
    pairs = parse_qsl(query, keep_blank_values=True)
    params = dict(pairs)
    if len(params) != len(pairs):
        return Answer(400, "it has a parameter twice")
    if not hmac.compare_digest(_bytes(params.get("state", "")), _bytes(expected.state)):
        return Answer(400, "its state is not the one that was sent")
    if not (params.get("code") or params.get("error")):
        return Answer(400, "it has neither a code nor an error")
    return Redirected(f"{expected.redirect_uri}?{query}")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
