"""Whether arguments are what they should be; each refusal says what to write.

Looks at values only. What is fine comes back as it is.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, TypeVar

from supervisors.words.errors import SpecError
from supervisors.words.said import brief

V = TypeVar("V")


def seconds(what: str, value: V) -> V:
    """Accept a time: a number not below zero, or None for no limit."""
    if value is None:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise SpecError(
            f"{what} is in seconds, a number not below 0, or None for no limit, "
            f"not {brief(value)}: write {what}=5.0"
        )
    return value


def some_seconds(what: str, value: object) -> None:
    """Accept a time that has to be given: a number not below zero."""
    if seconds(what, value) is None:
        raise SpecError(f"{what} is a number of seconds, not None: write {what}=5.0")


def number(what: str, value: Any) -> None:
    """Accept a number of seconds that may lie in the past."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise SpecError(f"{what} is a number, not {brief(value)}: write {what}=5.0")


def function(what: str, value: V) -> V:
    """Accept what can be called."""
    if inspect.iscoroutine(value):
        name = value.__qualname__
        value.close()
        raise SpecError(
            f"{what} takes a function and its arguments, not a coroutine: "
            f"write {what}({name.rpartition('.')[2]}, ...), without calling it"
        )
    if not callable(value):
        raise SpecError(f"{what} takes a function, not {brief(value)}: write {what}(work)")
    return value


def name(value: Any) -> None:
    """Accept a name: text, or a place in a registry."""
    if not isinstance(value, str) and not hasattr(value, "whereis"):
        raise SpecError(
            f'a name is text or registry.via(key), not {brief(value)}: write name="counter"'
        )


def instance(what: str, value: Any, kinds: type | tuple[type, ...], example: str) -> None:
    """Accept an instance of one of *kinds*."""
    if not isinstance(value, kinds):
        raise SpecError(f"{what} is not {brief(value)}: write {example}")
