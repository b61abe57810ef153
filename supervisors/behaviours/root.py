"""The root supervisor of a node.

Stands above the kernel and is handed to it, as the kernel must not know supervisors.
"""

from __future__ import annotations

from supervisors.behaviours.supervisor import Supervisor
from supervisors.runtime import node as kernel
from supervisors.runtime.ref import Ref

MAX_RESTARTS = 100
MAX_SECONDS = 5.0


class RootSupervisor(Supervisor):
    """Keeps what was started on a node without a supervisor of its own."""


def start_root(node: kernel.Node) -> Ref:
    """Start the root of *node*, from whatever thread; it takes requests at once."""
    return RootSupervisor.start_on(node, [], max_restarts=MAX_RESTARTS, max_seconds=MAX_SECONDS)


def install() -> None:
    """Hand the kernel what starts the root of a node."""
    kernel.root_starter = start_root
