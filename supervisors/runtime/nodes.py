"""Which node the code that runs here belongs to, and the one that is there without being made."""

from __future__ import annotations

import atexit
import threading

from supervisors.runtime.here import entered, get_here
from supervisors.runtime.node import Node

_default: Node | None = None
_default_lock = threading.Lock()


def default_node() -> Node:
    """The node of programs that made none: started on first use, stopped when the program ends."""
    global _default  # noqa: PLW0603  # there is one for the program
    node = _default
    if node is not None and node.running:
        return node
    with _default_lock:
        if _default is None or not _default.running:
            _default = Node("default").start()
            atexit.register(_default.stop, 10.0)
        return _default


def running_default_node() -> Node | None:
    """The default node if it was needed and still runs."""
    return _default if _default is not None and _default.running else None


def current_node() -> Node:
    """The node things are started on: the one entered, the one whose loop this is, the default.

    Raises:
        NodeStopped: This code still runs in a node that has been stopped.
    """
    node = entered.get()
    if node is not None and node.running:
        return node
    for node in reversed(get_here().nodes):
        if not node.outlived_its_loop():
            return node
    return default_node()
