"""Events as lines for a reader."""

from __future__ import annotations

import difflib
import json

from .scenario import Event, Json


def compact(value: Json) -> str:
    """Write *value* in one line."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def line(event: Event) -> str:
    """Write *event* in one line, without its time."""
    head = f"{event['ev']} {event['id']}#{event['n']}" if "n" in event else f"{event['ev']}"
    shown = ("ev", "id", "n", "t") if "n" in event else ("ev", "t")
    rest = " ".join(f"{key}={compact(event[key])}" for key in event if key not in shown)
    return f"{head} {rest}".rstrip()


def difference(expected: list[Event], got: list[Event]) -> list[str]:
    """Write two runs as one list: `-` expected only, `+` got only."""
    lines = difflib.ndiff([line(event) for event in expected], [line(event) for event in got])
    return [text for text in lines if not text.startswith("?")]
