"""Why a process ended.

Knows the reasons of OTP and how to read one out of what a user wrote; knows nothing of processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from supervisors.words.said import brief, said


class ExitReason:
    """The base of every exit reason. Reasons are values: equal when they say the same."""

    __slots__ = ()

    @property
    def is_calm(self) -> bool:
        """True for `normal`, `shutdown` and `("shutdown", term)`: nothing to report or to mend."""
        return False

    @property
    def is_normal(self) -> bool:
        """True for `normal` alone, the only reason that is harmless to a linked process."""
        return False


@dataclass(frozen=True, slots=True)
class Normal(ExitReason):
    """The process did what it was there for."""

    @property
    def is_calm(self) -> bool:
        """True."""
        return True

    @property
    def is_normal(self) -> bool:
        """True."""
        return True

    def __str__(self) -> str:
        return "normal"


@dataclass(frozen=True, slots=True)
class Shutdown(ExitReason):
    """An ordered end: a supervisor stopped it, or it gave up in good order; *term* says more."""

    term: Any = None

    @property
    def is_calm(self) -> bool:
        """True."""
        return True

    def __str__(self) -> str:
        return "shutdown" if self.term is None else f"shutdown: {self.term}"


@dataclass(frozen=True, slots=True)
class Kill(ExitReason):
    """The signal that cannot be trapped. Who receives it ends with `Killed`."""

    def __str__(self) -> str:
        return "kill"


@dataclass(frozen=True, slots=True)
class Killed(ExitReason):
    """What a `Kill` signal leaves behind."""

    def __str__(self) -> str:
        return "killed"


@dataclass(frozen=True, slots=True)
class NoProc(ExitReason):
    """There was no such process."""

    def __str__(self) -> str:
        return "no such process"


@dataclass(frozen=True, slots=True)
class NoConnection(ExitReason):
    """The other end of a connection was lost."""

    def __str__(self) -> str:
        return "the connection was lost"


@dataclass(frozen=True, slots=True)
class TimedOut(ExitReason):
    """It took longer than it was given."""

    def __str__(self) -> str:
        return "timeout"


@dataclass(frozen=True, slots=True)
class CallingSelf(ExitReason):
    """A process called itself and would have waited for ever."""

    def __str__(self) -> str:
        return "a process called itself"


@dataclass(frozen=True, slots=True, eq=False)
class Error(ExitReason):
    """An exception nobody caught; it keeps its traceback."""

    exception: BaseException

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Error):
            return NotImplemented
        mine, theirs = self.exception, other.exception
        return mine is theirs or (type(mine) is type(theirs) and mine.args == theirs.args)

    def __hash__(self) -> int:
        return hash((Error, type(self.exception)))

    def __str__(self) -> str:
        return f"{type(self.exception).__name__}: {said(self.exception)}"


@dataclass(frozen=True, slots=True)
class BadReturn(ExitReason):
    """A callback returned something it may not return."""

    value: Any

    def __str__(self) -> str:
        return f"bad return value {brief(self.value, 200)}"


@dataclass(frozen=True, slots=True)
class Custom(ExitReason):
    """A reason of the user's own."""

    term: Any

    def __str__(self) -> str:
        return said(self.term)


@dataclass(frozen=True, slots=True)
class FailedToStartChild:
    """The term of a supervisor's `Shutdown` when one of its children did not start."""

    id: Any
    reason: ExitReason

    def __str__(self) -> str:
        return f"the child {self.id!r} failed to start: {self.reason}"


NORMAL: Final = Normal()
SHUTDOWN: Final = Shutdown()
KILL: Final = Kill()
KILLED: Final = Killed()
NOPROC: Final = NoProc()
NOCONNECTION: Final = NoConnection()

_ATOMS: Final[dict[str, ExitReason]] = {
    "normal": NORMAL,
    "shutdown": SHUTDOWN,
    "kill": KILL,
    "killed": KILLED,
    "noproc": NOPROC,
    "noconnection": NOCONNECTION,
}


def as_reason(value: Any) -> ExitReason:
    """Read *value* as an exit reason.

    A reason is itself; an exception is an `Error` (one that carries a reason, as `ExitProcess`
    does, gives that reason); the strings of OTP ("normal", "shutdown", "kill", ...) and
    `("shutdown", term)` are what they say; anything else is a `Custom` reason.
    """
    match value:
        case ExitReason():
            return value
        case BaseException():
            own = getattr(value, "exit_reason", None)
            return own if isinstance(own, ExitReason) else Error(value)
        case str() if value in _ATOMS:
            return _ATOMS[value]
        case ("shutdown", term):
            return Shutdown(term)
        case _:
            return Custom(value)
