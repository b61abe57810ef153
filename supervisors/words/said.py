"""How foreign values are shown in texts, whatever their own `repr` and `str` do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def brief(value: Any, limit: int = 80) -> str:
    """The `repr` of *value*, at most *limit* characters."""
    return _shown(value, repr, limit)


def said(value: Any) -> str:
    """The `str` of *value*."""
    return _shown(value, str, None)


def _shown(value: Any, show: Callable[[Any], str], limit: int | None) -> str:
    try:
        text = show(value)
    except Exception:  # noqa: BLE001  # a text about an error must not fail of the error's own
        text = f"<{type(value).__name__} that cannot be shown>"
    return text if limit is None or len(text) <= limit else text[: limit - 3] + "..."
