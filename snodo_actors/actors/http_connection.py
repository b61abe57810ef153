"""The tree of one HTTP connection: workers, the port that keeps the books of them, and streams.

Rest for one: a port that is started anew begins with fresh workers that are told by it, and the
streams of the former are over; a worker or a stream that ends harms nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from snodo_actors.actors.http_messages import Family
from snodo_actors.actors.http_opening import HttpOpening
from snodo_actors.actors.http_port import HttpPort
from snodo_actors.wire.headers import encode_fields
from supervisors import Backoff, ChildSpec, DynamicSupervisor, DynamicSupervisorRef

if TYPE_CHECKING:
    from snodo_actors.actors.connection import RestartType

PORT_SHUTDOWN = 10.0
"""Seconds a port gets to end its session."""
MANY = 10**9


class _Workers(DynamicSupervisor):
    """The supervisor of the workers of one connection."""

    def init(self, family: Family) -> Any:
        family.workers = cast("DynamicSupervisorRef", self.ref)
        return self.tree(max_restarts=MANY, max_seconds=1.0)


class _Streams(DynamicSupervisor):
    """The supervisor of the actors that read the streams of one connection."""

    def init(self, family: Family) -> Any:
        family.streams = cast("DynamicSupervisorRef", self.ref)
        return self.tree(max_restarts=MANY, max_seconds=1.0)


def http_children(
    opening: HttpOpening, restart: RestartType, restart_delay: Backoff | None, name: str | None
) -> list[ChildSpec]:
    """The children of the supervisor of an HTTP connection."""
    family = Family(
        opening.who,
        opening.target.url,
        opening.origin,
        opening.client,
        opening.http,
        encode_fields(opening.http.header_pairs),
    )
    port = HttpPort.child_spec(
        opening,
        family,
        id="port",
        name=name,
        restart=restart,
        restart_delay=restart_delay,
        shutdown=PORT_SHUTDOWN,
        significant=restart != "permanent",
    )
    workers = _Workers.child_spec(
        family,
        id="workers",
        type="supervisor",
        # Where the port is not started again, what it stood on ends the connection with it.
        restart="temporary" if restart == "temporary" else "permanent",
        significant=restart == "temporary",
    )
    return [
        workers,
        port,
        _Streams.child_spec(family, id="streams", type="supervisor"),
    ]
