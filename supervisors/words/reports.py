"""What is reported when something ends that should not have.

Values only; who writes them down is the runtime's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from supervisors.words.reasons import ExitReason
from supervisors.words.said import brief


@dataclass(frozen=True, slots=True)
class TerminateReport:
    """A server ended abnormally; what it was doing."""

    event = "gen_server_terminate"
    ref: Any
    name: str | None
    last_message: Any
    state: Any
    reason: ExitReason

    def __str__(self) -> str:
        return (
            f"{self.name or self.ref} terminating: {self.reason}\n"
            f"  last message: {brief(self.last_message, 200)}"
        )


@dataclass(frozen=True, slots=True)
class CrashReport:
    """A process ended abnormally; who it was."""

    event = "crash"
    ref: Any
    name: str | None
    initial_call: str
    error_class: str
    """"error" for an exception, "exit" for a chosen reason."""
    reason: ExitReason
    ancestors: tuple[Any, ...]
    links: tuple[Any, ...]
    message_queue_len: int

    def __str__(self) -> str:
        above = ", ".join(str(ancestor) for ancestor in self.ancestors) or "none"
        return (
            f"{self.name or self.ref} ({self.initial_call}) crashed: {self.reason}\n"
            f"  ancestors: {above}; unread messages: {self.message_queue_len}"
        )


@dataclass(frozen=True, slots=True)
class SupervisorReport:
    """Something a supervisor saw or did.

    `context` is child_terminated, start_error, shutdown_error or shutdown.
    """

    event = "supervisor"
    supervisor: Any
    context: str
    reason: ExitReason
    child_id: Any
    child_ref: Any
    restart: str
    shutdown: Any
    type: str
    significant: bool

    def __str__(self) -> str:
        return (
            f"{self.supervisor}: {self.context}: child {self.child_id!r} "
            f"({self.child_ref}): {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """A supervisor started a child."""

    event = "progress"
    supervisor: Any
    child_id: Any
    ref: Any

    def __str__(self) -> str:
        return f"{self.supervisor} started {self.child_id!r}: {self.ref}"


@dataclass(frozen=True, slots=True)
class BusyReport:
    """A handler holds its event loop for longer than the watchdog allows."""

    event = "busy"
    ref: Any
    node: str
    seconds: float
    stack: str

    def __str__(self) -> str:
        who = self.ref or "something that is no actor"
        return (
            f"{who} has held the loop of {self.node} for {self.seconds:.1f} seconds. "
            "Await in the handler, or run blocking work in a thread: "
            f"`await anyio.to_thread.run_sync(work)`.\n{self.stack}"
        )


@dataclass(frozen=True, slots=True)
class AbandonedReport:
    """A killed process goes on running because its code does not let go; it counts as dead."""

    event = "abandoned"
    ref: Any
    grace: float

    def __str__(self) -> str:
        return (
            f"{self.ref} was killed but did not stop within {self.grace} seconds; "
            "it is treated as dead and its further sends are refused"
        )


Report = (
    TerminateReport | CrashReport | SupervisorReport | ProgressReport | BusyReport | AbandonedReport
)
