"""What is asked of any server, with the answers as the scenarios write them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from supervisors import CallExit, get_state, is_alive, resume, stop, suspend

from .command import Step
from .scenario import Json
from .terms import to_reason
from .world import World

GET_STATE_MS: Final = 300
"""How long the recordings waited for a state."""


async def _gen_stop(world: World, step: Step) -> Json:
    timeout = step.get("timeout", "infinity")
    seconds = None if timeout == "infinity" else timeout / 1000
    reason = to_reason(step.get("reason", "normal"))
    try:
        await stop(world.people.latest(step["id"]), reason, timeout=seconds)
    except CallExit as error:
        return {"exit": world.reason(error.reason)}
    return "ok"


async def _alive(world: World, step: Step) -> Json:
    return is_alive(world.people.latest(step["id"]))


async def _get_state(world: World, step: Step) -> Json:
    ref = world.people.latest(step["id"])
    timeout = step.get("timeout", GET_STATE_MS)
    try:
        state = await get_state(ref, timeout=timeout / 1000)
    except CallExit as error:
        call = {"tuple": ["sys", "get_state", [world.people.name_of(ref), timeout]]}
        return {"exit": {"tuple": [world.reason(error.reason), call]}}
    return world.term(state)


async def _suspend(world: World, step: Step) -> Json:
    await suspend(world.people.latest(step["id"]))
    return "ok"


async def _resume(world: World, step: Step) -> Json:
    await resume(world.people.latest(step["id"]))
    return "ok"


SERVER_OPS: Final[dict[str, Callable[[World, Step], Awaitable[Json]]]] = {
    "gen_stop": _gen_stop,
    "alive": _alive,
    "get_state": _get_state,
    "suspend": _suspend,
    "resume": _resume,
}
