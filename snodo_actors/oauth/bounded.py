"""Tables that keep the newest of what they are given, for a provider may serve many servers."""

from __future__ import annotations

import contextlib
from typing import TypeVar

T = TypeVar("T")

MAX_KEPT = 10_000


def put(table: dict[str, T], name: str, value: T) -> None:
    """Keep *value* as the newest of a bounded number."""
    table.pop(name, None)
    table[name] = value
    _trim(table)


def put_if_absent(table: dict[str, T], name: str, value: T) -> T:
    """Keep *value* unless there is one; return what is kept."""
    kept = table.setdefault(name, value)
    _trim(table)
    return kept


def _trim(table: dict[str, T]) -> None:
    if len(table) > MAX_KEPT:
        with contextlib.suppress(RuntimeError):  # another thread puts too: it trims the next time
            table.pop(next(iter(table)), None)
