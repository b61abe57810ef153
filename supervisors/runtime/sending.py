"""Messages between processes: sent, asked for, taken out of the mailbox."""

from __future__ import annotations

from typing import Any

import pykka

from supervisors.runtime.actor import Match, matcher
from supervisors.runtime.current import self_process
from supervisors.runtime.fence import fence
from supervisors.runtime.future import Future, failed
from supervisors.runtime.lookup import Dest, find_process
from supervisors.runtime.ref import DEFAULT_CALL_TIMEOUT, Ref, check_alive
from supervisors.runtime.requests import unboxed
from supervisors.runtime.watches import Alias, Monitor
from supervisors.words import checks
from supervisors.words.errors import NoProcess, NoSuchName, NotAProcess


def send(dest: Dest, message: Any) -> None:
    """Send *message*; it vanishes if the process has ended.

    Raises:
        NoSuchName: Nobody has the name *dest*.
        NotAProcess: *dest* is nothing that messages can be sent to.
    """
    if fence.count:
        check_alive()
    if isinstance(dest, Ref):
        dest.process.put_message(message)
    elif isinstance(dest, Alias):
        if dest.open:
            dest.open = not dest.once
            dest.owner.put_message(message)
    elif isinstance(dest, Monitor):
        if dest.open:
            if dest.alias == "reply_demonitor":
                dest.open = False
                dest.watcher.demonitor(dest, find_process(dest.target))
            dest.watcher.put_message(message)
    else:
        process = find_process(dest)
        if process is None:
            raise NoSuchName(dest)
        process.put_message(message)


def check_destination(dest: Dest) -> None:
    """Refuse what messages cannot be sent to.

    Raises:
        NotAProcess: *dest* is no ref, name, alias or monitor.
    """
    if not isinstance(dest, Ref | Alias | Monitor | str | pykka.ActorRef) and not hasattr(
        dest, "whereis"
    ):
        raise NotAProcess(dest)


def call(dest: Dest, request: Any, timeout: float | None = DEFAULT_CALL_TIMEOUT) -> Future[Any]:
    """Send a request to a server, by ref or by name; the future has the reply. See `Ref.call`."""
    checks.seconds("timeout", timeout)
    process = find_process(dest)
    if process is None:
        return failed(NoProcess(dest, request))
    return process.ref.call(request, timeout)


def cast(dest: Dest, request: Any) -> None:
    """Send a request that is not answered; nothing happens if there is no such process."""
    process = find_process(dest)
    if process is not None:
        process.ref.cast(request)


def alias(*, reply: bool = False) -> Alias:
    """A stand-in for the calling process; with *reply* it closes after the first message."""
    return Alias(self_process(), once=reply)


def unalias(which: Alias | Monitor) -> bool:
    """Close an alias: what is sent to it from now on vanishes. False if it was closed already."""
    checks.instance("an alias", which, (Alias, Monitor), "unalias(alias())")
    was_open, which.open = which.open, False
    return was_open


def receive(match: Match = None, timeout: float | None = None) -> Future[Any]:
    """The first message of the calling process that matches; the others stay, in their order.

    *match* is a predicate, a type or a tuple of types; without it, any message matches. The future
    fails with `ReceiveTimeout` after *timeout* seconds.
    """
    return self_process().receive(matcher(match), checks.seconds("timeout", timeout))


def mailbox() -> list[Any]:
    """A copy of the calling process's unread messages, oldest first."""
    return [unboxed(item) for item in list(self_process().normal)]
