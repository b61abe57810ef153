"""What runs here right now: which nodes, and which process.

One small record for each thread; the node that runs an actor writes it, `self_()` reads it.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisors.runtime.node import Node
    from supervisors.runtime.process import Process


class Here:
    """The record of one thread."""

    __slots__ = ("current", "ending", "nodes", "own")

    def __init__(self) -> None:
        self.current: Process | None = None
        """The process whose synchronous code runs in this thread right now."""
        self.nodes: tuple[Node, ...] = ()
        """The nodes whose loop this thread runs, the newest last."""
        self.own: Process | None = None
        """The process this thread itself is, once it was asked for."""
        self.ending: object = None
        """Something whose end is the end of this thread."""


entered: ContextVar[Node | None] = ContextVar("supervisors_node", default=None)
"""The node that the code here has entered, by `with` or `async with`."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.here = Here()


_local = _Local()


def get_here() -> Here:
    """The record of this thread."""
    return _local.here
