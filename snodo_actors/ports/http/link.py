"""One HTTP/1.1 connection, as those who use it see it.

A link carries one request at a time. What comes back is handed over as it comes, in the thread of
the node's loop. Knows nothing of pools, of JSON-RPC, nor of how the bytes travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from snodo_actors.wire.headers import Fields
from snodo_actors.wire.http1 import Item


@dataclass(slots=True, repr=False)
class Outgoing:
    """One request."""

    method: str
    fields: Fields
    """All but host, content-length and connection, which the link knows."""
    body: bytes
    keep_alive: bool = True
    streams: bool = False
    """Whether an event stream has no limit as a whole: its reader limits each event."""

    def __repr__(self) -> str:
        return f"<{self.method} of {len(self.body)} bytes>"  # the fields may hold secrets


class LinkEvents(Protocol):
    """Whom a link tells; no method may raise."""

    def came(self, items: list[Item]) -> None:
        """Take what came of the response.

        Once one of these is an `End` that is not reusable, or says why there is no end, the link
        has closed itself.
        """

    def lost(self, reason: OSError | str) -> None:
        """Take the end of an idle link: the server closed it, or sent what nobody had asked for.

        Told once at most; the link has closed itself.
        """


class _Nobody:
    def came(self, items: list[Item]) -> None:
        """Nobody is told."""

    def lost(self, reason: OSError | str) -> None:
        """Nobody is told."""


NOBODY: Final[LinkEvents] = _Nobody()
"""Whom a link tells once it was closed."""


class Link(Protocol):
    """A connection to a server, or what stands for one."""

    @property
    def sent_bytes(self) -> int:
        """How many bytes of this request the system has taken.

        0 means that the server cannot have seen any of it.
        """
        ...

    @property
    def failure(self) -> BaseException | None:
        """What ended the link; None if it has not ended, or was closed in order."""
        ...

    def send(self, request: Outgoing, *, max_bytes: int | None) -> None:
        """Send *request*; its response has at most *max_bytes*, a stream as many as it likes.

        A failure comes as `Truncated`, never at once.
        """

    def unlimit(self) -> None:
        """Take a body of any length from here on."""

    def is_usable(self) -> bool:
        """Tell whether a request can be sent: idle, open, and nothing waits to be read."""
        ...

    def pause(self) -> None:
        """Read no more for now; what was read already may still be handed over."""

    def resume(self) -> None:
        """Read again."""

    def close(self) -> None:
        """Close it at once; harmless when repeated. Nothing is told any more."""
