"""How others hold a process: a small handle that names one incarnation for ever.

One ref object for each process, compared by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from supervisors.runtime.fence import fence
from supervisors.runtime.future import Future, failed
from supervisors.runtime.here import get_here
from supervisors.runtime.loop import any_current_task
from supervisors.runtime.process import Process
from supervisors.runtime.requests import Call, Cast
from supervisors.runtime.states import DEAD
from supervisors.words import checks
from supervisors.words.errors import CallingSelf, NoProcess, ProcessDead
from supervisors.words.reasons import NORMAL

if TYPE_CHECKING:
    from supervisors.runtime.node import Node

DEFAULT_CALL_TIMEOUT = 5.0


def not_found(process: Process) -> ProcessDead:
    """The error for a message that comes too late."""
    reason = process.reason or NORMAL
    why = "" if reason.is_normal else f": it ended: {reason}"
    return ProcessDead(f"{process.ref} not found{why}", reason)


class Ref:
    """A handle on a process: an actor, a task, a thread."""

    __slots__ = ("process",)

    process: Process

    def __init__(self, process: Process) -> None:
        self.process = process

    @property
    def id(self) -> int:
        """A number no other process of this program has, had or will have."""
        return self.process.id

    @property
    def name(self) -> str | None:
        """The name it is registered under, if any."""
        return self.process.name

    @property
    def node(self) -> Node:
        """The node it belongs to."""
        return self.process.node

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        process = self.process
        name = f" {process.name!r}" if process.name is not None else ""
        return f"{process.initial_call}#{process.id}{name}"

    def is_alive(self) -> bool:
        """True until it has ended."""
        return self.process.state != DEAD

    def tell(self, message: Any) -> None:
        """Put *message* into its mailbox.

        Raises:
            ProcessDead: It has ended.
            MailboxFull: Its mailbox has a bound and rejects.
        """
        process = self.process
        if process.state == DEAD:
            raise not_found(process)
        if fence.count:
            check_alive()
        process.put_message(message)

    def send(self, message: Any) -> None:
        """Put *message* into its mailbox; nothing happens if it has ended."""
        if fence.count:
            check_alive()
        self.process.put_message(message)

    def cast(self, request: Any) -> None:
        """Send a request that is not answered; nothing happens if it has ended."""
        if fence.count:
            check_alive()
        self.process.put(Cast(request))

    def call(self, request: Any, timeout: float | None = DEFAULT_CALL_TIMEOUT) -> Future[Any]:
        """Send a request; the future has the reply.

        *timeout* in seconds, None for no limit. The future fails with `CallExit` when the server
        ends first, `NoProcess` when it is not there, `CallTimeout`, or `CallingSelf`.
        """
        if timeout is not DEFAULT_CALL_TIMEOUT:
            checks.seconds("timeout", timeout)
        process = self.process
        if get_here().current is process or (process.busy and is_current_task(process)):
            return failed(CallingSelf(self, request))
        if process.state == DEAD:
            return failed(NoProcess(self, request, process.reason))
        call = Call(process, request, timeout)
        if timeout == 0:
            call.give_up()  # before a server in another thread can answer
        process.put(call)
        return call


task_processes: WeakKeyDictionary[Any, Process] = WeakKeyDictionary()
"""Which process a task is."""


def check_alive() -> None:
    """Refuse what a process does that was killed and goes on all the same.

    Raises:
        ProcessDead: The task that is running here is such a process.
    """
    task = any_current_task()
    process = task_processes.get(task) if task is not None else None
    if process is not None and process.state == DEAD and process.owned_by_node:
        raise ProcessDead(
            f"{process.ref} has ended ({process.reason}); what it still does no longer counts"
        )


def is_current_task(process: Process) -> bool:
    """Whether the task that is running here is the one of *process*."""
    task = any_current_task()
    return task is not None and task_processes.get(task) is process
