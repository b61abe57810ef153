"""How a supervisor starts a child, and what may come of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pykka

from supervisors.behaviours.child_reports import ChildReports
from supervisors.machines.children import Entry
from supervisors.runtime.future import Future
from supervisors.runtime.ref import Ref
from supervisors.runtime.threads import process_of_foreign
from supervisors.words.errors import AlreadyStarted, StartFailed, StartIgnored
from supervisors.words.reasons import BadReturn, Custom, ExitReason, as_reason


class Started(NamedTuple):
    """A start went well."""

    ref: Ref | None
    """The child; None if it chose not to run."""
    value: Any
    """What the start function returned."""


class NotStarted:
    """A child did not start."""

    __slots__ = ("cause", "reason")

    def __init__(self, reason: ExitReason, cause: BaseException | None = None) -> None:
        self.reason = reason
        self.cause = cause

    def error(self, child: Any = None) -> Exception:
        """The error for whoever asked for the start."""
        if isinstance(self.cause, AlreadyStarted):
            return self.cause
        error = StartFailed(self.reason, child)
        if self.cause is not None and error.__cause__ is None:
            error.__cause__ = self.cause.__cause__
        return error


class _Pending(NamedTuple):
    awaitable: Any


class ChildStarts(ChildReports):
    """The part of a supervisor that starts children."""

    def _start_then(self, entry: Entry[Ref], then: Callable[[Started | NotStarted], Any]) -> Any:
        """Start a child and return `then(what came of it)`: at once if its init did not wait."""
        came = self._begin_start(entry)
        return self._finish_then(entry, came, then) if isinstance(came, _Pending) else then(came)

    async def _finish_then(
        self, entry: Entry[Ref], pending: _Pending, then: Callable[[Started | NotStarted], Any]
    ) -> Any:
        return then(await self._finish_start(entry, pending))

    async def _start(self, entry: Entry[Ref]) -> Started | NotStarted:
        """Start a child."""
        came = self._begin_start(entry)
        return await self._finish_start(entry, came) if isinstance(came, _Pending) else came

    def _begin_start(self, entry: Entry[Ref]) -> Started | NotStarted | _Pending:
        try:
            value: Any = entry.spec.start(*entry.args)
            if value.__class__ is Future and value.done():
                value = value.get()
            elif inspect.isawaitable(value):
                return _Pending(value)
        except Exception as error:  # noqa: BLE001  # whatever a start function raises is its reason
            return _start_failed(error)
        return self._started(entry, value)

    async def _finish_start(self, entry: Entry[Ref], pending: _Pending) -> Started | NotStarted:
        try:
            value: Any = await pending.awaitable
        except Exception as error:  # noqa: BLE001  # whatever a start function raises is its reason
            return _start_failed(error)
        return self._started(entry, value)

    def _started(self, entry: Entry[Ref], value: Any) -> Started | NotStarted:
        match value:
            case (started, _info):
                ref = self._adopt(started)
            case _:
                ref = self._adopt(value)
        if ref is None:
            return NotStarted(BadReturn(value))
        self._report_progress(entry, ref)
        return Started(ref, value)

    def _adopt(self, started: Any) -> Ref | None:
        """The ref of what a start function returned, linked to this supervisor."""
        if isinstance(started, Ref):
            process = started.process
        elif isinstance(started, pykka.ActorRef):
            process = process_of_foreign(started, self.node)  # pyright: ignore[reportUnknownArgumentType]  # isinstance() cannot know what kind of actor
        else:
            return None
        me = self._otp_process
        if process.parent is not me and (me.links is None or process not in me.links):
            me.link(process)
        return process.ref


def _start_failed(error: Exception) -> Started | NotStarted:
    match error:
        case StartIgnored():
            return Started(None, None)
        case StartFailed(reason=reason):
            return NotStarted(reason, error)
        case AlreadyStarted(ref=ref):
            return NotStarted(Custom(("already_started", ref)), error)
        case _:
            return NotStarted(as_reason(error))
