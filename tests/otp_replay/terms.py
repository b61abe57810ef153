"""Exit reasons and terms, to and from the JSON of the scenarios.

Strings are atoms. What Python says in another way is brought into the recorded form here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from supervisors import (
    AlreadyStarted,
    BadReturn,
    CallExit,
    Custom,
    Error,
    ExitReason,
    FailedToStartChild,
    Ignore,
    NoSuchName,
    Ref,
    Shutdown,
    as_reason,
)

from .scenario import Json

Naming = Callable[[Any], str]
"""Gives the recorded name of a ref: "id#n"."""

_WORDS: Final = {
    "NoProc": "noproc",
    "NoConnection": "noconnection",
    "TimedOut": "timeout",
    "CallingSelf": "calling_self",
}
"""Reasons whose text is not OTP's atom."""


class Raised(Exception):
    """What a process raises that is told to raise *term*."""

    def __init__(self, term: Json) -> None:
        super().__init__(term)
        self.term = term


@dataclass(frozen=True)
class Rubbish(Ignore):
    """What only `init` may return: the sort of invalid value that `handle_call` can return."""

    value: Json


class Recorded:
    """Something of ours that stands in a term, and how the recordings write it."""

    def recorded(self) -> Json:
        """Give what the recordings have in its place."""
        raise NotImplementedError


class StartRubbish:
    """What a start function returns that is neither a ref nor anything else it may return."""

    def __init__(self, value: Json) -> None:
        self.value = value


def to_reason(said: Json) -> ExitReason:
    """Build the exit reason that *said* stands for."""
    match said:
        case {"shutdown": term, **rest} if not rest:
            return Shutdown(to_term(term))
        case {"raised": term}:
            return Error(Raised(term))
        case _:
            return as_reason(to_term(said))


def to_term(said: Json) -> Any:
    """Build the term that *said* stands for."""
    match said:
        case {"tuple": list() as items}:
            return tuple(to_term(item) for item in items)
        case list():
            return [to_term(item) for item in said]
        case _:
            return said


def from_reason(reason: ExitReason, name_of: Naming) -> Json:
    """Write *reason* as the scenarios do."""
    match reason:
        case Shutdown(term=None):
            return "shutdown"
        case Shutdown(term=term):
            return {"shutdown": from_term(term, name_of)}
        case Error(exception=exception):
            return _from_exception(exception, name_of)
        case BadReturn(value=StartRubbish() as rubbish):
            return rubbish.value
        case BadReturn(value=Rubbish() as rubbish):
            return {"bad_return_value": rubbish.value}
        case BadReturn(value=value):
            return {"bad_return_value": from_term(value, name_of)}
        case Custom(term=term):
            return from_term(term, name_of)
        case _:
            return _WORDS.get(type(reason).__name__) or str(reason)


def from_term(term: Any, name_of: Naming) -> Json:
    """Write *term* as the scenarios do."""
    match term:
        case Ref():
            return name_of(term)
        case Recorded():
            return term.recorded()
        case ExitReason():
            return from_reason(term, name_of)
        case FailedToStartChild(id=id, reason=reason):
            return {"failed_to_start_child": id, "reason": from_reason(reason, name_of)}
        case BaseException():
            return _from_exception(term, name_of)
        case ("invalid_shutdown", int() | float() as seconds):
            return {"tuple": ["invalid_shutdown", round(seconds * 1000)]}
        case tuple():
            return {"tuple": [from_term(item, name_of) for item in term]}
        case list():
            return [from_term(item, name_of) for item in term]
        case dict():
            return {key: from_term(value, name_of) for key, value in term.items()}
        case None | bool() | int() | float() | str():
            return term
        case _:
            return repr(term)


def is_exit(reason: ExitReason) -> bool:
    """Tell whether OTP calls *reason* an exit, where Python has an exception for it."""
    return isinstance(reason, Error) and isinstance(reason.exception, CallExit)


def _from_exception(exception: BaseException, name_of: Naming) -> Json:
    match exception:
        case Raised(term=term):
            return {"raised": term}
        case CallExit(reason=reason):
            return {"call_exit": from_reason(reason, name_of)}
        case AlreadyStarted(ref=ref):
            return {"already_started": name_of(ref)}
        case NoSuchName():
            return {"raised": "badarg"}
        case _:
            return {"raised": repr(exception)}
