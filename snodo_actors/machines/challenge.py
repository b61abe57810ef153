"""What a server asks for in ``WWW-Authenticate``.

Knows the grammar of challenges (RFC 9110, section 11) and which of several counts; knows nothing of
tokens or requests. What cannot be read is no challenge: nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from snodo_actors.words.types import Challenge

MAX_HEADER_BYTES = 8192

# One lexeme: spaces around it do not count. `/` belongs to token68 credentials.
_LEXEME = re.compile(
    r"""[ \t]*(?:
        (?P<token>[!#$%&'*+\-.^_`|~0-9A-Za-z/]+)
      | "(?P<quoted>(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*)"
      | (?P<mark>[=,])
    )[ \t]*""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")


def select_challenge(headers: Iterable[object], scheme: str = "bearer") -> Challenge | None:
    """Choose among the challenges of *headers*: the first of *scheme*, or bearer, or any."""
    challenges = [challenge for header in headers for challenge in parse_challenges(header)]
    for wanted in (scheme, "bearer"):
        for challenge in challenges:
            if challenge.scheme == wanted:
                return challenge
    return challenges[0] if challenges else None


def parse_challenges(header: object) -> list[Challenge]:
    """Read one header value; from one that is too long or has a stray character, nothing."""
    if not isinstance(header, str) or len(header.encode(errors="replace")) > MAX_HEADER_BYTES:
        return []
    lexemes = _lex(header)
    return [] if lexemes is None else _parse(lexemes)


def _lex(header: str) -> list[tuple[str, str]] | None:
    lexemes: list[tuple[str, str]] = []
    rest = header.strip(" \t")
    at = 0
    while at < len(rest):
        match = _LEXEME.match(rest, at)
        if match is None or match.lastgroup is None:
            return None
        lexemes.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return lexemes


def _parse(lexemes: list[tuple[str, str]]) -> list[Challenge]:
    """Read until the end or the first breach of the grammar, and keep what was read before it."""
    challenges: list[Challenge] = []
    params: dict[str, str] = {}
    at = 0
    while at < len(lexemes):
        kind, text = lexemes[at]
        if (kind, text) == ("mark", ","):
            at += 1
        elif kind != "token":
            break
        elif _is_parameter(lexemes, at):
            if not challenges:
                break
            params.setdefault(text.lower(), _ESCAPE.sub(r"\1", lexemes[at + 2][1]))
            at += 3
        elif lexemes[at + 1 : at + 2] == [("mark", "=")]:
            break  # a name without a value
        else:
            params = {}
            challenges.append(Challenge(text.lower(), params))
            at = _after_token68(lexemes, at + 1)
    return challenges


def _is_parameter(lexemes: list[tuple[str, str]], at: int) -> bool:
    return lexemes[at + 1 : at + 2] == [("mark", "=")] and [
        kind for kind, _ in lexemes[at + 2 : at + 3]
    ] in (["token"], ["quoted"])


def _after_token68(lexemes: list[tuple[str, str]], at: int) -> int:
    """Skip the credential that may follow a scheme: one token, its padding, and then the end."""
    if [kind for kind, _ in lexemes[at : at + 1]] != ["token"]:
        return at
    end = at + 1
    while lexemes[end : end + 1] == [("mark", "=")]:
        end += 1
    return end if lexemes[end : end + 1] in ([], [("mark", ",")]) else at
