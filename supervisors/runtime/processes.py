"""What a process does to others and to itself: ends, links, watches, names.

Each function works in an actor's handler, in a task and in a thread.
"""

from __future__ import annotations

from typing import Any, Literal

from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future, failed
from supervisors.runtime.lookup import Dest, find_named, find_process
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import DEAD
from supervisors.runtime.stopping import stop_process
from supervisors.runtime.watches import Monitor
from supervisors.words import checks
from supervisors.words.errors import ExitProcess, NoProcess, SpecError
from supervisors.words.reasons import KILLED, NOPROC, ExitReason, Kill, as_reason
from supervisors.words.signals import Down


def self_() -> Ref:
    """The ref of the process whose code is running here: an actor, a task or a thread."""
    return self_process().ref


# ---- ends


def exit(dest: Dest, reason: Any) -> None:
    """Send the exit signal *reason* to a process.

    A process that traps exits gets an `Exit` message; another ends with *reason*, unless that is
    `normal`. "kill" cannot be trapped: whoever gets it ends with `killed`. Nothing happens if it
    has ended.

    Raises:
        ExitProcess: The process sent it to itself and does not trap it: it unwinds. Let it pass.
    """
    process = find_process(dest)
    if process is None:
        return
    sender = self_process()
    reason = as_reason(reason)
    if process is sender and (not process.trapping or isinstance(reason, Kill)):
        if not process.owned_by_node:  # nobody else sees what ends a task or thread of the user's
            process.leave(KILLED if isinstance(reason, Kill) else reason)
        if isinstance(reason, Kill):
            raise ExitProcess(KILLED, signalled=True)
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
    checks.seconds("timeout", timeout)
    process = find_process(dest)
    if process is None:
        return failed(NoProcess(dest, "a stop"))
    return stop_process(process, as_reason(reason), timeout)


def link(dest: Dest) -> None:
    """Link the calling process with another: when one ends, the other gets an exit signal.

    Raises:
        NoProcess: The other has ended. A caller that traps exits gets `Exit(ref, noproc)` instead.
    """
    process = find_process(dest)
    if process is None:
        raise NoProcess(dest, "a link")
    self_process().link(process)


def unlink(dest: Dest) -> None:
    """Take a link back. An `Exit` message that has come already stays in the mailbox."""
    process = find_process(dest)
    if process is not None:
        self_process().unlink(process)


def trap_exit(flag: bool = True) -> bool:
    """Let exit signals come as `Exit` messages, or not; returns how it was before."""
    process = self_process()
    before, process.trapping = process.trapping, bool(flag)
    return before


_ALIAS_MODES = ("explicit", "demonitor", "reply_demonitor")
AliasMode = Literal["explicit", "demonitor", "reply_demonitor"]


def monitor(dest: Dest, *, alias: AliasMode | None = None) -> Monitor:
    """Watch a process: when it ends, the caller gets one `Down(monitor, process, reason)`.

    At once, with `noproc`, if it has ended. With *alias* the monitor is a send target too: until
    `unalias` ("explicit"), until demonitored or down ("demonitor"), or until the first message
    through it, which also takes the monitor back ("reply_demonitor").
    """
    watcher = self_process()
    if alias is not None and alias not in _ALIAS_MODES:
        modes = ", ".join(_ALIAS_MODES)
        raise SpecError(f'unknown alias mode {alias!r} ({modes}): write alias="demonitor"')
    process = find_process(dest)
    if process is None:
        watch = Monitor(watcher, dest, alias)
        watcher.transmit(watcher.on_down, watch, dest, NOPROC)
        return watch
    return watcher.monitor(process, dest, alias)


def demonitor(watch: Monitor, *, flush: bool = False) -> bool:
    """Stop watching. False if its `Down` was sent already or it had been taken back.

    *flush* also takes a `Down` that has come out of the mailbox.
    """
    checks.instance("a monitor", watch, Monitor, "demonitor(monitor(ref))")
    watcher = self_process()
    was_active = watcher.demonitor(watch, find_process(watch.target))
    if flush and not was_active:
        watcher.take(lambda message: isinstance(message, Down) and message.monitor is watch)
    return was_active


def when_down(dest: Dest) -> Future[ExitReason]:
    """The future of the reason a process ends with; `noproc` if it has ended."""
    process = find_process(dest)
    if process is None:
        done: Future[ExitReason] = Future()
        done.set(NOPROC)
        return done
    return process.node.when_down(process)


# ---- names


def register(name: str, dest: Dest = None) -> None:
    """Give a process (by default the calling one) a name on its node.

    Raises:
        NameTaken: The name belongs to a living process, or the process has a name.
        NoProcess: The process has ended.
    """
    checks.name(name)
    process = self_process() if dest is None else find_process(dest)
    if process is None or process.state == DEAD:
        raise NoProcess(dest, f"the name {name!r}")
    process.node.register(name, process)


def unregister(name: str) -> None:
    """Free a name; nothing happens if nobody has it."""
    process = find_named(name)
    if process is not None:
        process.node.unregister(name)


def whereis(name: str) -> Ref | None:
    """The process that has a name now, or None."""
    process = find_named(name)
    return process.ref if process is not None else None


def is_alive(dest: Dest) -> bool:
    """Whether a process has not ended yet."""
    process = find_process(dest)
    return process is not None and process.state != DEAD
