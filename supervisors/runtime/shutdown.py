"""How a node takes its processes down: what nobody supervises, the tree, then whatever is left."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from supervisors.runtime.process import Process
from supervisors.runtime.states import DEAD
from supervisors.runtime.stopping import stop_process
from supervisors.words.reasons import KILL, SHUTDOWN

if TYPE_CHECKING:
    from supervisors.runtime.node import Node

_PATIENCE = 5.0
"""Seconds a process that nobody supervises gets to stop when its node does."""


async def take_down(node: Node, root: Process | None) -> None:
    """Stop what nobody supervises, then the tree under *root*, then kill what is left."""
    from anyio.lowlevel import checkpoint  # noqa: PLC0415  # see _wait_for_end

    tops = [p for p in node.processes.values() if _is_top(p) and p is not root]
    for process in reversed(tops):
        if process.restarts_children:
            await _stop(process, math.inf)
    alone = [process for process in tops if process.state != DEAD]
    for number, process in enumerate(reversed(alone), 1):
        stop_process(process, SHUTDOWN, None)
        if not number % 256:
            await checkpoint()
    begun = time.monotonic()
    for process in alone:
        # A bare function that traps exits has no terminate() to wait for; it gets the grace.
        patience = _PATIENCE if process.has_terminate else min(node.kill_grace, _PATIENCE)
        await _wait_for_end(process, begun + patience - time.monotonic())
    if root is not None:
        await _stop(root, math.inf)
    left = [process for process in node.processes.values() if process.owned_by_node]
    for process in left:
        process.transmit(process.on_exit_signal, None, KILL, False)
    for process in left:
        await _wait_for_end(process, node.kill_grace + 1.0)
    for process in list(node.processes.values()):
        process.die(SHUTDOWN)


def _is_top(process: Process) -> bool:
    parent = process.parent
    return process.owned_by_node and (
        parent is None or not parent.owned_by_node or parent.state == DEAD
    )


async def _stop(process: Process, patience: float) -> None:
    if process.state != DEAD:
        stop_process(process, SHUTDOWN, None)
        await _wait_for_end(process, patience)


async def _wait_for_end(process: Process, patience: float) -> None:
    import anyio  # noqa: PLC0415  # costs 30 ms; it is there once a loop runs

    if process.state != DEAD:
        with anyio.move_on_after(patience):
            await process.node.when_down(process)
