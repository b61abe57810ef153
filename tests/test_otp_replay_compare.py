"""The comparison that the replay rests on: it accepts what was recorded, and nothing less."""

from __future__ import annotations

from pathlib import Path

import pytest
from otp_replay.aftermath import final_differs, mailbox_differs, reports_differ
from otp_replay.checks import late_or_early
from otp_replay.orders import collapse, differences
from otp_replay.scenario import Scenario, files, load
from otp_replay.seen import Written

SCENARIOS = [load(path) for path in files(Path(__file__).parent / "otp_scenarios")]


def scenario(order: str, *events: str, before: tuple[tuple[int, int], ...] = ()) -> Scenario:
    return Scenario("s", "", [], order, [event(name) for name in events], before=list(before))


def event(name: str, t: float = 0.0) -> dict[str, object]:
    return {"t": t, "ev": "recv", "id": "a", "n": 1, "msg": name}


def start(n: int, outcome: object) -> dict[str, object]:
    return {"t": 0, "ev": "start", "id": "a", "n": n, "outcome": outcome}


@pytest.mark.parametrize("recorded", SCENARIOS, ids=[each.name for each in SCENARIOS])
def test_a_recording_is_like_itself(recorded: Scenario) -> None:
    for run in recorded.variants or [recorded.expected]:
        assert differences(recorded, run) == []
        assert late_or_early(recorded, run, slack=1.0) == []
    assert final_differs(recorded, recorded.final) == []
    assert mailbox_differs(recorded, recorded.parent_mailbox) == []
    assert reports_differ(recorded, [Written(None, said) for said in recorded.reports]) == []


@pytest.mark.parametrize(
    ("rule", "got", "same"),
    [
        (scenario("total", "x", "y"), ["x", "y"], True),
        (scenario("total", "x", "y"), ["y", "x"], False),
        (scenario("total", "x", "y"), ["x"], False),
        (scenario("total", "x"), ["x", "x"], False),
        (scenario("partial", "x", "y"), ["y", "x"], True),
        (scenario("partial", "x", "y", before=((0, 1),)), ["y", "x"], False),
        (scenario("partial", "x", "y", before=((0, 1),)), ["x", "y"], True),
        (scenario("partial", "x", "y"), ["x", "z"], False),
        (scenario("partial", "x", "x"), ["x"], False),
        (scenario("variable", "x"), ["x"], True),
        (scenario("variable", "x"), ["y"], False),
    ],
)
def test_events_are_compared_by_the_rule(rule: Scenario, got: list[str], same: bool) -> None:
    assert (differences(rule, [event(name) for name in got]) == []) is same


def test_failing_starts_collapse_and_others_do_not() -> None:
    failing, fine = {"stop": "nope"}, "ok"
    events = [start(1, fine), start(2, failing), start(3, failing), start(4, fine)]

    assert [each["outcome"] for each in collapse(events)] == [fine, failing, fine]


@pytest.mark.parametrize(
    ("took", "slack", "ok"), [(99, 1, False), (100, 1, True), (201, 1, False), (201, 2, True)]
)
def test_upper_bounds_stretch_and_lower_ones_do_not(took: float, slack: float, ok: bool) -> None:
    checks = [{"after": "recv a#1", "event": "recv a#1", "min_ms": 100, "max_ms": 200}]
    timed = Scenario("s", "", [], "total", [], checks=checks)

    assert (late_or_early(timed, [event("x"), event("y", took)], slack) == []) is ok


def test_reports_of_one_process_keep_their_order() -> None:
    one, two = ({"report": "crash", "id": name} for name in "ab")
    recorded = Scenario("s", "", [], "total", [], reports=[one, two])

    assert reports_differ(recorded, [Written(1, two), Written(2, one)]) == []
    assert reports_differ(recorded, [Written(1, two), Written(1, one)]) != []
