"""Whether a refused message is worth a fresh token and one more attempt.

Knows the status, the challenge and how often it was tried; knows nothing of tokens or providers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snodo_actors.machines.challenge import select_challenge
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import unauthorized
from snodo_actors.words.types import Challenge


@dataclass(frozen=True, slots=True)
class Refresh:
    """Ask the provider for a fresh token, then send the same message once more."""

    challenge: Challenge | None


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """Fail with *error*: the fresh token was refused too."""

    error: Error


def judge(
    status: int, challenges: Iterable[object], *, refreshed: bool
) -> Refresh | Unauthorized | None:
    """Judge the *status* of an answer and its ``www-authenticate`` values; None: no refusal.

    Before a refresh, a 403 is one only if it says that the scope was insufficient.
    """
    if status not in (401, 403):
        return None
    challenge = select_challenge(challenges)
    if refreshed:
        return Unauthorized(unauthorized(status, challenge))
    if status == 401 or (challenge is not None and challenge.error == "insufficient_scope"):
        return Refresh(challenge)
    return None
