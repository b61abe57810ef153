"""Whether a refused message is worth one more attempt: with a fresh token, or with the one it has.

Knows the status, the challenge and what was tried; knows nothing of tokens or providers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from snodo_actors.machines.challenge import select_challenge
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import unauthorized
from snodo_actors.words.types import Challenge

_NONCE: Final = "use_dpop_nonce"  # RFC 9449, section 9


@dataclass(frozen=True, slots=True)
class Guard:
    """What the provider of a connection can do about refusals.

    Attributes:
        scheme: Which challenge counts where there are several.
        nonces: Whether it can use the nonce a server gave, the next time it authorizes a message.
        tells: Whether it is told of the head of each answer.
    """

    scheme: str = "bearer"
    nonces: bool = False
    tells: bool = False


class Tried(NamedTuple):
    """What one message has behind it.

    Attributes:
        since: How many refreshes its connection had had when it asked for its token.
        refreshed: It got a fresh token, its only one.
        nonced: It was sent again with the token it has, for a nonce.
    """

    since: int = 0
    refreshed: bool = False
    nonced: bool = False


UNTRIED: Final = Tried()


@dataclass(frozen=True, slots=True)
class Refresh:
    """Ask the provider for a fresh token, then send the same message once more."""

    challenge: Challenge | None


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Send the same message once more with the token it has: the answer brought a nonce for it."""

    challenge: Challenge


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """Fail with *error*: the fresh token was refused too."""

    error: Error


def judge(
    status: int, challenges: Iterable[object], guard: Guard, tried: Tried
) -> Refresh | SendAgain | Unauthorized | None:
    """Judge the *status* of an answer and its ``www-authenticate`` values; None: no refusal.

    Before a refresh, a 403 is one only if it says that the scope was insufficient. A nonce is worth
    one attempt for each of the two tokens a message may have.
    """
    if status not in (401, 403):
        return None
    challenge = select_challenge(challenges, guard.scheme)
    may_have_nonce = status == 401 and guard.nonces and not tried.nonced
    if may_have_nonce and challenge is not None and challenge.error == _NONCE:
        return SendAgain(challenge)
    if tried.refreshed:
        return Unauthorized(unauthorized(status, challenge))
    if status == 401 or (challenge is not None and challenge.error == "insufficient_scope"):
        return Refresh(challenge)
    return None
