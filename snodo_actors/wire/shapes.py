"""What a JSON value is made of: the checks that shapes of messages are put together from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeAlias

from snodo_actors.words.types import is_list, is_object

Check: TypeAlias = Callable[[Any], bool]

MAX_DEPTH = 200


def is_json(value: Any, depth: int = 0) -> bool:
    """Tell whether *value* is plain JSON: dicts with string keys, lists, scalars, not too deep."""
    if is_object(value):
        keys: list[Any] = list(value)
        inner = list(value.values())
        if not all(isinstance(key, str) for key in keys):
            return False
    elif is_list(value):
        inner = value
    else:
        return isinstance(value, str | int | None) or (isinstance(value, float) and isfinite(value))
    return depth < MAX_DEPTH and all(is_json(item, depth + 1) for item in inner)


def is_text(value: Any) -> bool:
    """Tell whether *value* is a string."""
    return isinstance(value, str)


def is_boolean(value: Any) -> bool:
    """Tell whether *value* is true or false."""
    return isinstance(value, bool)


def is_anything(_value: Any) -> bool:
    """Accept every value."""
    return True


def fits(value: Any, needed: Mapping[str, Check], optional: Mapping[str, Check]) -> bool:
    """Tell whether *value* is an object that has what is needed, and what it has is right.

    Fields that neither names are not looked at.
    """
    if not is_object(value):
        return False
    return all(name in value and check(value[name]) for name, check in needed.items()) and all(
        check(value[name]) for name, check in optional.items() if name in value
    )


def fits_exactly(value: Any, needed: Mapping[str, Check], optional: Mapping[str, Check]) -> bool:
    """Tell whether *value* fits, and has no other fields."""
    return fits(value, needed, optional) and all(
        name in needed or name in optional for name in value
    )
