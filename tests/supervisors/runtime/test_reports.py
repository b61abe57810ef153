"""Reports: what is told, to whom, in which order, and as which log record."""

from __future__ import annotations

import logging

import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    Actor,
    CrashReport,
    Custom,
    Error,
    GenServer,
    ProgressReport,
    Shutdown,
    Supervisor,
    SupervisorReport,
    TerminateReport,
    exit_self,
    link,
    register,
    self_,
    spawn,
    subscribe_reports,
    when_down,
)


class Worker(GenServer):
    def init(self, n=0):
        self.n = n

    def handle_cast(self, request):
        if isinstance(request, Exception):
            raise request
        return request


def get(future):
    return future.get(timeout=PATIENCE)


def kinds(reports):
    return [
        f"{type(report).__name__} {report.context}"
        if isinstance(report, SupervisorReport)
        else type(report).__name__
        for report in reports
    ]


def test_the_order_of_reports_when_a_worker_of_a_supervisor_crashes(node) -> None:
    """[probe:report_shapes] terminate, crash, child_terminated, then progress of the new one."""

    async def body():
        sup = await Supervisor.start_link(
            [Worker.child_spec(id="w")], strategy="one_for_one", max_restarts=1
        )
        for _ in range(2):
            (child,) = await sup.which_children()
            down = when_down(child.ref)
            child.ref.cast(ValueError("oops"))
            await down
        await when_down(sup)

    reports: list[object] = []
    end = subscribe_reports(reports.append)
    try:
        inside(node, body, trap_exit=True)
    finally:
        end()

    once = ["TerminateReport", "CrashReport", "SupervisorReport child_terminated"]
    assert kinds(reports) == [
        "ProgressReport",
        *once,
        "ProgressReport",
        *once,
        "SupervisorReport shutdown",
    ]


def test_what_a_terminate_and_a_crash_report_tell(node) -> None:
    async def body():
        ref = await Worker.start_link(7)
        register("svc", ref)
        down = when_down(ref)
        ref.cast(ValueError("oops"))
        await down
        return ref, self_()

    with silenced() as reports:
        ref, me = inside(node, body, trap_exit=True)
    terminate, crash = reports

    error = Error(ValueError("oops"))
    assert isinstance(terminate, TerminateReport)
    assert (terminate.ref, terminate.name, terminate.reason) == (ref, "svc", error)
    assert terminate.state == {"n": 7}
    assert "oops" in repr(terminate.last_message)
    assert isinstance(crash, CrashReport)
    assert (crash.ref, crash.name, crash.reason) == (ref, "svc", error)
    assert (crash.error_class, crash.initial_call) == ("error", "Worker")
    assert (crash.ancestors[:1], crash.links, crash.message_queue_len) == ((me,), (me,), 0)


@pytest.mark.parametrize(
    ("reason", "error_class"), [(ValueError("oops"), "error"), (Custom("boom"), "exit")]
)
def test_a_crash_report_tells_an_error_from_an_exit(node, reason, error_class) -> None:
    def fails():
        if isinstance(reason, Exception):
            raise reason
        exit_self(reason)

    with silenced() as reports:
        ref = spawn(fails)
        down = inside(node, lambda: [when_down(ref)])[0]
        get(down)

    assert [(report.ref, report.error_class) for report in reports] == [(ref, error_class)]


@pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", "why")])
@pytest.mark.parametrize("how", ["stop", "exit_self", "directive"])
def test_a_calm_end_is_not_reported(node, reason, how) -> None:
    with silenced() as reports:
        ref = get(Worker.start_unlinked())
        down = inside(node, lambda: [when_down(ref)])[0]
        match how:
            case "stop":
                supervisors.stop(ref, reason)
            case "exit_self":
                ref.cast(supervisors.ExitProcess(reason))
            case "directive":
                ref.cast(supervisors.Stop(reason))
        assert get(down) == supervisors.as_reason(reason)

    assert reports == []


def test_a_killed_server_has_no_report_of_its_own(node) -> None:
    """SHEET 19: nobody ran code in the victim."""
    with silenced() as reports:
        ref = get(Worker.start_unlinked())
        down = inside(node, lambda: [when_down(ref)])[0]
        supervisors.exit(ref, "kill")
        get(down)

    assert reports == []


def test_the_state_in_a_report_is_what_the_server_lets_be_seen(node) -> None:
    class Secret(Worker):
        def format_status(self):
            return "redacted"

    with silenced() as reports:
        ref = get(Secret.start_unlinked())
        down = inside(node, lambda: [when_down(ref)])[0]
        ref.cast(ValueError("oops"))
        get(down)

    assert [r.state for r in reports if isinstance(r, TerminateReport)] == ["redacted"]


def test_a_format_status_that_raises_does_not_hide_the_crash(node) -> None:
    class Broken(Worker):
        def format_status(self):
            raise KeyError("state")

    with silenced() as reports:
        ref = get(Broken.start_unlinked())
        down = inside(node, lambda: [when_down(ref)])[0]
        ref.cast(ValueError("oops"))
        assert get(down) == Error(ValueError("oops"))

    assert kinds(reports) == ["TerminateReport", "CrashReport"]


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_a_last_message_that_cannot_be_shown_does_not_hide_the_crash(node, caplog) -> None:
    class Breaks(Worker):
        def handle_info(self, message):
            raise ValueError("oops")

    ref = get(Breaks.start_unlinked())
    down = inside(node, lambda: [when_down(ref)])[0]
    ref.send(Unspeakable())

    assert get(down) == Error(ValueError("oops"))
    assert [r.event for r in caplog.records if hasattr(r, "event")] == [
        "gen_server_terminate",
        "crash",
    ]


# --- as log records


def test_a_crash_is_logged_with_event_report_and_traceback(node, caplog) -> None:
    ref = get(Worker.start_unlinked())
    down = inside(node, lambda: [when_down(ref)])[0]
    ref.cast(ValueError("oops"))
    get(down)
    records = [record for record in caplog.records if record.name.startswith("supervisors")]

    assert [(r.name, r.levelno, r.event, type(r.report).__name__) for r in records] == [
        ("supervisors.crash", logging.ERROR, "gen_server_terminate", "TerminateReport"),
        ("supervisors.crash", logging.ERROR, "crash", "CrashReport"),
    ]
    assert any(r.exc_info and isinstance(r.exc_info[1], ValueError) for r in records)
    assert "ValueError: oops" in records[0].getMessage()


def test_a_supervisor_is_logged_with_event_and_report(node, caplog) -> None:
    async def body():
        sup = await Supervisor.start_link(
            [Worker.child_spec(id="w")], strategy="one_for_one", max_restarts=0
        )
        (child,) = await sup.which_children()
        down = when_down(sup)
        child.ref.cast(ValueError("oops"))
        return await down

    with caplog.at_level(logging.INFO, logger="supervisors"):
        assert inside(node, body, trap_exit=True) == Shutdown()
    records = [record for record in caplog.records if hasattr(record, "report")]
    seen = [(record.name, record.levelno, record.event) for record in records]

    assert ("supervisors.progress", logging.INFO, "progress") in seen
    assert seen.count(("supervisors.supervisor", logging.ERROR, "supervisor")) == 2


def test_progress_is_not_made_when_nobody_listens(node, caplog) -> None:
    async def body():
        await Supervisor.start_link([Worker.child_spec(id="w")], strategy="one_for_one")

    with caplog.at_level(logging.WARNING, logger="supervisors"):
        inside(node, body)

    assert [record for record in caplog.records if hasattr(record, "report")] == []


# --- subscribers


def test_a_subscriber_is_called_until_it_ends_its_subscription(node) -> None:
    first: list[object] = []
    second: list[object] = []
    ends = [subscribe_reports(first.append), subscribe_reports(second.append)]

    def crash():
        ref = spawn(exit_self, "boom")
        get(inside(node, lambda: [when_down(ref)])[0])

    with silenced():
        crash()
        ends[0]()
        ends[0]()
        crash()
        ends[1]()
        crash()

    assert (len(first), len(second)) == (1, 2)


def test_a_subscriber_that_raises_harms_nobody(node, caplog) -> None:
    seen: list[object] = []

    def bad(_report):
        raise ValueError("subscriber")

    ends = [subscribe_reports(bad), subscribe_reports(seen.append)]
    try:
        ref = spawn(exit_self, "boom")
        reason = get(inside(node, lambda: [when_down(ref)])[0])
    finally:
        for end in ends:
            end()

    assert (len(seen), reason in (Custom("boom"), supervisors.NOPROC)) == (1, True)


def test_a_progress_report_tells_what_was_started(node) -> None:
    reports: list[object] = []
    end = subscribe_reports(reports.append)

    async def body():
        sup = await Supervisor.start_link([Worker.child_spec(id="w")], strategy="one_for_one")
        return sup, (await sup.which_children())[0].ref

    try:
        sup, child = inside(node, body)
    finally:
        end()

    (report,) = (report for report in reports if isinstance(report, ProgressReport))
    assert (report.supervisor, report.child_id, report.ref) == (sup, "w", child)


def test_a_plain_actor_s_crash_is_reported(node) -> None:
    class Plain(Actor):
        def on_receive(self, message):
            raise ValueError("oops")

    with silenced() as reports:
        ref = Plain.start()
        down = inside(node, lambda: [when_down(ref)])[0]
        ref.tell("x")
        get(down)

    assert [(r.ref, r.initial_call) for r in reports if isinstance(r, CrashReport)] == [
        (ref, "Plain")
    ]


def test_links_are_named_in_a_crash_report(node) -> None:
    async def body():
        other = await Worker.start_unlinked()

        def fails():
            link(other)
            raise ValueError("oops")

        await when_down(spawn(fails))
        return other

    with silenced() as reports:
        other = inside(node, body)

    assert [report.links for report in reports if report.initial_call != "Worker"][:1] == [(other,)]
