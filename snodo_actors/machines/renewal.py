"""A session the server has forgotten, and the new one that takes its place.

Knows which session a request was sent in and who waits for the new one; knows nothing of how it is
started. Each request gets one second chance; the server refused it, so it did not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from snodo_actors.machines.limits import no_room
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import session_lost
from snodo_actors.words.types import Session

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Renew:
    """Start a new session in place of *old*, without its id, then call `renewed` or `failed`."""

    old: Session


@dataclass(frozen=True, slots=True)
class Wait:
    """A new session is being started already; the request is answered for with the others."""


@dataclass(frozen=True, slots=True)
class SendAgain(Generic[W]):
    """Send *request* again, within *session*."""

    request: W
    session: Session


@dataclass(frozen=True, slots=True)
class Failed(Generic[W]):
    """Fail *request* with *error*."""

    request: W
    error: Error


Deed: TypeAlias = Renew | Wait | SendAgain[W] | Failed[W]


class Renewal(Generic[W]):
    """The current *session* of one connection, and at most *limit* requests that want another."""

    __slots__ = ("_limit", "_session", "_waiting")

    def __init__(self, session: Session, limit: int) -> None:
        self._session = session
        self._limit = limit
        self._waiting: list[W] = []

    @property
    def session(self) -> Session:
        """The session to send in now."""
        return self._session

    def lost(self, request: W, sent_in: Session, *, again: bool = False) -> Deed[W]:
        """Take the 404 of a *request*, which was *sent_in* that session; *again*: its second."""
        if again:
            return Failed(request, session_lost())
        if sent_in is not self._session:
            return SendAgain(request, self._session)
        if len(self._waiting) >= self._limit:
            return Failed(request, no_room(self._limit))
        self._waiting.append(request)
        return Renew(self._session) if len(self._waiting) == 1 else Wait()

    def renewed(self, session: Session) -> list[SendAgain[W]]:
        """Take the new *session*."""
        self._session = session
        waiting, self._waiting = self._waiting, []
        return [SendAgain(request, session) for request in waiting]

    def failed(self, error: Error) -> list[Failed[W]]:
        """Take the *error* that kept the new session from starting; the next 404 tries anew."""
        waiting, self._waiting = self._waiting, []
        return [Failed(request, error.again()) for request in waiting]
