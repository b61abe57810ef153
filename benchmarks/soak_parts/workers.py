"""The actors at the leaves of the tree. Each is in both registries while it lives."""

from __future__ import annotations

from typing import Any, ClassVar

import anyio
import pykka

from supervisors import (
    NO_REPLY,
    Actor,
    Bound,
    Caller,
    ExitReason,
    GenServer,
    RegistryRef,
    Stop,
    call,
    exit_self,
    link,
    self_,
    spawn_link,
    whereis,
)

UNIQUE, MEMBERS = "soak.unique", "soak.members"
"""The names of the two registries."""


class Crash(Exception):
    """What a worker raises when it is told to fail."""


def enter(team: str, name: str | None) -> None:
    """Enter the calling process in the registries."""
    unique, members = whereis(UNIQUE), whereis(MEMBERS)
    assert isinstance(unique, RegistryRef)
    assert isinstance(members, RegistryRef)
    members.register(team, name)
    unique.register(name or ("unnamed", self_()), team)


class Worker(GenServer):
    """Answers, waits, fails, stops: whatever it is asked."""

    def init(self, team: str, name: str | None = None) -> None:
        """Enter the registries."""
        enter(team, name)

    async def _slow(self, seconds: float, n: int) -> Any:
        await anyio.sleep(seconds)
        return "re", n

    async def _forward(self, dest: Any, n: int) -> Any:
        return await call(dest, ("echo", n), 0.5)

    def handle_call(self, request: Any, caller: Caller) -> Any:
        """Do what the request says."""
        match request:
            case ("echo", n):
                return "re", n
            case ("slow", seconds, n):
                return self._slow(seconds, n)
            case ("forward", dest, n):
                return self._forward(dest, n)
            case ("later", seconds, n):
                self.node.after(seconds, caller.reply, ("re", n))
                return NO_REPLY
            case ("never", _):
                return NO_REPLY
            case ("crash", n):
                raise Crash(n)
            case ("stop", reason, n):
                return Stop(reason, ("re", n))
            case _:
                return super().handle_call(request, caller)

    def handle_cast(self, request: Any) -> Any:
        """Do what the request says."""
        match request:
            case "crash":
                raise Crash
            case "exit":
                exit_self("tired")
            case ("stop", reason):
                return Stop(reason)
            case ("link", other):
                link(other)
            case "child":
                spawn_link(anyio.sleep, 0.01)
        return None

    def handle_info(self, message: Any) -> None:
        """Let strangers' messages and signals pass."""


class Trapper(Worker):
    """Traps exits and takes its time to end."""

    trap_exit: ClassVar[bool] = True

    async def terminate(self, reason: ExitReason) -> None:
        """Take longer than a short shutdown time, now and then."""
        await anyio.sleep(0.2 if hash(self.ref) % 4 == 0 else 0.002)


class Tight(Worker):
    """Has little room in its mailbox."""

    mailbox_bound: ClassVar[Bound | None] = Bound(8, "reject")


class Sieve(Worker):
    """Drops what it has no room for; the callers are told."""

    mailbox_bound: ClassVar[Bound | None] = Bound(8, "drop_oldest")


class Plain(Actor):
    """As pykka has it: an exception in an ask is the caller's, in a tell it ends the actor."""

    def __init__(self, team: str, name: str | None = None) -> None:
        super().__init__()
        self.team, self.name = team, name

    def on_start(self) -> None:
        """Enter the registries."""
        enter(self.team, self.name)

    def on_receive(self, message: Any) -> Any:
        """Do what the message says."""
        match message:
            case ("echo" | "slow" | "later" | "forward", *_, n):
                return "re", n
            case ("crash" | "stop" | "never", *_, n):
                raise Crash(n)
            case "crash":
                raise Crash
            case _:
                return None


class Threaded(pykka.ThreadingActor):
    """An actor of pykka's own, in a thread of its own."""

    use_daemon_thread = True

    def on_receive(self, message: Any) -> Any:
        """Do what the message says."""
        match message:
            case "crash":
                raise Crash
            case (*_, n):
                return "re", n
            case _:
                return None
