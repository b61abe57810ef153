"""What a callback of a GenServer may return besides a plain value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from supervisors.words import checks
from supervisors.words.reasons import NORMAL


class _Unset:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # a copy is the value itself


UNSET: Final[Any] = _Unset()
"""Stands for an argument that was not given, where None is a value of its own."""


class Directive:
    """The base of everything a callback returns to steer its server."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Ok(Directive):
    """From `init`: the server runs.

    *timeout* (seconds): if nothing comes for so long, `handle_info(TIMEOUT)` is called.
    *then*: `handle_continue(then)` runs before any message.
    """

    timeout: float | None = None
    then: Any = UNSET

    def __post_init__(self) -> None:
        checks.seconds("timeout", self.timeout)


@dataclass(frozen=True, slots=True)
class Ignore(Directive):
    """From `init`: do not run; this is no failure."""


@dataclass(frozen=True, slots=True)
class Stop(Directive):
    """End the server with *reason*; from `handle_call`, *reply* still goes to the caller."""

    reason: Any = NORMAL
    reply: Any = UNSET


@dataclass(frozen=True, slots=True)
class Reply(Directive):
    """From `handle_call`: answer with *value*, then as in `Ok`."""

    value: Any
    timeout: float | None = None
    then: Any = UNSET

    def __post_init__(self) -> None:
        checks.seconds("timeout", self.timeout)


@dataclass(frozen=True, slots=True)
class NoReply(Directive):
    """Go on without an answer (`caller.reply()` may come later), then as in `Ok`."""

    timeout: float | None = None
    then: Any = UNSET

    def __post_init__(self) -> None:
        checks.seconds("timeout", self.timeout)


NO_REPLY: Final = NoReply()
"""`NoReply()` without further wishes, ready made."""
