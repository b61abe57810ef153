"""Functions as processes of their own, in tasks of a node."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from supervisors.runtime.current import self_process
from supervisors.runtime.fence import fence
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref, check_alive
from supervisors.runtime.states import DEAD
from supervisors.runtime.tasks import SpawnedProcess
from supervisors.runtime.watches import Monitor
from supervisors.words import checks


def spawn(
    function: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    trap_exit: bool = False,
    node: Node | None = None,
) -> Ref:
    """Run *function* (plain or async) as a process of its own, in a task of the node.

    It ends with `normal` when the function returns, with `Error(exception)` when it raises.

    Raises:
        NodeStopped: The node does not run.
        NameTaken: *name* belongs to a living process.
    """
    process = _new(node or current_node(), function, args, name, trap_exit)
    _in_loop(process.node, process.begin)
    return process.ref


def _new(
    node: Node,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    name: str | None,
    trap_exit: bool,
) -> SpawnedProcess:
    checks.function("spawn", function)
    checks.instance("a node", node, Node, "node=current_node()")
    if name is not None:
        checks.name(name)
    if fence.count:
        check_alive()
    process = SpawnedProcess(node, function, args, trapping=trap_exit)
    if name is not None:
        try:
            node.register(name, process)
        except BaseException:
            process.state = DEAD  # it never began
            raise
    return process


def spawn_link(
    function: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    trap_exit: bool = False,
    node: Node | None = None,
) -> Ref:
    """As `spawn`, linked to the calling process from the first moment."""
    parent = self_process()
    process = _new(node or parent_node(parent), function, args, name, trap_exit)
    process.parent = parent

    def begin() -> None:
        process.on_link(parent)
        parent.transmit(parent.on_link, process)
        process.begin()

    _in_loop(process.node, begin)
    return process.ref


def spawn_monitor(
    function: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    trap_exit: bool = False,
    node: Node | None = None,
) -> tuple[Ref, Monitor]:
    """As `spawn`, monitored by the calling process from the first moment."""
    process = _new(node or current_node(), function, args, name, trap_exit)
    watch = self_process().monitor(process, process.ref, None)
    _in_loop(process.node, process.begin)
    return process.ref, watch


def parent_node(process: Process) -> Node:
    """The node a child of *process* lives on."""
    return process.node if process.owned_by_node else current_node()


def _in_loop(node: Node, deed: Callable[[], object]) -> None:
    if node.thread_id == threading.get_ident():
        deed()
    else:
        node.post(deed)
