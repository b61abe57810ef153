"""What reports say, in words that a log reader can use."""

from __future__ import annotations

from typing import get_args

import pytest

from supervisors.words.reasons import Custom, Error
from supervisors.words.reports import (
    AbandonedReport,
    BusyReport,
    CrashReport,
    ProgressReport,
    Report,
    SupervisorReport,
    TerminateReport,
)

BOOM = Custom("boom")


def terminate(name: str | None = None, last_message: object = "go") -> TerminateReport:
    return TerminateReport("<ref>", name, last_message, {"n": 1}, BOOM)


def crash(name: str | None = None, ancestors: tuple[str, ...] = ()) -> CrashReport:
    return CrashReport("<ref>", name, "app.Worker", "exit", BOOM, ancestors, (), 3)


SUPERVISOR = SupervisorReport(
    "<sup>", "child_terminated", BOOM, "db", "<ref>", "permanent", 5.0, "worker", False
)

# report, event, what it says, what it does not
REPORTS = [
    (
        terminate(),
        "gen_server_terminate",
        ["<ref> terminating: boom", "last message: 'go'"],
        ["'n'"],  # the state may hold secrets; it is in the report, not in the text
    ),
    (terminate("svc"), "gen_server_terminate", ["svc terminating: boom"], ["<ref>"]),
    (
        crash(),
        "crash",
        ["<ref> (app.Worker) crashed: boom", "ancestors: none", "unread messages: 3"],
        [],
    ),
    (crash("svc", ("<sup>", "<root>")), "crash", ["svc (app.Worker)", "<sup>, <root>"], []),
    (SUPERVISOR, "supervisor", ["<sup>", "child_terminated", "'db'", "<ref>", "boom"], []),
    (ProgressReport("<sup>", "db", "<ref>"), "progress", ["<sup> started 'db': <ref>"], []),
    (
        BusyReport("<ref>", "node-1", 2.25, "File x, line 3"),
        "busy",
        ["<ref>", "node-1", "2.2 seconds", "anyio.to_thread.run_sync", "File x, line 3"],
        [],
    ),
    (BusyReport(None, "node-1", 2.0, ""), "busy", ["something that is no actor"], []),
    (AbandonedReport("<ref>", 1.0), "abandoned", ["<ref>", "1.0 seconds", "refused"], []),
]


@pytest.mark.parametrize(("report", "event", "said", "unsaid"), REPORTS)
def test_what_a_report_says(report, event, said, unsaid) -> None:
    assert event == report.event
    assert [text for text in said if text not in str(report)] == []
    assert [text for text in unsaid if text in str(report)] == []


def test_every_report_is_in_the_table() -> None:
    assert set(get_args(Report)) == {type(report) for report, *_ in REPORTS}


def test_a_long_last_message_is_shortened_in_the_text_and_kept_in_the_report() -> None:
    report = terminate(last_message="x" * 10_000)

    assert (len(str(report)) < 400, "..." in str(report)) == (True, True)
    assert report.last_message == "x" * 10_000


class Unspeakable(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


@pytest.mark.parametrize(
    "report",
    [
        terminate(last_message=Unspeakable()),
        TerminateReport("<ref>", None, "go", None, Error(Unspeakable())),
        CrashReport("<ref>", None, "f", "error", Error(Unspeakable()), (), (), 0),
    ],
)
def test_a_report_of_what_cannot_be_shown_can_be_shown_all_the_same(report) -> None:
    assert "Unspeakable" in str(report)
