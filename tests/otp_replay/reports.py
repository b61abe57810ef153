"""The reports of one run, as the scenarios write them."""

from __future__ import annotations

from typing import Any

from supervisors import CrashReport, SupervisorReport, TerminateReport

from .scenario import Json
from .seen import Written
from .terms import is_exit
from .world import World

BARE_PROCESS: dict[str, Any] = {
    "report": "string",
    "format": "Error in process ~p with exit value:~n~p~n",
}
"""What OTP writes about a spawned process that raised."""


class Clerk:
    """Collects what is reported about the processes of one run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.written: list[Written] = []

    def __call__(self, report: Any) -> None:
        """Take *report*, unless it is about something the scenarios know nothing of."""
        match report:
            case TerminateReport(ref=by):
                said = self._terminate(report)
            case CrashReport(ref=by):
                said = self._crash(report)
            case SupervisorReport(supervisor=by):
                said = self._supervisor(report)
            case _:
                return
        if said is not None and self._world.people.knows(by) and self._world.journal.is_open:
            self.written.append(Written(by, said))

    def _terminate(self, report: TerminateReport) -> Json:
        return {
            "report": "gen_server_terminate",
            "id": report.name or self._world.people.name_of(report.ref),
            "reason": self._world.reason(report.reason),
        }

    def _crash(self, report: CrashReport) -> Json:
        as_error = report.error_class == "error" and not is_exit(report.reason)
        if report.ref in self._world.people.bare:
            return BARE_PROCESS if as_error else None
        reason = self._world.reason(report.reason)
        if as_error and isinstance(reason, dict):
            reason = reason.get("raised", reason)
        return {
            "report": "crash",
            "id": self._world.people.name_of(report.ref),
            "class": "error" if as_error else "exit",
            "reason": reason,
        }

    def _supervisor(self, report: SupervisorReport) -> Json:
        return {
            "report": "supervisor",
            "context": report.context,
            "child": "undefined" if report.child_id is None else report.child_id,
            "pid": self._offender(report.child_ref),
            "reason": self._world.reason(report.reason),
        }

    def _offender(self, ref: Any) -> Json:
        match ref:
            case None:
                return "undefined"
            case ("restarting", process):
                return {"restarting": self._world.people.name_of(process)}
            case _:
                return self._world.people.name_of(ref)
