"""The process that runs a scenario: it is the parent of the root, and does the steps in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from supervisors import cast, exit, is_alive, mailbox, spawn, when_down

from . import supervision
from .command import NOTHING, Doing, Step, give
from .deeds import DEEDS, NOT_WAITED_FOR, SAYS
from .puppet import spawn_puppet
from .scenario import Json, ScenarioError
from .seen import Seen
from .servers import SERVER_OPS
from .terms import to_reason
from .worker import End
from .world import World

Ask = Callable[[World, Step], Awaitable[Json]]

_WITHOUT_RESULT: Final = frozenset({"suspend", "resume"})
_ACTORS: Final = ("from", "a", "parent", "id")
"""The fields that name who does a command."""
_NOT_WAITING: Final = NOT_WAITED_FOR | {"crash", "signal", "parent_exit", "cast", "sleep_cast"}


async def run(world: World, seen: Seen) -> None:
    """Run the scenario of *world* in the calling process, and note in *seen* what is left."""
    scenario = world.scenario
    seen.events = world.journal.events
    if scenario.tree is not None:
        value = await supervision.start_result(world, scenario.tree)
        world.journal.log("result", op="start_root", value=value)
    for number, step in enumerate(scenario.steps):
        seen.step = f"step {number}: {step}"
        await _do(world, step)
    if scenario.steps and scenario.steps[-1]["op"] in _NOT_WAITING:
        await world.journal.settle()
    seen.step = "final"
    world.journal.close()
    seen.parent_mailbox = [world.message(message) for message in mailbox()]
    if scenario.tree is not None:
        seen.final = await _final(world, scenario.tree)
    for ref in world.people.everyone():
        exit(ref, "kill")  # parents first, so that nobody is restarted
    seen.over = True


async def _do(world: World, step: Step) -> None:
    op = step["op"]
    if op in _STEPS:
        await _STEPS[op](world, step)
    elif op.endswith("_async"):
        _do_aside(world, {**step, "op": op.removesuffix("_async")})
    elif op in SERVER_OPS:
        await _ask(world, step, SERVER_OPS[op])
    elif supervision.is_known(op):
        await _ask(world, step, supervision.ask)
    elif op in DEEDS:
        await _command(world, step)
    else:
        raise ScenarioError(f"unknown op {op!r}")


async def _ask(world: World, step: Step, ask: Ask) -> None:
    value = await ask(world, step)
    if step["op"] not in _WITHOUT_RESULT or _is_recorded(world, step["op"]):
        _result(world, step, value)


def _do_aside(world: World, step: Step) -> None:
    """Do *step* in a process of its own."""
    spawn(lambda: _do(world, step))


async def _command(world: World, step: Step) -> None:
    """Let a process do *step*: the one that the step names, or the runner."""
    op = step["op"]
    actor = next((step[key] for key in _ACTORS if key in step), None)
    if actor is None:
        await DEEDS[op](Doing(world, "<runner>", 0, step))
        return
    ref = world.people.latest(actor)
    command = give(ref, step, DEEDS[op])
    if op in NOT_WAITED_FOR:
        await command.taken_up()
        return
    answer = await command.answered(ref)
    is_error = isinstance(answer, dict) and "error" in answer
    if answer is not NOTHING and (op in SAYS or is_error or _is_recorded(world, op)):
        _result(world, step, answer)


def _is_recorded(world: World, op: str) -> bool:
    """Whether the recording says that this op worked; the format leaves it open."""
    scenario = world.scenario
    return any(
        event["ev"] == "result"
        and event["op"] == op
        and not (isinstance(event["value"], dict) and "error" in event["value"])
        for run in (scenario.expected, *scenario.variants)
        for event in run
    )


def _result(world: World, step: Step, value: Json) -> None:
    named = {key: step[key] for key in ("id", "sup") if key in step}
    world.journal.log("result", op=step["op"], **named, value=value)


async def _settle(world: World, step: Step) -> None:
    await world.journal.settle()


async def _sleep(world: World, step: Step) -> None:
    await anyio.sleep(step["ms"] / 1000)


async def _await_down(world: World, step: Step) -> None:
    await when_down(world.people.latest(step["id"]))


async def _crash(world: World, step: Step) -> None:
    ref = world.people.latest(step["id"])
    if world.people.is_puppet(ref):
        give(ref, step, DEEDS["exit_self"])
    else:
        cast(ref, End(step.get("how", "stop"), step.get("reason", "normal")))


async def _sleep_cast(world: World, step: Step) -> None:
    cast(world.people.latest(step["to"]), {"sleep": step["ms"]})


async def _signal(world: World, step: Step) -> None:
    """Let a stranger send an exit signal."""
    ref, reason = world.people.latest(step["id"]), to_reason(step["reason"])
    await when_down(spawn(lambda: exit(ref, reason)))


async def _parent_exit(world: World, step: Step) -> None:
    exit(world.people.latest(step["id"]), to_reason(step["reason"]))


async def _spawn(world: World, step: Step) -> None:
    spawn_puppet(world, step)


async def _final(world: World, node: dict[str, Any]) -> Json:
    """Look at the supervisor *node* and at those below it."""
    id = node["id"]
    ref = world.people.find(id)
    if ref is None or not is_alive(ref):
        return {"id": id, "alive": False}
    below = [child for child in node.get("children") or [] if child.get("type") == "supervisor"]
    return {
        "id": id,
        "alive": True,
        "pid": world.people.name_of(ref),
        "children_which_order": await supervision.which_children(world, ref),
        "count": await supervision.count_children(ref),
        "sub": [await _final(world, child) for child in below],
    }


_STEPS: Final[dict[str, Callable[[World, Step], Awaitable[None]]]] = {
    "settle": _settle,
    "sleep": _sleep,
    "await_down": _await_down,
    "crash": _crash,
    "sleep_cast": _sleep_cast,
    "signal": _signal,
    "parent_exit": _parent_exit,
    "spawn": _spawn,
}
