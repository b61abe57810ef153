"""What an input handler returned: a valid response of its kind, or why it is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from snodo_actors.wire import elicitation, roots, sampling
from snodo_actors.words.types import InputKind, JSONObject, is_object

_IS_VALID: Final[dict[InputKind, Callable[[Any], bool]]] = {
    "form": elicitation.is_valid_response,
    "url": elicitation.is_valid_response,
    "sampling": sampling.is_valid_response,
    "roots": roots.is_valid_response,
}


@dataclass(frozen=True, slots=True)
class HandlerFailure:
    """The handler gave no valid response, for *reason*."""

    reason: Any


def read_handler_return(kind: InputKind, value: Any) -> JSONObject | HandlerFailure:
    """Read what a handler returned: the response, `("ok", response)` or `("error", reason)`."""
    said, content = value if _is_pair(value) else ("ok" if is_object(value) else None, value)
    if said == "error":
        return HandlerFailure(content)
    if said != "ok":
        return HandlerFailure(("invalid_return", value))
    valid = _IS_VALID[kind](content)
    return content if valid else HandlerFailure(("invalid_response", content))


def _is_pair(value: Any) -> TypeGuard[tuple[Any, Any]]:
    items: Any = value
    return isinstance(value, tuple) and len(items) == 2
