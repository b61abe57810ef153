"""The rules options are checked by.

Each takes the name of the option for its text, and returns the value as the rest of the client
uses it. A value of a wrong type raises TypeError, a wrong value ValueError; the text says what to
write instead.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from snodo_actors.words.types import is_mapping

# Thirty years. Much more is past what the clocks of operating systems can wait for.
_FOREVER = 1e9


class MillisecondsWarning(UserWarning):
    """A time looks as if it was meant in milliseconds."""


def seconds(name: str, value: Any) -> float | None:
    """Accept a time in seconds; None, infinity and decades mean no limit, and come back as None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(
            f"{name} must be a number of seconds, or None for no limit, not {value!r}: "
            f"write {name}=30.0"
        )
    if not value > 0:
        raise ValueError(
            f"{name} must be more than 0 seconds, or None for no limit, not {value!r}: "
            f"write {name}=30.0"
        )
    if value >= _FOREVER:
        return None
    if isinstance(value, int) and value >= 1000:
        # The registry of warnings shows a text once for each line of code, and this is one line.
        warnings.warn(
            f"{name}={value} is {value} seconds; for {value} ms write {name}={value / 1000:g}, "
            f"else {name}={value}.0",
            MillisecondsWarning,
            stacklevel=1,
        )
    return float(value)


def positive(name: str, value: Any) -> int:
    """Accept a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {value!r}: write {name}=10")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value!r}: write {name}=10")
    return value


def boolean(name: str, value: Any) -> bool:
    """Accept true or false, and nothing that is only like them."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}: write {name}=True")
    return value


def mapping(name: str, value: Any) -> dict[str, Any]:
    """Accept a mapping with string keys; return a copy, shallow."""
    if not is_mapping(value):
        raise TypeError(f"{name} must be a mapping, not {value!r}: write {name}={{...}}")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"{name} must have strings as keys, not {key!r}")
    return dict(value)


def path(name: str, value: Any) -> str:
    """Accept a string, or a path, which comes back as a string."""
    plain = os.fsdecode(value) if hasattr(value, "__fspath__") else value
    if not isinstance(plain, str):
        raise TypeError(f'{name} must be a string or a path, not {value!r}: write {name}="..."')
    return plain


def text(name: str, value: Any) -> str:
    """Accept a string."""
    if not isinstance(value, str):
        raise TypeError(f'{name} must be a string, not {value!r}: write {name}="..."')
    return value


def one_of(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Accept one of the *choices*."""
    if value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(
            f"{name} must be one of {names}, not {value!r}: write {name}={choices[0]!r}"
        )


def takes_one_argument(value: Any) -> bool:
    """Tell whether *value* can be called with one argument, as far as can be seen."""
    if not callable(value):
        return False
    try:
        inspect.signature(value).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True  # a C function that does not say what it takes
    return True


def pairs(name: str, value: Any) -> list[tuple[Any, Any]]:
    """Accept a mapping, or an iterable of pairs."""
    found: list[tuple[Any, Any]] = []
    for item in value.items() if is_mapping(value) else _elements(value):
        match item:
            case (first, second):
                found.append((first, second))
            case _:
                raise TypeError(
                    f'{name} must be a mapping or a list of pairs: write {name}=[("a", "b")]'
                )
    return found


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Tell whether *value* is a collection of values, which a string or a mapping is not."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _elements(value: Any) -> Iterable[Any]:
    return value if is_iterable(value) else (value,)
