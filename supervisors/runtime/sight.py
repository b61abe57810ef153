"""Looking at running actors: their state, their messages, the tree they are in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from supervisors.runtime.actor import Actor
from supervisors.runtime.actor_process import ActorProcess
from supervisors.runtime.future import Future, failed
from supervisors.runtime.lookup import find_process
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import DEAD, STATES
from supervisors.runtime.system import System
from supervisors.words import checks
from supervisors.words.errors import CallTimeout, NoProcess, SpecError

DEFAULT_TIMEOUT = 5.0


def get_state(dest: Any, timeout: float | None = DEFAULT_TIMEOUT) -> Future[Any]:
    """The state of an actor, as `format_status()` gives it: by default its public attributes.

    Goes through the mailbox, so a busy actor answers when it is done; a suspended one answers.
    """
    return _system(dest, _state, "get_state", timeout)


def replace_state(
    dest: Any, change: Callable[[dict[str, Any]], dict[str, Any]], timeout: float | None = 5.0
) -> Future[Any]:
    """Let *change* make new attributes of the actor's, in the actor.

    One that raises changes nothing, and the future fails with what it raised.
    """
    checks.function("replace_state", change)

    def deed(actor: Actor) -> dict[str, Any]:
        attributes = vars(actor)
        public = {name: value for name, value in attributes.items() if not name.startswith("_")}
        new = change(dict(public))
        for name in public.keys() - new.keys():
            del attributes[name]
        attributes.update(new)
        return new

    return _system(dest, deed, "replace_state", timeout)


def suspend(dest: Any, timeout: float | None = DEFAULT_TIMEOUT) -> Future[None]:
    """Let an actor's messages wait until `resume`; looking at it still works."""
    return _system(dest, lambda actor: _suspend(actor, True), "suspend", timeout)


def resume(dest: Any, timeout: float | None = DEFAULT_TIMEOUT) -> Future[None]:
    """Let a suspended actor go on."""
    return _system(dest, lambda actor: _suspend(actor, False), "resume", timeout)


def trace(
    dest: Any, tracer: Callable[[tuple[Any, ...]], object] | None, timeout: float | None = 5.0
) -> Future[None]:
    """Call *tracer* with what an actor does: ("in", kind, message), ("out", reply, state), ...

    In the actor's thread. A tracer that raises or returns "done" is taken off; so does None.
    """
    if tracer is not None:
        checks.function("trace", tracer)

    def deed(actor: Actor) -> None:
        process = actor._otp_process  # noqa: SLF001  # the kernel looks at its own
        process.tracer = tracer
        process.look_special()

    return _system(dest, deed, "trace", timeout)


def _suspend(actor: Actor, flag: bool) -> None:
    process = actor._otp_process  # noqa: SLF001  # the kernel looks at its own
    process.suspended = flag
    process.look_special()
    if not flag and not process.scheduled:
        process.schedule()


def _state(actor: Actor) -> Any:
    status = getattr(actor, "format_status", None)
    if status is not None:
        return status()
    return {name: value for name, value in vars(actor).items() if not name.startswith("_")}


def _system(
    dest: Any, deed: Callable[[Actor], Any], what: str, timeout: float | None
) -> Future[Any]:
    checks.seconds("timeout", timeout)
    process = find_process(dest)
    if process is None or process.state == DEAD:
        ended = None if process is None else process.reason
        return failed(NoProcess(dest, what, ended))
    if not isinstance(process, ActorProcess):
        raise SpecError(f"{process.ref} is no actor, so {what}() has nothing to ask")
    system = System(process.node, deed)
    if timeout is not None:
        timer = process.node.after(
            timeout, lambda: system.done.try_fail(CallTimeout(process.ref, what, timeout))
        )
        system.done.add_done_callback(lambda _done: timer.cancel())
    process.put(system)
    return system.done


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """What can be seen of a process from outside, without asking it."""

    ref: Ref
    name: str | None
    initial_call: str
    state: str
    trap_exit: bool
    unread: int
    links: tuple[Ref, ...]
    monitored_by: int
    parent: Ref | None


def info(dest: Any) -> ProcessInfo | None:
    """What can be seen of a process from outside, or None if there is none."""
    process = find_process(dest)
    if process is None:
        return None
    state = STATES[process.state]
    if isinstance(process, ActorProcess) and process.suspended:
        state = "suspended"
    elif process.busy:
        state = "waiting"
    return ProcessInfo(
        process.ref,
        process.name,
        process.initial_call,
        state,
        process.trapping,
        len(process.normal),
        tuple(other.ref for other in tuple(process.links or ())),
        len(process.monitors or ()),
        process.parent.ref if process.parent is not None else None,
    )


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One process in a tree and what is below it."""

    id: Any
    ref: Ref | None
    type: str
    state: str
    unread: int
    children: tuple[TreeNode, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines("", "", ""))

    def _lines(self, lead: str, branch: str, below: str) -> list[str]:
        name = getattr(self.id, "__name__", None) or str(self.id)
        what = self.state if self.ref is None else f"{self.ref} {self.state}"
        unread = f", {self.unread} unread" if self.unread else ""
        lines = [f"{lead}{branch}{name}: {what}{unread}"]
        last = len(self.children) - 1
        for index, child in enumerate(self.children):
            lines += child._lines(  # noqa: SLF001  # of its own class
                lead + below,
                "└─ " if index == last else "├─ ",
                "   " if index == last else "│  ",
            )
        return lines


def tree(dest: Any = None, *, node: Node | None = None) -> Future[TreeNode]:
    """A snapshot of a supervision tree: of a supervisor, or of everything under the node's root."""
    if dest is None:
        where = node or current_node()
        process = where.root.process
    else:
        found = find_process(dest)
        if found is None:
            return failed(NoProcess(dest, "a tree"))
        process = found
        where = process.node
    snapshot: Future[TreeNode] = Future(where)

    def look() -> None:
        snapshot.try_set(_snapshot(process.name or process.initial_call, process, "supervisor"))

    if where.thread_id == threading.get_ident():
        look()
    else:
        where.post(look)
    return snapshot


def _snapshot(id: Any, process: Process, type: str) -> TreeNode:
    children: list[TreeNode] = []
    actor = process.actor if isinstance(process, ActorProcess) else None
    list_children = getattr(actor, "tree_children", None)
    if list_children is not None:
        for child_id, ref, child_type in list_children():
            if isinstance(ref, Ref):
                children.append(_snapshot(child_id, ref.process, child_type))
            else:
                state = "restarting" if ref == "restarting" else "not running"
                children.append(TreeNode(child_id, None, child_type, state, 0, ()))
    seen = info(process.ref)
    assert seen is not None
    return TreeNode(id, process.ref, type, seen.state, seen.unread, tuple(children))
