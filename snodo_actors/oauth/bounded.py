"""Tables that keep the newest of what they are given, for a provider may serve many servers."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

MAX_KEPT = 10_000


def put(table: dict[str, T], name: str, value: T) -> None:
    """Keep *value* as the newest of a bounded number."""
    table.pop(name, None)
    table[name] = value
    if len(table) > MAX_KEPT:
        table.pop(next(iter(table)), None)
