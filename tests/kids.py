"""Children for supervisors under test: they write down what happens to them.

A `Nursery` has the log and says how each start of a child goes; `nursery.kid("a")` is a child spec.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio

from supervisors import ChildSpec, GenServer, Ignore, Ref, Stop, when_down


class Kid(GenServer):
    """A server that logs its start and its end, and ends the way it is told to."""

    trap_exit = True

    async def init(self, nursery: Nursery, name: str, *args: Any) -> Any:
        self.nursery = nursery
        self.name = name
        step = nursery.attempt(name)
        nursery.log.append(f"+{name}")
        if isinstance(step, Exception):
            raise step
        if isinstance(step, anyio.Event):
            await step.wait()
        elif step != "ok":
            nursery.log.append(f"?{name}")
            return step
        nursery.refs[name] = self.ref
        nursery.args[name] = args
        return None

    async def terminate(self, reason: Any) -> Any:
        gate = self.nursery.gates.get(self.name)
        if gate is not None:
            self.nursery.log.append(f"~{self.name}")
            await gate.wait()
        self.nursery.log.append(f"-{self.name} {reason}")

    def handle_cast(self, request: Any) -> Any:
        if isinstance(request, Exception):
            raise request
        return Stop(request)

    def handle_call(self, request: Any, caller: Any) -> Any:
        return (self.name, request)


class Nursery:
    """What the children of one test share."""

    def __init__(self, **plans: list[Any]) -> None:
        self.log: list[str] = []
        self.refs: dict[str, Ref] = {}
        self.args: dict[str, tuple[Any, ...]] = {}
        self.gates: dict[str, anyio.Event] = {}
        self._plans = plans
        self._attempts: Counter[str] = Counter()

    def attempt(self, name: str) -> Any:
        """How this start of a child goes: the plan's next entry; the last one repeats."""
        plan = self._plans.get(name, ["ok"])
        self._attempts[name] += 1
        return plan[min(self._attempts[name], len(plan)) - 1]

    def kid(self, name: str, **fields: Any) -> ChildSpec:
        """The spec of one child."""
        return ChildSpec(name, self.start, args=(name,), **fields)

    def kids(self, names: str, **fields: Any) -> list[ChildSpec]:
        """The specs of several."""
        return [self.kid(name, **fields) for name in names]

    def start(self, *args: Any) -> Any:
        """Start a child: what their specs have for `start`."""
        *before, name = args
        return Kid.start_link(self, name, *before)

    async def end(self, name: str, reason: Any = "boom") -> Any:
        """Let a child end by itself; returns when it has."""
        ref = self.refs[name]
        down = when_down(ref)
        ref.cast(reason)
        return await down

    def take(self) -> list[str]:
        """The log since the last look."""
        log, self.log[:] = list(self.log), []
        return log


IGNORE = Ignore()
NOPE = Stop("nope")


async def names_of(supervisor: Any) -> dict[Any, Any]:
    """Which children run, by id."""
    return {child.id: child.ref for child in await supervisor.which_children()}


async def until(supervisor: Any, condition: Any) -> None:
    """Ask a supervisor for its children until *condition* holds of them."""
    with anyio.fail_after(5):
        while not condition(await names_of(supervisor)):
            await anyio.lowlevel.checkpoint()


__all__ = ["IGNORE", "NOPE", "Kid", "Nursery", "names_of", "until"]
