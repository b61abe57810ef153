"""What a supervisor reports of its children."""

from __future__ import annotations

from typing import Any, Literal

from supervisors.behaviours.gen_server import GenServer
from supervisors.machines.children import Entry, Place
from supervisors.runtime.ref import Ref
from supervisors.runtime.reports import report, wanted
from supervisors.words.reasons import ExitReason
from supervisors.words.reports import ProgressReport, SupervisorReport

Context = Literal["child_terminated", "start_error", "shutdown_error", "shutdown"]


class ChildReports(GenServer):
    """The part of a supervisor that writes reports."""

    def _report_id(self, entry: Entry[Ref]) -> Any:
        """What a report calls *entry*."""
        return entry.spec.id

    def _report_progress(self, entry: Entry[Ref], ref: Ref) -> None:
        if wanted(ProgressReport):
            report(ProgressReport(self.ref, self._report_id(entry), ref))

    def _report(
        self, context: Context, reason: ExitReason, entry: Entry[Ref], place: Place
    ) -> None:
        if wanted(SupervisorReport):
            spec = entry.spec
            report(
                SupervisorReport(
                    self.ref,
                    context,
                    reason,
                    self._report_id(entry),
                    place,
                    spec.restart,
                    spec.shutdown,
                    spec.type,
                    spec.significant,
                )
            )
