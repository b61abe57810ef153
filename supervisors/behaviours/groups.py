"""Groups of processes: join and leave, see who is in, publish to all (OTP's pg).

One table for the program. A process may join a group several times and must leave as often; its
death ends all its memberships, before anybody is told of it. A group without members is no group.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

from supervisors.machines.names import Names
from supervisors.runtime.current import self_process
from supervisors.runtime.lookup import find_process
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import DEAD
from supervisors.words import checks
from supervisors.words.errors import NoProcess, SupervisorsError


class NotJoined(SupervisorsError):
    """Raised when a process leaves a group it is not in."""

    def __init__(self, group: Hashable, ref: Ref) -> None:
        self.group = group
        self.ref = ref
        super().__init__(f"{ref} is not in the group {group!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.group, self.ref)


class GroupEvent(NamedTuple):
    """Members joined or left a group that the receiver watches."""

    watch: GroupWatch
    what: Literal["join", "leave"]
    group: Hashable
    members: tuple[Ref, ...]


class GroupWatch:
    """A watch over a group; `unwatch` ends it."""

    __slots__ = ("group", "watcher")

    def __init__(self, group: Hashable, watcher: Process) -> None:
        self.group = group
        self.watcher = watcher


_lock = threading.RLock()
_members: Names[Process] = Names(unique=False)
_watches: Names[Process] = Names(unique=False)
_known: set[Process] = set()


def join(group: Hashable, ref: Ref | None = None) -> None:
    """Let a process (by default the calling one) join *group*, once more if it is in already.

    Raises:
        NoProcess: It has ended.
    """
    process = self_process() if ref is None else _living(ref, group)
    with _lock:
        _members.register(group, process)
        _notice(process)
    _tell("join", group, (process.ref,))


def leave(group: Hashable, ref: Ref | None = None) -> None:
    """Let a process leave *group* once.

    Raises:
        NotJoined: It is not in it.
    """
    process = self_process() if ref is None else _known_process(ref, group)
    with _lock:
        times = sum(owner is process for owner, _ in _members.lookup(group))
        if not times:
            raise NotJoined(group, process.ref)
        _members.unregister(group, process)
        for _ in range(times - 1):
            _members.register(group, process)
    _tell("leave", group, (process.ref,))


def members(group: Hashable) -> list[Ref]:
    """The members of *group*, oldest first; one that joined twice is named twice."""
    with _lock:
        return [owner.ref for owner, _ in _members.lookup(group) if owner.state != DEAD]


def which_groups() -> list[Hashable]:
    """The groups that have members."""
    with _lock:
        return list(dict.fromkeys(group for group, _, _ in _members.entries()))


def publish(group: Hashable, message: Any) -> int:
    """Send *message* to every member of *group* once; says to how many."""
    with _lock:
        owners = dict.fromkeys(owner for owner, _ in _members.lookup(group))
    for owner in owners:
        owner.put_message(message)
    return len(owners)


def watch(group: Hashable) -> tuple[GroupWatch, list[Ref]]:
    """Watch *group*: the caller gets a `GroupEvent` whenever members join or leave.

    Returns the watch and the members there are now.
    """
    watcher = self_process()
    ticket = GroupWatch(group, watcher)
    with _lock:
        _watches.register(group, watcher, ticket)
        _notice(watcher)
        return ticket, members(group)


def unwatch(ticket: GroupWatch) -> None:
    """End a watch; nothing happens if it has ended."""
    checks.instance("a watch", ticket, GroupWatch, "unwatch(watch(group)[0])")
    with _lock:
        _watches.unregister_value(ticket.group, ticket.watcher, ticket)


def _notice(process: Process) -> None:
    if process not in _known:
        _known.add(process)
        process.before_end(_ended)


def _ended(process: Process) -> None:
    with _lock:
        _known.discard(process)
        gone = {
            key: sum(o is process for o, _ in _members.lookup(key))
            for key in _members.keys(process)
        }
        _members.release(process)
        _watches.release(process)
    for group, times in gone.items():
        _tell("leave", group, (process.ref,) * times)


def _tell(what: Literal["join", "leave"], group: Hashable, refs: tuple[Ref, ...]) -> None:
    with _lock:
        watchers = _watches.lookup(group)
    for watcher, ticket in watchers:
        watcher.put(GroupEvent(ticket, what, group, refs))


def _known_process(ref: Ref, group: Hashable) -> Process:
    process = find_process(ref)
    if process is None:
        raise NoProcess(ref, f"leaving {group!r}")
    return process


def _living(ref: Ref, group: Hashable) -> Process:
    process = find_process(ref)
    if process is None or process.state == DEAD:
        raise NoProcess(ref, f"joining {group!r}")
    return process
