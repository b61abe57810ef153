"""What follows when a server refuses a token.

Knows the status, what it asks for and what is kept; knows nothing of how tokens are had.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snodo_actors.oauth.words.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Take:
    """Somebody else got fresh tokens meanwhile."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Renew:
    """The token ended: the refresh token of *tokens* may be worth a new one."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Obtain:
    """New tokens have to be had; *before* are the scopes that earlier ones were asked with."""

    before: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepUp:
    """The token is good, but not for this: tokens for *before* and more have to be had."""

    before: tuple[str, ...]


def decide(
    status: int, refused: str | None, challenged: Iterable[str], kept: Tokens | None, now: float
) -> Take | Renew | Obtain | StepUp:
    """Decide what to do about the *refused* token at *now*; *kept* is what the store has."""
    before = () if kept is None else kept.requested
    other = kept is not None and kept.access_token != refused and kept.is_fresh(now)
    if status == 403:
        if other and kept is not None and set(challenged) <= set(kept.scope):
            return Take(kept)
        return StepUp(before)
    if kept is not None and other:
        return Take(kept)
    if kept is not None and kept.refresh_token is not None:
        return Renew(kept)
    return Obtain(before)
