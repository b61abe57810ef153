"""A command: what the runner tells a process to do.

The process does it itself, between its messages; the runner waits for the answer or for the end
of the process, whichever comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio.lowlevel

from supervisors import Future, Ref, send, when_down

from .scenario import Json
from .world import World

Step = dict[str, Any]

_TURNS: Final = 10
"""So many turns of the loop bring any idle process to its next message."""

NOTHING: Final = object()
"""The answer of a command that has none."""


@dataclass(frozen=True)
class Doing:
    """Who does a command, and what it says."""

    world: World
    id: str
    n: int
    step: Step

    def ref(self, field: str) -> Any:
        """Give the process that the step names in *field*."""
        return self.world.people.latest(self.step[field])

    def destination(self) -> Any:
        """Give where the step sends to: a name or a process."""
        return self.step["name"] if "name" in self.step else self.ref("to")

    def log(self, ev: str, **fields: Json) -> None:
        """Write down what this process did."""
        self.world.journal.log(ev, id=self.id, n=self.n, **fields)


Deed = Callable[[Doing], Awaitable[Any]]


@dataclass(eq=False)
class Command:
    """Tells a process to do *step*, by *deed*."""

    step: Step
    deed: Deed
    begun: bool = False
    """Whether the process has come to it."""
    _answer: Future[Any] = field(default_factory=Future)

    async def perform(self, world: World, id: str, n: int) -> None:
        """Do it, as the process that runs this."""
        self.begun = True
        self.answer(await self.deed(Doing(world, id, n, self.step)))

    def answer(self, value: Any) -> None:
        """Give the runner its answer, if it still waits for one."""
        if not self._answer.done():
            self._answer.set(value)

    async def taken_up(self) -> None:
        """Let the process come to it, unless it has other things to do."""
        for _ in range(_TURNS):
            if self.begun:
                return
            await anyio.lowlevel.checkpoint()

    async def answered(self, ref: Ref) -> Any:
        """Wait for the answer of the process *ref*, or for its end."""
        when_down(ref).add_done_callback(lambda _: self.answer(NOTHING))
        return await self._answer


def give(ref: Ref, step: Step, deed: Deed) -> Command:
    """Tell the process *ref* to do *step*, and do not wait."""
    command = Command(step, deed)
    send(ref, command)
    return command
