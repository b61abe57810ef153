"""Servers written with the official SDK (`mcp` 2.x), or with FastMCP, in the client's own process.

from snodo_actors.adapters.mcp import runtime

client = await snodo_actors.direct(runtime(server))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from mcp.server import Server as LowLevelServer

from snodo_actors.adapters.sdk_session import SDKSession
from snodo_actors.ports.transport import Carriage
from snodo_actors.server.runtime import read_versions
from snodo_actors.words.lost import unexpected_outcome
from supervisors import current_node, self_

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class SDKRuntime:
    """A server of the SDK that `snodo_actors.direct` makes clients of; `runtime` makes it."""

    __slots__ = ("_lifespan", "_server", "versions")

    def __init__(
        self, server: LowLevelServer[Any], lifespan: Lifespan, versions: tuple[str, ...]
    ) -> None:
        self._server = server
        self._lifespan = lifespan
        self.versions = versions
        """The protocol versions that are enabled, newest first."""

    def __repr__(self) -> str:
        return f"<SDKRuntime of {self.name}, {', '.join(self.versions)}>"

    @property
    def name(self) -> str:
        """What the server is called."""
        return self._server.name

    def attach(self, *, auth: Any = None) -> Carriage:
        """Make a session of one client, which the calling process owns."""
        session = SDKSession(self._server, self._lifespan, current_node(), self_(), auth)
        return Carriage(
            session.request,
            session.notify,
            listen=session.listen,
            close=session.close,
            is_timed=False,
            odd=unexpected_outcome,
        )


def runtime(server: Any, versions: Iterable[str] | str | None = None) -> SDKRuntime:
    """Make a runtime of an `MCPServer`, a low-level `Server` or a `FastMCP`.

    Each client gets a session of its own, which runs on the node's event loop from the first
    message on, until the client is closed or the process that opened it ends. *versions* are the
    protocol versions to enable, None for all. An `AccessToken` given as `auth` is what the server's
    functions find as theirs; anything else is the `request` of their context.

    Raises:
        TypeError: *server* is none of these.
        ValueError: A version is not known, or there is none.
    """
    lowlevel = _lowlevel(server)
    if lowlevel is None:
        raise TypeError(f"{server!r} is no server of the SDK (mcp 2.x), and no FastMCP of it")
    lifespan: Lifespan = getattr(server, "_lifespan_manager", nullcontext)  # FastMCP's
    return SDKRuntime(lowlevel, lifespan, read_versions(versions))


def _lowlevel(server: Any) -> Any:
    """Find what *server* is built on; neither the SDK's own class nor FastMCP shows it."""
    built_on = (getattr(server, name, None) for name in ("_lowlevel_server", "_mcp_server"))
    return next((found for found in (server, *built_on) if _is_lowlevel(found)), None)


def _is_lowlevel(server: Any) -> bool:
    return isinstance(server, LowLevelServer)
