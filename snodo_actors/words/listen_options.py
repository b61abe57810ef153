"""The options of one subscription."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from snodo_actors.words.checks import one_of, positive, seconds
from snodo_actors.words.meta_entries import meta_entries
from snodo_actors.words.trace import check_trace_context
from snodo_actors.words.types import INHERIT, Inherit, Overflow, TraceContext

MAX_BUFFER: Final = 100
_OVERFLOWS: Final[tuple[Overflow, ...]] = ("drop_oldest", "drop_newest")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """What `listen` takes; `timeout` is for the acknowledgement, in seconds, None: no limit."""

    max_buffer: int = MAX_BUFFER
    overflow: Overflow = "drop_oldest"
    timeout: float | Inherit | None = INHERIT
    meta: Mapping[str, Any] | None = None
    trace_context: TraceContext | None = None

    def __post_init__(self) -> None:
        positive("max_buffer", self.max_buffer)
        one_of("overflow", self.overflow, _OVERFLOWS)
        checked: dict[str, Any] = {}
        if self.timeout is not INHERIT:
            checked["timeout"] = seconds("timeout", self.timeout)
        if self.trace_context is not None:
            checked["trace_context"] = check_trace_context(self.trace_context)
        if self.meta is not None:
            checked["meta"] = meta_entries("meta", self.meta, checked.get("trace_context", ()))
        for name, value in checked.items():
            object.__setattr__(self, name, value)
