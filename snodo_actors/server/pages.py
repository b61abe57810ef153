"""Which part of a list is one page, and where the next begins.

A cursor names the last item of the page before, so that what is added or taken away elsewhere moves
nothing.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, TypeVar

from snodo_actors.server.errors import invalid_params

T = TypeVar("T")


def page(items: Mapping[str, T], cursor: Any, size: int | None) -> tuple[list[T], str | None]:
    """Cut the page at *cursor* out of *items*: at most *size* of them, and the next cursor.

    Raises:
        JSONRPCError: The cursor is none of ours, or its item is gone.
    """
    keys = list(items)
    start = 0 if cursor is None else _after(keys, cursor)
    end = len(keys) if size is None else start + size
    following = _cursor(keys[end - 1]) if end < len(keys) else None
    return [items[key] for key in keys[start:end]], following


def _cursor(key: str) -> str:
    return urlsafe_b64encode(key.encode()).decode("ascii")


def _after(keys: list[str], cursor: Any) -> int:
    try:
        key = urlsafe_b64decode(cursor.encode("ascii")).decode()
        return keys.index(key) + 1
    except (AttributeError, UnicodeError, binascii.Error, ValueError):
        raise invalid_params("Invalid cursor") from None
