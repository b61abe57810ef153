"""What a recorded scenario says.

Knows the JSON of a scenario file; knows nothing of processes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

Json = Any
Event = dict[str, Any]

ORDERS: Final = ("total", "partial", "variable")


class ScenarioError(ValueError):
    """Raised when a file is not a scenario."""


@dataclass(frozen=True)
class Scenario:
    """One recorded run, and the rules by which another run is compared with it."""

    name: str
    doc: str
    steps: list[dict[str, Any]]
    order: str
    expected: list[Event]
    tree: dict[str, Any] | None = None
    before: list[tuple[int, int]] = field(default_factory=list)
    variants: list[list[Event]] = field(default_factory=list)
    final: Json = None
    reports: list[dict[str, Any]] = field(default_factory=list)
    parent_mailbox: list[Json] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)


def parse(said: dict[str, Any]) -> Scenario:
    """Read a scenario out of its JSON object.

    Raises:
        ScenarioError: Something that every scenario has is missing or unknown.
    """
    try:
        scenario = Scenario(
            name=said["name"],
            doc=said.get("doc", ""),
            steps=said["steps"],
            order=said["order"],
            expected=said["expected"],
            tree=said.get("tree"),
            before=[(first, then) for first, then in said.get("before") or []],
            variants=said.get("variants") or [],
            final=said.get("final"),
            reports=said.get("reports") or [],
            parent_mailbox=said.get("parent_mailbox") or [],
            checks=said.get("checks") or [],
        )
    except (KeyError, TypeError) as error:
        raise ScenarioError(f"not a scenario: {error!r}") from error
    if scenario.order not in ORDERS:
        raise ScenarioError(f"unknown order {scenario.order!r}; known are {', '.join(ORDERS)}")
    return scenario


def load(path: Path) -> Scenario:
    """Read the scenario file *path*.

    Raises:
        ScenarioError: It is no JSON or no scenario.
    """
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from error
    if not isinstance(said, dict):
        raise ScenarioError(f"{path}: a scenario is a JSON object")
    try:
        return parse(said)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


def files(folder: Path) -> list[Path]:
    """List the scenario files of *folder*, by name."""
    return sorted(folder.glob("*.json"))
