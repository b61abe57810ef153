"""Every error this package raises.

SupervisorsError
├── ProcessDead            (pykka.ActorDeadError)  a message for a process that has ended
├── CallExit               a call whose server ended before it replied
│   ├── CallTimeout        (pykka.Timeout)         ... or took too long
│   ├── NoProcess          ... or was not there
│   └── CallingSelf        ... or was the caller itself
├── ExitProcess            unwinds the process that ends itself
├── StartError
│   ├── StartFailed        init stopped, raised or took too long
│   ├── StartIgnored       init chose not to run
│   ├── AlreadyStarted     the name or the child id is taken by a running process
│   ├── AlreadyPresent     the child id is taken by a child that is not running
│   └── MaxChildren        the supervisor is full
├── ChildError
│   ├── ChildNotFound · ChildRunning · ChildRestarting
├── SpecError              (ValueError)            a child spec or a flag is wrong
├── NameTaken · NoSuchName (LookupError)
├── MailboxFull            the mailbox has a bound, and rejects
├── ReceiveTimeout         (pykka.Timeout)         no message matched in time
├── WouldBlock             a blocking wait on the loop that has to produce the value
├── NodeStopped            the node does not run (any more)
└── NotAProcess            the thing named is not a process
"""

from __future__ import annotations

from typing import Any

import pykka

from supervisors.words.reasons import (
    NOPROC,
    Custom,
    Error,
    ExitReason,
    FailedToStartChild,
    Shutdown,
    TimedOut,
    as_reason,
)
from supervisors.words.reasons import (
    CallingSelf as CallingSelfReason,
)
from supervisors.words.said import brief


class SupervisorsError(Exception):
    """The base of every error of this package."""


class ProcessDead(SupervisorsError, pykka.ActorDeadError):
    """Raised when a message is told to a process that has ended; `reason` says why it ended."""

    def __init__(self, text: str, reason: ExitReason = NOPROC) -> None:
        super().__init__(text)
        self.reason = reason


class CallExit(SupervisorsError, pykka.ActorDeadError):
    """Raised by a call whose server ended, with *reason*, before it replied."""

    def __init__(self, reason: ExitReason, server: Any, request: Any) -> None:
        super().__init__(self._text(reason, server, request))
        self.reason = reason
        self.server = server
        self.request = request

    def _text(self, reason: ExitReason, server: Any, request: Any) -> str:
        return f"{server} ended before it answered {brief(request)}: {reason}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.server, self.request)


class CallTimeout(CallExit, pykka.Timeout):
    """Raised when a call got no reply in time. The server was not told and may still finish."""

    def __init__(self, server: Any, request: Any, timeout: float | None) -> None:
        self.timeout = timeout
        super().__init__(TimedOut(), server, request)

    def _text(self, reason: ExitReason, server: Any, request: Any) -> str:
        return (
            f"{server} did not answer {brief(request)} within {self.timeout} seconds; "
            "it may still be working on it"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.server, self.request, self.timeout)


class NoProcess(CallExit):
    """Raised by a call to a process that is not there (any more), or to an unknown name."""

    def __init__(self, server: Any, request: Any, ended: ExitReason | None = None) -> None:
        self.ended = ended
        super().__init__(NOPROC, server, request)

    def _text(self, reason: ExitReason, server: Any, request: Any) -> str:
        if isinstance(server, str):
            return f"no process is registered as {server!r}, so {brief(request)} went nowhere"
        how = "" if self.ended is None else f" (it ended: {self.ended})"
        return f"{server} is not alive{how}, so {brief(request)} went nowhere"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.server, self.request, self.ended)


class CallingSelf(CallExit):
    """Raised when a server calls itself: it would wait for itself for ever."""

    def __init__(self, server: Any, request: Any) -> None:
        super().__init__(CallingSelfReason(), server, request)

    def _text(self, reason: ExitReason, server: Any, request: Any) -> str:
        return (
            f"{server} called itself and would wait for ever. "
            "Call the method directly, or let the message come later: `self.ref.cast(request)`."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.server, self.request)


class ExitProcess(SupervisorsError):
    """Unwinds a process that ends itself with `exit_self(reason)`. Let it pass.

    *signalled*: the process sent itself an exit signal, so nothing of its own runs any more.
    """

    def __init__(self, reason: Any, *, signalled: bool = False) -> None:
        self.exit_reason = as_reason(reason)
        self.signalled = signalled
        super().__init__(f"exit: {self.exit_reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.exit_reason,)


class StartError(SupervisorsError):
    """The base of what a start may come to instead of a running process."""


class StartFailed(StartError):
    """Raised when a process did not start: its init stopped, raised or took too long."""

    def __init__(self, reason: Any, child: Any = None) -> None:
        self.reason = as_reason(reason)
        self.child = child
        what = "the process" if child is None else repr(child)
        super().__init__(f"{what} did not start: {self.reason}")
        self.__cause__ = _exception_in(self.reason)

    @property
    def exit_reason(self) -> ExitReason:
        """What a process ends with that lets this error pass."""
        return self.reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.child)


class StartIgnored(StartError):
    """Raised when init chose not to run (`Ignore()`). To a supervisor this is no failure."""

    def __init__(self) -> None:
        super().__init__("init returned Ignore(): there is no process, and that is no failure")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class AlreadyStarted(StartError):
    """Raised when the name or the child id belongs to a running process: `ref`."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref
        super().__init__(f"it runs already: {ref}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ref,)


class AlreadyPresent(StartError):
    """Raised when the child id is known to the supervisor but its process is not running."""

    def __init__(self, id: Any) -> None:
        self.id = id
        super().__init__(
            f"the supervisor has a child {id!r} that is not running. "
            f"Start it with `restart_child({id!r})`, or `delete_child({id!r})` first."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id,)


class MaxChildren(StartError):
    """Raised when a supervisor has as many children as it may have."""

    def __init__(self, max_children: int | None = None) -> None:
        self.max_children = max_children
        super().__init__(f"the supervisor has its {max_children} children already (max_children)")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_children,)


class ChildError(SupervisorsError):
    """The base of what is wrong with the child a supervisor was asked about."""

    _says = "the child {id!r} cannot do that"

    def __init__(self, id: Any) -> None:
        self.id = id
        super().__init__(self._says.format(id=id))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id,)


class ChildNotFound(ChildError):
    """Raised when the supervisor has no such child."""

    _says = "the supervisor has no child {id!r}; `which_children()` lists those it has"


class ChildRunning(ChildError):
    """Raised when a child must not run for what was asked, and does."""

    _says = "the child {id!r} is running; `terminate_child({id!r})` first"


class ChildRestarting(ChildError):
    """Raised when a child is between two tries to restart it."""

    _says = "the child {id!r} is being restarted; `terminate_child({id!r})` ends the tries"


class SpecError(SupervisorsError, ValueError):
    """Raised when a child spec, a flag or an option is wrong; the text says how to write it.

    `term` is what OTP calls the mistake, where it has a word for it.
    """

    def __init__(self, text: str, term: Any = None) -> None:
        self.term = term
        super().__init__(text)

    @property
    def exit_reason(self) -> ExitReason:
        """What a process ends with that lets this error pass."""
        return Error(self) if self.term is None else Custom(self.term)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.term)


class NameTaken(SupervisorsError, ValueError):
    """Raised when a name belongs to a living process already."""

    def __init__(self, name: str, ref: Any) -> None:
        self.name = name
        self.ref = ref
        super().__init__(f"the name {name!r} belongs to {ref}; `unregister({name!r})` frees it")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.ref)


class NoSuchName(SupervisorsError, LookupError):
    """Raised when a message is sent to a name that nobody has."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no process is registered as {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)


class MailboxFull(SupervisorsError):
    """Raised when a bounded mailbox that rejects has no room for a message."""


class ReceiveTimeout(SupervisorsError, pykka.Timeout):
    """Raised when no message matched in time."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        super().__init__(
            "the wait for a message was withdrawn: the task that awaited it was cancelled"
            if timeout is None
            else f"no message matched within {timeout} seconds"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.timeout,)


class WouldBlock(SupervisorsError, RuntimeError):
    """Raised by a blocking wait on the event loop that has to produce the value."""

    def __init__(
        self,
        what: str = "value = await ref.ask(message, block=False)",
        why: str = "get() would block the event loop that has to produce the value. "
        "Await the future instead",
    ) -> None:
        self.what = what
        self.why = why
        super().__init__(f"{why}: `{what}`.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.why)


class NodeStopped(SupervisorsError, RuntimeError):
    """Raised when something is asked of a node that does not run (any more)."""


class NotAProcess(SupervisorsError, TypeError):
    """Raised when something else than a ref, a name or an alias is given as a destination."""

    def __init__(self, what: Any) -> None:
        self.what = what
        super().__init__(
            f"{brief(what)} is not a process. Give the ref that start, spawn or self_() returned, "
            "or a registered name."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what,)


def _exception_in(reason: ExitReason) -> BaseException | None:
    """The exception at the bottom of nested failed starts, if there is one."""
    while isinstance(reason, Shutdown) and isinstance(reason.term, FailedToStartChild):
        reason = reason.term.reason
    return reason.exception if isinstance(reason, Error) else None
