"""A bare process that does what it is told and writes down what it receives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio

from supervisors import (
    BadReturn,
    Exit,
    Future,
    Ignore,
    Ok,
    Ref,
    StartFailed,
    StartIgnored,
    Stop,
    exit_self,
    receive,
    self_,
    spawn,
    spawn_link,
    unlink,
    when_down,
)

from .beginning import begin
from .behaviour import Behaviour, comes_up
from .command import Command, Step
from .scenario import Json
from .terms import to_reason
from .world import World


@dataclass
class Puppet:
    """One bare process; *manual*: it takes a message only when told to."""

    world: World
    id: str
    n: int
    manual: bool = False
    on_exit_signal: Json = "ignore"

    async def run(self) -> None:
        """Live, until told to end or killed."""
        while True:
            message = await receive(Command if self.manual else None)
            if isinstance(message, Command):
                await message.perform(self.world, self.id, self.n)
            else:
                self.world.journal.log(
                    "recv", id=self.id, n=self.n, msg=self.world.message(message)
                )
                if isinstance(message, Exit):
                    await self._signalled(message)

    async def _signalled(self, signal: Exit) -> None:
        match self.on_exit_signal:
            case "obey":
                exit_self(signal.reason)
            case {"sleep": ms, "exit": reason}:
                await anyio.sleep(ms / 1000)
                exit_self(to_reason(reason))
            case {"exit": reason}:
                exit_self(to_reason(reason))
            case _:
                pass


def spawn_puppet(world: World, step: Step, *, linked: bool = False) -> Ref:
    """Spawn the bare process of the *step*; *linked* to the calling process."""
    id = step["id"]
    n = world.people.attempt(id)
    puppet = Puppet(world, id, n, manual=step.get("manual", False))
    world.journal.log("start", id=id, n=n, outcome="ok")
    start = spawn_link if linked else spawn
    ref = start(puppet.run, trap_exit=step.get("trap_exit", False))
    world.people.bare.add(ref)
    world.enter(id, n, ref)
    return ref


async def start_raw(world: World, id: str, n: int, behaviour: Behaviour) -> Ref:
    """Start the bare process of a supervised worker, linked to the calling process.

    Raises:
        StartFailed: It ended before it was up.
        StartIgnored: It chose not to run.
    """
    parent = self_()
    entry = behaviour.entry(n)
    up: Future[Ref] = Future()

    async def live() -> None:
        if behaviour.unlink_parent:
            unlink(parent)
        match await begin(entry):
            case Ok():
                up.set(self_())
                await Puppet(world, id, n, on_exit_signal=behaviour.on_exit_signal).run()
            case Ignore():
                up.set_exception(StartIgnored())
            case Stop(reason=reason):
                exit_self(reason)
            case rubbish:
                exit_self(BadReturn(rubbish))

    def ended(down: Any) -> None:
        if not up.done():
            up.set_exception(StartFailed(down.get(timeout=0)))

    ref = spawn_link(live, name=behaviour.name, trap_exit=behaviour.trap_exit)
    world.people.raw.add(ref)
    world.enter(id, n, ref, watched=comes_up(entry))
    when_down(ref).add_done_callback(ended)
    return await up
