"""HTTP connections in a supervision tree, and what they are made of."""

from __future__ import annotations

from typing import Any

import snodo_actors as snodo
import supervisors
from supervisors import Supervisor

LEGACY = "2025-11-25"
QUICKLY = supervisors.Backoff(initial=0.02, maximum=0.2)


async def tree_of(at: Any, url: str, name: str, **options: Any) -> Any:
    """A supervisor with one connection, called *name*."""
    options = {"protocol": LEGACY, "restart_delay": QUICKLY, "timeout": 5.0, **options}
    if options["protocol"] is None:
        del options["protocol"]
    spec = snodo.child_spec(name, ("http", url), **options)
    return await at.get(Supervisor.start_link([spec], max_restarts=3, max_seconds=60.0))


async def connection_in(at: Any, tree: Any) -> Any:
    """The supervisor of the only connection of a tree."""
    [child] = await at.get(tree.which_children())
    return child.ref


async def part(at: Any, connection: Any, id: str) -> Any:
    """The ref of "port", "workers" or "streams" of a connection."""
    children = await at.get(connection.which_children())
    return next(child.ref for child in children if child.id == id)


async def inside(at: Any, connection: Any, id: str) -> list[Any]:
    """The refs of what is under "workers" or "streams"."""
    under = await part(at, connection, id)
    return [child.ref for child in await at.get(under.which_children())]
