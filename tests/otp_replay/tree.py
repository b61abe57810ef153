"""Supervision trees out of the nodes of a scenario: child specs, and what starts each child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from supervisors import BRUTAL_KILL, DynamicSupervisor, Ok, Ref, StartFailed, Supervisor, exit_self

from .beginning import begin
from .behaviour import Behaviour, attempt_entry, outcome
from .puppet import start_raw
from .scenario import Json
from .terms import Raised, Recorded, StartRubbish, to_reason, to_term
from .worker import Worker
from .world import World

Node = dict[str, Any]

DEFAULT_INTENSITY: Final = {"static": 1, "simple": 1, "dynamic": 3}
DEFAULT_PERIOD: Final = 5


class Starter(Recorded):
    """Starts the process of one node; what a child spec has for `start`.

    The arguments say who is started: those of a dynamic supervisor come before the node's own id,
    those of a *template* are the id.
    """

    def __init__(self, world: World, node: Node, *, template: bool = False) -> None:
        self.world = world
        self.node = node
        self.template = template

    async def __call__(self, *args: str) -> Any:
        ids = args if self.template else (*args, self.node["id"])
        id = "-".join(str(part) for part in ids)
        if self.node.get("type") == "supervisor":
            return await _start_supervisor(self.world, self.node, id)
        return await _start_worker(self.world, self.node, id)

    def recorded(self) -> Json:
        """Give the start function of the recordings, and what it was called with."""
        return {"tuple": ["ow", "start_link", [self.node]]}


def kind_of(node: Node) -> str:
    """Tell what sort of supervisor *node* is: static, simple or dynamic."""
    if node.get("impl") == "dynamic_supervisor":
        return "dynamic"
    return "simple" if node.get("strategy") == "simple_one_for_one" else "static"


def spec_of(world: World, node: Node, *, template: bool = False) -> dict[str, Any]:
    """Build the child spec of *node*; a field that it leaves out is left out."""
    spec: dict[str, Any] = {}
    if "id" in node:
        spec["id"] = node["id"]
    if node.get("start", True):
        spec["start"] = Starter(world, node, template=template)
    if "shutdown" in node:
        spec["shutdown"] = _seconds(node["shutdown"])
    spec.update({key: node[key] for key in ("restart", "significant", "type") if key in node})
    return spec


async def _start_worker(world: World, node: Node, id: str) -> Any:
    behaviour = Behaviour.of(node.get("behaviour"))
    n = world.people.attempt(id)
    entry = behaviour.entry(n)
    world.journal.log("start", id=id, n=n, outcome=outcome(entry))
    match entry:
        case {"start_error": reason}:
            raise StartFailed(to_reason(reason))
        case {"start_raise": reason}:
            raise Raised(reason)
        case {"start_exit": reason}:
            exit_self(to_reason(reason))
        case {"start_bad": value}:
            return StartRubbish(to_term(value))
    ref: Ref
    if behaviour.kind == "raw":
        ref = await start_raw(world, id, n, behaviour)
    else:
        ref = await Worker.start_link(
            world,
            id,
            n,
            behaviour,
            name=behaviour.name,
            start_timeout=behaviour.init_timeout,
        )
    return ref if behaviour.extra is None else (ref, behaviour.extra)


class _Static(Supervisor):
    async def init(self, world: World, node: Node, id: str, n: int) -> Any:
        entry = await _began(self, world, node, id, n)
        if not isinstance(entry, Ok):
            return entry
        return self.tree(
            [spec_of(world, child) for child in node.get("children") or []],
            strategy=node.get("strategy", "one_for_one"),
            auto_shutdown=node.get("auto_shutdown", "never"),
            **_limits(node, "static"),
        )


class _Dynamic(DynamicSupervisor):
    async def init(self, world: World, node: Node, id: str, n: int) -> Any:
        entry = await _began(self, world, node, id, n)
        if not isinstance(entry, Ok):
            return entry
        flags: dict[str, Any] = _limits(node, kind_of(node))
        if kind_of(node) == "simple":
            templates = [spec_of(world, child, template=True) for child in node["children"]]
            flags["template"] = templates[0] if len(templates) == 1 else templates
            flags["auto_shutdown"] = node.get("auto_shutdown", "never")
        return self.tree(
            max_children=node.get("max_children"),
            extra_arguments=tuple(node.get("extra_arguments") or ()),
            **flags,
        )


async def _start_supervisor(world: World, node: Node, id: str) -> Any:
    n = world.people.attempt(id)
    kind = kind_of(node)
    world.kinds[id] = kind
    entry = attempt_entry(tuple(node.get("init") or ("ok",)), n)
    world.journal.log("start", id=id, n=n, outcome=outcome(entry))
    start: Callable[..., Any] = (_Static if kind == "static" else _Dynamic).start_link
    return await start(world, node, id, n, name=node.get("name"))


async def _began(supervisor: Any, world: World, node: Node, id: str, n: int) -> Any:
    entry = attempt_entry(tuple(node.get("init") or ("ok",)), n)
    world.enter(id, n, supervisor.ref, watched=outcome(entry) != "ignore")
    return await begin(entry)


def _limits(node: Node, kind: str) -> dict[str, Any]:
    return {
        "max_restarts": node.get("intensity", DEFAULT_INTENSITY[kind]),
        "max_seconds": node.get("period", DEFAULT_PERIOD),
    }


def _seconds(shutdown: Json) -> Any:
    match shutdown:
        case "infinity":
            return None
        case "brutal_kill":
            return BRUTAL_KILL
        case bool() | str():
            return shutdown  # wrong on purpose
        case _:
            return shutdown / 1000
