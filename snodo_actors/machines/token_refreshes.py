"""Who of those whose tokens were refused goes for a fresh one, waits for one, or is late for one.

Knows tokens, challenges and the order of things; knows nothing of providers. Whoever asked for its
token before a refresh ended, and was refused after it, has the token of that refresh to try: it was
refused for what has been mended. Whoever asked after it has what the provider thinks is good.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from snodo_actors.machines.single_flight import Role, SingleFlight
from snodo_actors.words.types import Challenge

W = TypeVar("W", bound=Hashable)


class Want(NamedTuple):
    """What a refresh is for: another token than *refused*, with these *scopes*."""

    refused: str | None
    scopes: frozenset[str]


def want(refused: str | None, challenge: Challenge | None) -> Want:
    """Say what the *challenge* to a *refused* token asks for; scopes count where they lacked."""
    lacks = challenge is not None and challenge.error == "insufficient_scope"
    return Want(refused, frozenset(challenge.scope if lacks and challenge is not None else ()))


@dataclass(frozen=True, slots=True)
class Newer:
    """There is a newer *token* already."""

    token: str


class TokenRefreshes(Generic[W]):
    """The refreshes of one connection, for at most *limit* waiters together."""

    __slots__ = ("_flights", "_newest", "_scopes", "count")

    def __init__(self, limit: int) -> None:
        self._flights: SingleFlight[Want, W] = SingleFlight(limit)
        self._newest: str | None = None
        self._scopes: frozenset[str] = frozenset()
        self.count = 0
        """How many have brought a token so far."""

    def refused(self, waiter: W, wants: Want, since: int) -> Role | Newer:
        """Let *waiter*, who asked for its token at the count *since*, have another."""
        newest, covered = self._newest, wants.scopes <= self._scopes
        if newest is not None and since < self.count and newest != wants.refused and covered:
            return Newer(newest)
        return self._flights.join(wants, waiter)

    def ended(self, wants: Want, token: str | None) -> list[W]:
        """End a refresh that brought a *token*, or None, and return all who waited for it."""
        if token is not None:
            self._newest, self._scopes = token, wants.scopes
            self.count += 1
        return self._flights.finish(wants)
