"""Who is running: the actor, the task or the thread whose code this is."""

from __future__ import annotations

from supervisors.runtime.here import get_here
from supervisors.runtime.loop import any_current_task
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node, default_node
from supervisors.runtime.process import Process
from supervisors.runtime.ref import task_processes
from supervisors.runtime.states import DEAD
from supervisors.runtime.tasks import process_of_task
from supervisors.runtime.threads import process_of_thread
from supervisors.words.errors import ProcessDead


def self_process() -> Process:
    """The process whose code is running here.

    Raises:
        ProcessDead: It was killed and abandoned; what it does no longer counts.
    """
    process = get_here().current
    if process is not None:
        return process
    task = any_current_task()
    if task is not None:
        process = task_processes.get(task)
        if process is None or not process.owned_by_node:
            return process_of_task(task, _home())
        if process.state == DEAD:
            raise ProcessDead(
                f"{process.ref} has ended ({process.reason}); what it still does no longer counts"
            )
        return process
    return process_of_thread(_home())


def _home() -> Node:
    node = current_node()
    return node if node.running else default_node()
