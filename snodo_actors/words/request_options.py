"""The options of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from snodo_actors.words.checks import boolean, mapping, positive, seconds
from snodo_actors.words.meta_entries import meta_entries
from snodo_actors.words.trace import check_trace_context
from snodo_actors.words.types import INHERIT, Inherit, TraceContext

MAX_TOTAL_TIMEOUT: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What `request` and its relatives take; times are seconds, and None means no limit.

    `progress` is a function of one argument, or the ref of a process that is told.
    """

    input_responses: Mapping[str, Any] | None = None
    request_state: Any = None
    meta: Mapping[str, Any] | None = None
    trace_context: TraceContext | None = None
    progress: Any = None
    reset_timeout_on_progress: bool = False
    max_total_timeout: float | None = MAX_TOTAL_TIMEOUT
    timeout: float | Inherit | None = INHERIT
    extension: Any = None
    answer_input: bool = True
    max_input_rounds: int | Inherit = INHERIT
    bypass_cache: bool = False

    def __post_init__(self) -> None:
        boolean("bypass_cache", self.bypass_cache)
        boolean("answer_input", self.answer_input)
        boolean("reset_timeout_on_progress", self.reset_timeout_on_progress)
        if self.max_input_rounds is not INHERIT:
            positive("max_input_rounds", self.max_input_rounds)
        checked: dict[str, Any] = {
            "max_total_timeout": seconds("max_total_timeout", self.max_total_timeout)
        }
        if self.input_responses is not None:
            checked["input_responses"] = mapping("input_responses", self.input_responses)
        if self.timeout is not INHERIT:
            checked["timeout"] = seconds("timeout", self.timeout)
        if self.trace_context is not None:
            checked["trace_context"] = check_trace_context(self.trace_context)
        if self.meta is not None:
            checked["meta"] = meta_entries("meta", self.meta, checked.get("trace_context", ()))
        if self.progress is not None:
            _check_progress(self.progress)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked for but a timeout, so that a result that was kept will do."""
        return (
            self.input_responses is None
            and self.request_state is None
            and self.meta is None
            and self.trace_context is None
            and self.progress is None
            and not self.reset_timeout_on_progress
            and self.max_total_timeout == MAX_TOTAL_TIMEOUT
            and self.extension is None
            and self.answer_input
            and self.max_input_rounds is INHERIT
            and not self.bypass_cache
        )


def _check_progress(progress: Any) -> None:
    if not callable(progress) and not callable(getattr(progress, "tell", None)):
        raise TypeError(
            f"progress must be a function or the ref of a process, not {progress!r}: "
            "write progress=print, or progress=self_()"
        )


# What most requests have: made and checked once.
NO_OPTIONS: Final = RequestOptions()
