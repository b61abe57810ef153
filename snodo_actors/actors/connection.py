"""The small tree of one connection, and where such trees hang.

A connection opened by `connect` is a temporary child of the node's connections: when its port ends,
its supervisor follows and nothing is left. One put into a user's tree by `child_spec` restarts its
port, with back-off, for as long as it takes, so a server that stays broken harms nobody else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from snodo_actors.actors.request import Profile, Ready, ended_because
from snodo_actors.actors.stdio_opening import Opening as StdioOpening
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import connection_closed
from supervisors import (
    SHUTDOWN,
    AlreadyStarted,
    Backoff,
    CallExit,
    ChildSpec,
    DynamicSupervisor,
    DynamicSupervisorRef,
    ExitReason,
    FailedToStartChild,
    Node,
    Ref,
    Shutdown,
    StartFailed,
    Supervisor,
    SupervisorRef,
    stop,
)

if TYPE_CHECKING:
    from snodo_actors.actors.http_opening import HttpOpening

AnyOpening: TypeAlias = "StdioOpening | HttpOpening"
RestartType = Literal["permanent", "transient", "temporary"]

CONNECTIONS = "snodo_actors.connections"
SUBSCRIPTIONS = "snodo_actors.subscriptions"
PORT_SHUTDOWN = 10.0
"""Seconds a port gets to bring its server to its end, which takes four at most."""
MANY = 10**9


class Connection(Supervisor):
    """The supervisor of one connection."""

    def init(
        self,
        opening: AnyOpening,
        restart: RestartType,
        restart_delay: Backoff | None,
        name: str | None,
    ) -> Any:
        """Start the port, and the supervisor of the subscriptions if it may be restarted.

        The streams of other connections outlive them, until their owners have what is queued.
        """
        if isinstance(opening, StdioOpening):
            from snodo_actors.actors.stdio import StdioPort  # noqa: PLC0415  # not everybody has stdio

            port = StdioPort.child_spec(
                opening,
                id="port",
                name=name,
                restart=restart,
                restart_delay=restart_delay,
                shutdown=PORT_SHUTDOWN,
                significant=restart != "permanent",
            )
            children = [port]
        else:
            from snodo_actors.actors.http_connection import http_children  # noqa: PLC0415  # not everybody has HTTP

            children = http_children(opening, restart, restart_delay, name)
        if name is not None:
            # Streams know when the port is gone and what to do then: its restart is not theirs.
            children.insert(0, _supervisor_of_many("subscriptions", subscriptions_name(name)))
        return self.tree(
            children,
            strategy="one_for_one" if isinstance(opening, StdioOpening) else "rest_for_one",
            max_restarts=MANY,
            max_seconds=1.0,
            auto_shutdown="any_significant" if restart != "permanent" else "never",
        )


def _supervisor_of_many(id: str, name: str) -> ChildSpec:
    return DynamicSupervisor.child_spec(
        id=id, name=name, type="supervisor", max_restarts=MANY, max_seconds=1.0
    )


def subscriptions_name(name: str) -> str:
    """What the supervisor of the subscriptions of the connection *name* is called."""
    return f"{name} subscriptions"


@dataclass(frozen=True, slots=True)
class Opened:
    """The refs of a connection that was opened, and what it settled."""

    connection: Ref
    port: Ref
    subscriptions: DynamicSupervisorRef
    profile: Profile


async def open_connection(
    node: Node, opening: AnyOpening, started: Callable[[Ref], object]
) -> Opened:
    """Open a connection under the node's own supervisor; *started* is told of it at once.

    Raises:
        Error: The server cannot be started, or no version can be settled with it.
    """
    connections = await shared(node, CONNECTIONS)
    spec = Connection.child_spec(
        opening, "temporary", None, None, restart="temporary", type="supervisor"
    )
    try:
        connection: SupervisorRef = await connections.start_child(spec)
    except StartFailed as failed:
        raise _why(failed.reason).named(opening.who) from None
    started(connection)
    try:
        children = await connection.which_children()
    except CallExit as ended:
        raise _why(ended.reason).named(opening.who) from None
    port = next((child.ref for child in children if child.id == "port"), None)
    if not isinstance(port, Ref):
        raise connection_closed("closed").named(opening.who)  # it has just ended
    ready = Ready(node)
    port.send(ready)
    return Opened(connection, port, await shared(node, SUBSCRIPTIONS), await ready)


async def close_connection(connection: Ref) -> None:
    """Close a connection that `open_connection` opened; harmless when repeated."""
    # Not through its supervisor, which would wait for this one and keep all others waiting.
    with contextlib.suppress(CallExit):  # it has ended already, one way or another
        await stop(connection, SHUTDOWN)


async def shared(node: Node, name: str) -> DynamicSupervisorRef:
    """The supervisor called *name* on *node*, started when first asked for."""
    found = node.names.get(name)
    if found is not None:
        return cast("DynamicSupervisorRef", found.ref)
    try:
        spec = _supervisor_of_many(name, name)
        return cast("DynamicSupervisorRef", await node.root.start_child(spec))
    except AlreadyStarted as started:
        return cast("DynamicSupervisorRef", started.ref)


def _why(reason: ExitReason) -> Error:
    """The error at the bottom of a failed start."""
    while isinstance(reason, Shutdown) and isinstance(reason.term, FailedToStartChild):
        reason = reason.term.reason
    return ended_because(reason)


def connection_spec(
    name: str,
    opening: AnyOpening,
    *,
    restart: RestartType,
    restart_delay: Backoff | None,
) -> ChildSpec:
    """The spec of a connection in somebody's tree."""
    return Connection.child_spec(
        opening, restart, restart_delay, name, id=name, restart=restart, type="supervisor"
    )
