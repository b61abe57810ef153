"""What is seen of one run, to be compared with the recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .scenario import Event, Json


@dataclass(frozen=True)
class Written:
    """One report, and the process that wrote it."""

    by: Any
    said: Json


@dataclass
class Seen:
    """What was seen of one run."""

    events: list[Event] = field(default_factory=list)
    reports: list[Written] = field(default_factory=list)
    final: Json = None
    parent_mailbox: list[Json] = field(default_factory=list)
    step: str = "start_root"
    """What the runner does, or did last."""
    over: bool = False
    """Whether the scenario was run to its end."""
    trouble: list[str] = field(default_factory=list)
    """Why it was not."""
