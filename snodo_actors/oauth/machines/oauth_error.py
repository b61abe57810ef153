"""What an authorization server says when it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from snodo_actors.words.types import is_object

MAX_SHOWN = 300
HIDDEN = "(it has in it what was sent, so it is not shown)"
_HIDDEN = re.compile("[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]+")


@dataclass(frozen=True, slots=True)
class OAuthError:
    """An error code and its description, fit to be shown."""

    error: str
    description: str | None = None

    def __str__(self) -> str:
        return self.error if self.description is None else f"{self.error}: {self.description}"


def read_words(params: Mapping[str, Any]) -> tuple[str, str | None]:
    """Take error and description out of what came, short and without control characters."""
    description = params.get("error_description")
    return (
        _shown(str(params.get("error"))) or "an empty error",
        (_shown(description) or None) if isinstance(description, str) else None,
    )


def without(body: Any, sent: Iterable[str]) -> Any:
    """Take out of an error's words what was *sent*: some servers say our secrets back to us."""
    if not is_object(body) or "error" not in body:
        return body
    fields = cast("Mapping[str, Any]", body)
    return {name: _hidden(value, sent) for name, value in fields.items()}


def _hidden(value: Any, sent: Iterable[str]) -> Any:
    return HIDDEN if isinstance(value, str) and any(one in value for one in sent) else value


def _shown(text: str) -> str:
    text = _HIDDEN.sub(" ", text[: 2 * MAX_SHOWN]).strip()
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
