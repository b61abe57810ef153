"""What is asked of supervisors, with the answers as the scenarios write them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from supervisors import (
    BRUTAL_KILL,
    AlreadyPresent,
    AlreadyStarted,
    CallExit,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    MaxChildren,
    Ref,
    SpecError,
    StartError,
    StartFailed,
    StartIgnored,
    Supervisor,
    SupervisorsError,
)

from .command import Step
from .scenario import Json
from .tree import Node, Starter, spec_of
from .world import World

_ERRORS: Final[dict[type[SupervisorsError], str]] = {
    AlreadyPresent: "already_present",
    MaxChildren: "max_children",
    ChildNotFound: "not_found",
    ChildRunning: "running",
    ChildRestarting: "restarting",
}


async def start_result(world: World, node: Node) -> Json:
    """Start *node* with the calling process as its parent; give what start_link returns."""
    try:
        return _started(world, await Starter(world, node)())
    except StartIgnored:
        return "ignore"
    except StartError as error:
        return _error(world, error)


async def ask(world: World, step: Step) -> Json:
    """Ask what *step* says, and give the result."""
    try:
        return await _ASKS[step["op"]](world, step)
    except StartIgnored:
        return "ignore"
    except CallExit as error:
        return {"exit": {"call_exit": world.reason(error.reason)}}
    except SupervisorsError as error:
        return _error(world, error, spec_kept=world.kinds.get(step.get("sup", "")) == "static")


def is_known(op: str) -> bool:
    """Tell whether *op* is asked of a supervisor."""
    return op in _ASKS


def _error(world: World, error: SupervisorsError, *, spec_kept: bool = False) -> Json:
    match error:
        case AlreadyStarted(ref=ref):
            return {"error": {"already_started": world.people.name_of(ref)}}
        case StartFailed(reason=reason) if spec_kept and error.child is not None:
            return {"error": {"start_failed": world.reason(reason)}}
        case StartFailed(reason=reason):
            return {"error": world.reason(reason)}
        case SpecError():
            return {"error": world.term(error.term)}
        case _:
            return {"error": _ERRORS.get(type(error)) or repr(error)}


def _started(world: World, started: Any) -> Json:
    match started:
        case None:
            return {"ok": "undefined"}
        case (ref, info):
            return {"ok": world.people.name_of(ref), "info": world.term(info)}
        case _:
            return {"ok": world.people.name_of(started)}


def _supervisor(world: World, step: Step) -> Any:
    return world.people.latest(step["sup"])


def _child(world: World, step: Step) -> Any:
    by_pid = step.get("by") == "pid" or world.kinds.get(step["sup"]) == "dynamic"
    return world.people.latest(step["id"]) if by_pid else step["id"]


async def _start_child(world: World, step: Step) -> Json:
    supervisor = _supervisor(world, step)
    if world.kinds.get(step["sup"]) == "simple":
        started = await supervisor.start_child(*step["args"])
    else:
        started = await supervisor.start_child(spec_of(world, step["child"]))
    return _started(world, started)


async def _terminate_child(world: World, step: Step) -> Json:
    await _supervisor(world, step).terminate_child(_child(world, step))
    return "ok"


async def _restart_child(world: World, step: Step) -> Json:
    if _has_no(world, step, "restart_child"):
        return {"error": "simple_one_for_one"}
    return _started(world, await _supervisor(world, step).restart_child(_child(world, step)))


async def _delete_child(world: World, step: Step) -> Json:
    if _has_no(world, step, "delete_child"):
        return {"error": "simple_one_for_one"}
    await _supervisor(world, step).delete_child(_child(world, step))
    return "ok"


async def _get_childspec(world: World, step: Step) -> Json:
    supervisor = _supervisor(world, step)
    if not hasattr(supervisor, "get_childspec"):
        return {"error": f"{type(supervisor).__name__} has no get_childspec()"}
    spec = await supervisor.get_childspec(_child(world, step))
    return {
        "ok": {
            "id": spec.id,
            "restart": spec.restart,
            "shutdown": _milliseconds(spec.shutdown),
            "significant": spec.significant,
            "type": spec.type,
        }
    }


async def _which_children(world: World, step: Step) -> Json:
    return await which_children(world, _supervisor(world, step))


async def _count_children(world: World, step: Step) -> Json:
    return await count_children(_supervisor(world, step))


async def which_children(world: World, supervisor: Any) -> Json:
    """List the children of *supervisor* as [id, pid, type]."""
    return [
        [_or_undefined(child.id), _process(world, child.ref), child.type]
        for child in await supervisor.which_children()
    ]


async def count_children(supervisor: Any) -> Json:
    """Count the children of *supervisor*."""
    count = await supervisor.count_children()
    return {
        "active": count.active,
        "specs": count.specs,
        "supervisors": count.supervisors,
        "workers": count.workers,
    }


async def _check_childspecs(world: World, step: Step) -> Json:
    nodes = next(value for value in step.values() if isinstance(value, list))
    specs = [spec_of(world, node) if isinstance(node, dict) else node for node in nodes]
    flags = [step["auto_shutdown"]] if "auto_shutdown" in step else []
    Supervisor.check_childspecs(specs, *flags)
    return "ok"


def _has_no(world: World, step: Step, method: str) -> bool:
    """Whether *method* does not even exist: what OTP answers with an error."""
    supervisor = _supervisor(world, step)
    return world.kinds.get(step["sup"]) == "simple" and not hasattr(supervisor, method)


def _process(world: World, ref: Any) -> str:
    return world.people.name_of(ref) if isinstance(ref, Ref) else _or_undefined(ref)


def _or_undefined(value: Any) -> Any:
    return "undefined" if value is None else value


def _milliseconds(shutdown: Any) -> Json:
    if shutdown is None:
        return "infinity"
    return shutdown if shutdown == BRUTAL_KILL else round(shutdown * 1000)


_ASKS: Final[dict[str, Callable[[World, Step], Awaitable[Json]]]] = {
    "start_child": _start_child,
    "terminate_child": _terminate_child,
    "restart_child": _restart_child,
    "delete_child": _delete_child,
    "get_childspec": _get_childspec,
    "which_children": _which_children,
    "count_children": _count_children,
    "check_childspecs": _check_childspecs,
}
