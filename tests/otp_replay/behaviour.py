"""How a recorded worker behaves.

Knows the `behaviour` object of a scenario and its defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .scenario import Json


@dataclass(frozen=True)
class Behaviour:
    """What a worker does when it starts, is signalled and ends."""

    kind: str = "gen_server"
    trap_exit: bool = True
    init: tuple[Json, ...] = ("ok",)
    terminate: Json = "ok"
    init_timeout: float | None = None
    name: str | None = None
    extra: Json = None
    on_exit_signal: Json = "ignore"
    unlink_parent: bool = False

    @classmethod
    def of(cls, said: dict[str, Any] | None) -> Behaviour:
        """Read the `behaviour` of a worker."""
        said = said or {}
        kind = said.get("kind", "gen_server")
        timeout = said.get("init_timeout")
        return cls(
            kind=kind,
            trap_exit=said.get("trap_exit", kind == "gen_server"),
            init=tuple(said.get("init") or ("ok",)),
            terminate=said.get("terminate", "ok"),
            init_timeout=None if timeout is None else timeout / 1000,
            name=said.get("name"),
            extra=said.get("extra"),
            on_exit_signal=said.get("on_exit_signal", "ignore"),
            unlink_parent=said.get("unlink_parent", False),
        )

    def entry(self, n: int) -> Json:
        """Give what the *n*-th start attempt comes to; the last entry repeats."""
        return attempt_entry(self.init, n)


def attempt_entry(init: tuple[Json, ...], n: int) -> Json:
    """Give the entry of *init* for the *n*-th start attempt."""
    return init[min(n, len(init)) - 1]


def outcome(entry: Json) -> Json:
    """Give what an init *entry* ends in, without the sleep before it."""
    while isinstance(entry, dict) and "sleep" in entry:
        entry = entry.get("then", "ok")
    return entry


def comes_up(entry: Json) -> bool:
    """Tell whether a process with this init *entry* is there afterwards."""
    match outcome(entry):
        case "ok" | "hibernate" | {"timeout": _} | {"continue": _}:
            return True
        case _:
            return False
