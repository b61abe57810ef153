"""What a process can do: start others, link, monitor, send, receive, take a name, end.

The functions of the package's face. Each works in an actor's handler, in a task and in a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

import pykka

from supervisors.runtime.actor import Match, matcher
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future, failed
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node, running_default_node
from supervisors.runtime.process import Process
from supervisors.runtime.ref import DEFAULT_CALL_TIMEOUT, Ref
from supervisors.runtime.requests import Ask
from supervisors.runtime.states import DEAD
from supervisors.runtime.tasks import SpawnedProcess
from supervisors.runtime.threads import process_of_foreign
from supervisors.runtime.timers import TimerHandle
from supervisors.runtime.watches import Alias, Monitor
from supervisors.words.errors import (
    ExitProcess,
    NoProcess,
    NoSuchName,
    NotAProcess,
    SpecError,
)
from supervisors.words.reasons import KILLED, NOPROC, ExitReason, Kill, as_reason
from supervisors.words.signals import Down, Exit, TimerFired

Dest = Any
"""A ref (ours or pykka's), a registered name, or, to send to, an alias or a monitor with one."""


def self_() -> Ref:
    """The ref of the process whose code is running here: an actor, a task or a thread."""
    return self_process().ref


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
    """
    process = SpawnedProcess(node or current_node(), function, args, trapping=trap_exit)
    _in_loop(process.node, lambda: process.begin(name))
    return process.ref


def spawn_link(
    function: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    trap_exit: bool = False,
    node: Node | None = None,
) -> Ref:
    """As `spawn`, linked to the calling process from the first moment."""
    parent = self_process()
    process = SpawnedProcess(node or parent_node(parent), function, args, trapping=trap_exit)
    process.parent = parent

    def begin() -> None:
        process.on_link(parent)
        parent.transmit(parent.on_link, process)
        process.begin(name)

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
    process = SpawnedProcess(node or current_node(), function, args, trapping=trap_exit)
    watch = self_process().monitor(process, process.ref, None)
    _in_loop(process.node, lambda: process.begin(name))
    return process.ref, watch


def parent_node(process: Process) -> Node:
    """The node a child of *process* lives on."""
    return process.node if process.owned_by_node else current_node()


# ---- ends


def exit(dest: Dest, reason: Any) -> None:
    """Send the exit signal *reason* to a process.

    A process that traps exits gets an `Exit` message; another ends with *reason*, unless that is
    `normal`. "kill" cannot be trapped: whoever gets it ends with `killed`. Nothing happens if it
    has ended.

    Raises:
        ExitProcess: The process sent it to itself and does not trap it: it unwinds. Let it pass.
    """
    process = _process(dest)
    if process is None:
        return
    sender = self_process()
    reason = as_reason(reason)
    if process is sender and process.owned_by_node:
        if isinstance(reason, Kill):
            raise ExitProcess(KILLED, signalled=True)
        if not process.trapping:
            raise ExitProcess(reason, signalled=True)
    process.transmit(process.on_exit_signal, sender, reason, False)


def exit_self(reason: Any = "normal") -> None:
    """End the calling process with *reason*.

    Raises:
        ExitProcess: Always; it unwinds the process. Let it pass.
    """
    raise ExitProcess(reason)


def stop(dest: Dest, reason: Any = "normal", timeout: float | None = None) -> Future[None]:
    """Ask a server to stop with *reason*, in its turn; the future is done when it has ended.

    *timeout* in seconds, None for no limit. The future fails with `NoProcess` when it is not there,
    with `CallTimeout` when it takes too long (it goes on stopping), with `CallExit` when it ended
    with another reason.
    """
    from supervisors.runtime.stopping import stop_process  # noqa: PLC0415  # it stands above this file

    process = _process(dest)
    if process is None:
        return failed(NoProcess(dest, "a stop"))
    return stop_process(process, as_reason(reason), timeout)


def link(dest: Dest) -> None:
    """Link the calling process with another: when one ends, the other gets an exit signal.

    Raises:
        NoProcess: The other has ended. A caller that traps exits gets `Exit(ref, noproc)` instead.
    """
    process = _process(dest)
    if process is None:
        raise NoProcess(dest, "a link")
    self_process().link(process)


def unlink(dest: Dest) -> None:
    """Take a link back. An `Exit` message that has come already stays in the mailbox."""
    process = _process(dest)
    if process is not None:
        self_process().unlink(process)


def trap_exit(flag: bool = True) -> bool:
    """Let exit signals come as `Exit` messages, or not; returns how it was before."""
    process = self_process()
    before, process.trapping = process.trapping, bool(flag)
    return before


AliasMode = Literal["explicit", "demonitor", "reply_demonitor"]


def monitor(dest: Dest, *, alias: AliasMode | None = None) -> Monitor:
    """Watch a process: when it ends, the caller gets one `Down(monitor, process, reason)`.

    At once, with `noproc`, if it has ended. With *alias* the monitor is a send target too: until
    `unalias` ("explicit"), until demonitored or down ("demonitor"), or until the first message
    through it, which also takes the monitor back ("reply_demonitor").
    """
    watcher = self_process()
    if alias not in (None, "explicit", "demonitor", "reply_demonitor"):
        raise SpecError(f'unknown alias mode {alias!r}: write alias="demonitor"')
    process = _process(dest)
    if process is None:
        watch = Monitor(watcher, dest, alias)
        watcher.transmit(watcher.on_down, watch, dest, NOPROC)
        return watch
    return watcher.monitor(process, dest, alias)


def demonitor(watch: Monitor, *, flush: bool = False) -> bool:
    """Stop watching. False if its `Down` was sent already or it had been taken back.

    *flush* also takes a `Down` that has come out of the mailbox.
    """
    watcher = self_process()
    was_active = watcher.demonitor(watch, _process(watch.target))
    if flush and not was_active:
        watcher.take(lambda message: isinstance(message, Down) and message.monitor is watch)
    return was_active


def when_down(dest: Dest) -> Future[ExitReason]:
    """The future of the reason a process ends with; `noproc` if it has ended."""
    process = _process(dest)
    if process is None:
        done: Future[ExitReason] = Future()
        done.set(NOPROC)
        return done
    return process.node.when_down(process)


# ---- messages


def send(dest: Dest, message: Any) -> None:
    """Send *message*; it vanishes if the process has ended.

    Raises:
        NoSuchName: Nobody has the name *dest*.
        NotAProcess: *dest* is nothing that messages can be sent to.
    """
    if isinstance(dest, Ref):
        dest.process.put(message)
    elif isinstance(dest, Alias):
        if dest.open:
            dest.open = not dest.once
            dest.owner.put(message)
    elif isinstance(dest, Monitor):
        if dest.open:
            if dest.alias == "reply_demonitor":
                dest.open = False
                dest.watcher.demonitor(dest, _process(dest.target))
            dest.watcher.put(message)
    else:
        process = _process(dest)
        if process is None:
            raise NoSuchName(dest)
        process.put(message)


def call(dest: Dest, request: Any, timeout: float | None = DEFAULT_CALL_TIMEOUT) -> Future[Any]:
    """Send a request to a server, by ref or by name; the future has the reply. See `Ref.call`."""
    process = _process(dest)
    if process is None:
        return failed(NoProcess(dest, request))
    return process.ref.call(request, timeout)


def cast(dest: Dest, request: Any) -> None:
    """Send a request that is not answered; nothing happens if there is no such process."""
    process = _process(dest)
    if process is not None:
        process.ref.cast(request)


def alias(*, reply: bool = False) -> Alias:
    """A stand-in for the calling process; with *reply* it closes after the first message."""
    return Alias(self_process(), once=reply)


def unalias(which: Alias | Monitor) -> bool:
    """Close an alias: what is sent to it from now on vanishes. False if it was closed already."""
    was_open, which.open = which.open, False
    return was_open


def receive(match: Match = None, timeout: float | None = None) -> Future[Any]:
    """The first message of the calling process that matches; the others stay, in their order.

    *match* is a predicate, a type or a tuple of types; without it, any message matches. The future
    fails with `ReceiveTimeout` after *timeout* seconds.
    """
    return self_process().receive(matcher(match), timeout)


def mailbox() -> list[Any]:
    """A copy of the calling process's unread messages, oldest first."""
    return list(self_process().normal)


# ---- timers


class SentLater:
    """A message that will be sent. Its identity tells one timer's message from another's."""

    __slots__ = ("_handle", "_node")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._handle: TimerHandle | None = None

    def left(self) -> float | None:
        """Seconds until it is sent; None if it was sent or cancelled."""
        handle = self._handle
        return max(0.0, handle.due - self._node.now()) if handle and handle.pending else None


def send_after(seconds: float, dest: Dest, message: Any) -> SentLater:
    """Send *message* in *seconds*. A name is looked up then; nothing happens if nobody has it."""
    return _later(seconds, dest, message, wrapped=False)


def start_timer(seconds: float, dest: Dest, message: Any) -> SentLater:
    """As `send_after`, but what comes is `TimerFired(timer, message)`."""
    return _later(seconds, dest, message, wrapped=True)


def cancel_timer(timer: SentLater) -> float | None:
    """Cancel a timer: returns the seconds that were left, or None if it was too late."""
    left = timer.left()
    handle = timer._handle  # noqa: SLF001  # its own module
    return left if handle is not None and handle.cancel() else None


def _later(seconds: float, dest: Dest, message: Any, *, wrapped: bool) -> SentLater:
    if isinstance(seconds, bool) or not seconds >= 0:
        raise SpecError(f"a timer is set in seconds from now, and {seconds!r} is not that")
    node = current_node()
    timer = SentLater(node)
    what = TimerFired(timer, message) if wrapped else message

    def fire() -> None:
        target = _process(dest)
        if target is not None:
            target.put(what)

    timer._handle = node.after(seconds, fire)  # noqa: SLF001  # its own module
    return timer


# ---- names


def register(name: str, dest: Dest = None) -> None:
    """Give a process (by default the calling one) a name on its node.

    Raises:
        NameTaken: The name belongs to a living process, or the process has a name.
        NoProcess: The process has ended.
    """
    process = self_process() if dest is None else _process(dest)
    if process is None or process.state == DEAD:
        raise NoProcess(dest, f"the name {name!r}")
    process.node.register(name, process)


def unregister(name: str) -> None:
    """Free a name; nothing happens if nobody has it."""
    process = _named(name)
    if process is not None:
        process.node.unregister(name)


def whereis(name: str) -> Ref | None:
    """The process that has a name now, or None."""
    process = _named(name)
    return process.ref if process is not None else None


def is_alive(dest: Dest) -> bool:
    """Whether a process has not ended yet."""
    process = _process(dest)
    return process is not None and process.state != DEAD


# ---- which process


def _named(name: str) -> Process | None:
    node = current_node()
    process = node.names.get(name)
    if process is None:
        default = running_default_node()
        if default is not None and default is not node:
            process = default.names.get(name)
    return process if process is not None and process.state != DEAD else None


def _process(dest: Dest) -> Process | None:
    if isinstance(dest, Ref):
        return dest.process
    if isinstance(dest, str):
        return _named(dest)
    if isinstance(dest, pykka.ActorRef):
        return process_of_foreign(dest, current_node())  # pyright: ignore[reportUnknownArgumentType]  # isinstance() cannot know what kind of actor
    via = getattr(dest, "whereis", None)
    if via is not None:
        found = via()
        return found.process if isinstance(found, Ref) else None
    raise NotAProcess(dest)


find_process = _process


def _in_loop(node: Node, deed: Callable[[], object]) -> None:
    if node.thread_id == threading.get_ident():
        deed()
    else:
        node.post(deed)


__all__ = ["Alias", "Ask", "Exit", "Monitor"]
