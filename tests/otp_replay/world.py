"""All that one run shares: its journal, its people, its node, and what was given a tag."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from supervisors import TIMEOUT, Alias, Down, Exit, Monitor, Node, Ref, TimerFired, when_down

from .journal import Journal
from .people import People
from .scenario import Json, Scenario
from .terms import from_reason, from_term


@dataclass
class World:
    """One run of one scenario."""

    scenario: Scenario
    node: Node
    journal: Journal = field(default_factory=Journal)
    people: People = field(default_factory=People)
    tagged: dict[str, Any] = field(default_factory=dict)
    """Monitors and aliases by tag."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Supervisors by id: static, simple or dynamic."""
    tags: dict[Monitor | Alias, str] = field(default_factory=dict)
    timers: dict[str, Any] = field(default_factory=dict)

    def enter(self, id: str, n: int, ref: Ref, *, watched: bool = True) -> None:
        """Let the process *ref* be known as *id*, and write down its end if it is *watched*."""
        self.people.enter(id, n, ref)
        if watched:
            when_down(ref).add_done_callback(
                lambda ended: self.journal.log(
                    "down", id=id, n=n, reason=self.reason(ended.get(timeout=0))
                )
            )

    def tag(self, tag: str, what: Monitor | Alias) -> None:
        """Let the monitor or alias *what* be known as *tag*."""
        self.tagged[tag] = what
        self.tags[what] = tag

    def reason(self, reason: Any) -> Json:
        """Write an exit reason as the scenarios do."""
        return from_reason(reason, self.people.name_of)

    def term(self, term: Any) -> Json:
        """Write a term as the scenarios do."""
        return from_term(term, self.people.name_of)

    def message(self, message: Any) -> Json:
        """Write a message as the scenarios do."""
        match message:
            case Exit(process=process, reason=reason):
                return {"EXIT": [self.people.name_of(process), self.reason(reason)]}
            case Down(monitor=monitor, process=process, reason=reason):
                who = process if isinstance(process, str) else self.people.name_of(process)
                return {"DOWN": [self.tags.get(monitor), who, self.reason(reason)]}
            case TimerFired(timer=timer, message=inner):
                return {"timeout": [self._tag_of_timer(timer), self.message(inner)]}
            case (Monitor() | Alias() as ref, inner):
                return {"ref_reply": [self.tags.get(ref), self.message(inner)]}
            case _ if message is TIMEOUT:
                return "timeout"
            case _:
                return self.term(message)

    def _tag_of_timer(self, timer: Any) -> str | None:
        return next((tag for tag, known in self.timers.items() if known is timer), None)
