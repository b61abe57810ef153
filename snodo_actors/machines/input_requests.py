"""What the server asks the user for: which kind it is, and whether it can be answered.

Knows the four kinds, the params each needs and who may answer them; knows nothing of handlers but
their names. The same questions come inside an `input_required` result and, from older servers, as
requests of their own.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from snodo_actors.words.types import InputKind, JSONObject, is_object

SAMPLING_TOOLS: Final = "sampling.tools"

_NEEDED: Final[dict[InputKind, tuple[str, ...]]] = {
    "form": ("message", "requestedSchema"),
    "url": ("message", "url"),
    "sampling": ("messages", "maxTokens"),
    "roots": (),
}
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Asked:
    """The handler for *kind* can answer this."""

    kind: InputKind
    params: JSONObject


@dataclass(frozen=True, slots=True)
class Malformed:
    """The params are not what the kind needs."""


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """Nobody can answer this: a *kind* without handler, a method that is no kind, or no method."""

    kind: str | None


Reading: TypeAlias = Asked | Malformed | Unanswerable


def answerable(handlers: Iterable[InputKind], capabilities: Mapping[str, Any]) -> frozenset[str]:
    """Say what can be answered: the kinds with *handlers*, and tools in sampling if declared."""
    sampling = capabilities.get("sampling")
    tools = is_object(sampling) and "tools" in sampling
    return frozenset([*handlers, *([SAMPLING_TOOLS] if tools else [])])


def read_input_request(request: JSONObject, can_answer: Container[str]) -> Reading:
    """Read a *request* with its `method` and `params`."""
    method, params = request.get("method"), request.get("params", _ABSENT)
    if not isinstance(method, str):
        return Unanswerable(None)
    kind = _kind(method, params)
    if kind is None:
        return Unanswerable(method)
    if kind == "roots" and params is _ABSENT:
        params = {}
    if not is_object(params) or any(key not in params for key in _NEEDED[kind]):
        return Malformed()
    if kind not in can_answer:
        return Unanswerable(kind)
    if kind == "sampling" and _uses_tools(params) and SAMPLING_TOOLS not in can_answer:
        return Unanswerable(SAMPLING_TOOLS)
    return Asked(kind, params)


def _kind(method: str, params: Any) -> InputKind | None:
    mode = params.get("mode", "form") if is_object(params) else "form"
    match method, mode:
        case "elicitation/create", "form":
            return "form"
        case "elicitation/create", "url":
            return "url"
        case "sampling/createMessage", _:
            return "sampling"
        case "roots/list", _:
            return "roots"
        case _:
            return None


def _uses_tools(params: JSONObject) -> bool:
    return "tools" in params or "toolChoice" in params
