"""A server, in the versions that are enabled, for clients in the same Python process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from snodo_actors.ports.transport import Carriage
from snodo_actors.server.introduction import Served
from snodo_actors.server.peer import Peer
from snodo_actors.words.lost import unexpected_outcome
from snodo_actors.words.versions import VERSIONS


class Runtime:
    """A server that `snodo_actors.direct` makes clients of; `server.runtime()` makes it.

    Two runtimes of one server with the same versions are equal.
    """

    __slots__ = ("_served",)

    def __init__(self, served: Served) -> None:
        self._served = served

    def __repr__(self) -> str:
        return f"<Runtime of {self.name}, {', '.join(self.versions)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runtime) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[int, tuple[str, ...]]:
        return id(self._served.feeds), self.versions

    @property
    def name(self) -> str:
        """What the server is called."""
        name: str = self._served.info["name"]
        return name

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that are enabled, newest first."""
        return self._served.versions

    def connect(self, *, auth: Any = None) -> Peer:
        """Make the server's end of one client, which takes and gives JSON-RPC messages."""
        return Peer(self._served, auth)

    def attach(self, *, auth: Any = None) -> Carriage:
        """Make the functions that the messages of one client go through."""
        peer = self.connect(auth=auth)
        return Carriage(
            peer.request,
            peer.notify,
            listen=peer.listen,
            is_timed=False,
            odd=unexpected_outcome,
        )


def read_versions(versions: Iterable[str] | str | None) -> tuple[str, ...]:
    """Read which versions to enable, newest first; None is all of them.

    Raises:
        ValueError: There is none, or one that is not known.
    """
    names = (
        [versions] if isinstance(versions, str) else VERSIONS if versions is None else [*versions]
    )
    unknown = [name for name in names if name not in VERSIONS]
    if unknown or not names:
        raise ValueError(
            f"versions must be some of {', '.join(VERSIONS)}, not {', '.join(map(repr, unknown))}"
        )
    return tuple(version for version in VERSIONS if version in names)
