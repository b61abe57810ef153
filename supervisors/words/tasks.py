"""What one hears of a task: a message, or how it came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from supervisors.words.directives import UNSET
from supervisors.words.errors import SupervisorsError
from supervisors.words.reasons import ExitReason


class TaskReply(NamedTuple):
    """The message with a task's value, if its owner did not wait for it.

    A `Down` with the same monitor follows it; without it, the task has failed.
    """

    monitor: Any
    """The `monitor` of the task."""
    value: Any


@dataclass(frozen=True, slots=True)
class Done:
    """The task has returned *value*."""

    value: Any


@dataclass(frozen=True, slots=True)
class Exited:
    """The task has ended with *reason* and has no value.

    *input* is what it was given, if a stream was asked for that (`zip_input_on_exit`).
    """

    reason: ExitReason
    input: Any = UNSET


Outcome = Done | Exited


class NotOwner(SupervisorsError, RuntimeError):
    """Raised when another process than its owner waits for a task."""
