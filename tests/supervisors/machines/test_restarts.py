"""Whether a child is started again: OTP's table, and the window."""

from __future__ import annotations

import pytest

from supervisors.machines.restarts import After, Intensity, after, is_expected, is_reported
from supervisors.words.reasons import (
    KILLED,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    Custom,
    Error,
    ExitReason,
    Kill,
    Shutdown,
)
from supervisors.words.specs import BRUTAL_KILL, ChildSpec

BOOM = Custom("boom")
WHY = Shutdown("why")
CRASH = Error(ValueError("oops"))
CALM = (NORMAL, SHUTDOWN, WHY)
ABNORMAL = (BOOM, KILLED, NOPROC, CRASH, Kill())
R, K, F = After.RESTART, After.KEEP, After.FORGET


def spec(restart: str, **fields) -> ChildSpec:
    return ChildSpec("a", list, restart=restart, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("restart", "if_calm", "if_abnormal"),
    [("permanent", R, R), ("transient", K, R), ("temporary", F, F)],
)
def test_after_an_end(restart, if_calm, if_abnormal) -> None:
    assert {if_calm} == {after(spec(restart), reason) for reason in CALM}
    assert {if_abnormal} == {after(spec(restart), reason) for reason in ABNORMAL}


@pytest.mark.parametrize(
    ("restart", "if_calm"), [("permanent", True), ("transient", False), ("temporary", False)]
)
def test_an_end_is_reported_unless_it_is_calm_and_the_child_may_end(restart, if_calm) -> None:
    assert {if_calm} == {is_reported(spec(restart), reason) for reason in CALM}
    assert {True} == {is_reported(spec(restart), reason) for reason in ABNORMAL}


EXPECTED: list[tuple[str, object, tuple[ExitReason, ...], tuple[ExitReason, ...]]] = [
    ("permanent", 5.0, (SHUTDOWN,), (NORMAL, WHY, BOOM, KILLED, NOPROC)),
    ("transient", 5.0, (SHUTDOWN, NORMAL, WHY), (BOOM, KILLED, NOPROC)),
    ("temporary", None, (SHUTDOWN, NORMAL, WHY), (BOOM, KILLED, NOPROC)),
    ("permanent", BRUTAL_KILL, (KILLED,), (SHUTDOWN, NORMAL, WHY, BOOM, NOPROC)),
    ("transient", BRUTAL_KILL, (KILLED, SHUTDOWN, NORMAL, WHY), (BOOM, NOPROC)),
]


@pytest.mark.parametrize(("restart", "shutdown", "silent", "reported"), EXPECTED)
def test_how_a_stopped_child_is_expected_to_end(restart, shutdown, silent, reported) -> None:
    child = spec(restart, shutdown=shutdown)

    assert {True} == {is_expected(child, reason) for reason in silent}
    assert {False} == {is_expected(child, reason) for reason in reported}


WINDOWS = [
    ("none at all", 0, 5.0, [(0.0, False)]),
    ("one", 1, 5.0, [(0.0, True), (1.0, False)]),
    ("two, and the third is too much", 2, 5.0, [(0.0, True), (0.5, True), (1.0, False)]),
    ("the edge of the window counts", 1, 5.0, [(0.0, True), (5.0, False)]),
    ("beyond the edge does not", 1, 5.0, [(0.0, True), (5.001, True)]),
    ("it slides", 2, 2.0, [(0.0, True), (1.0, True), (2.5, True), (2.9, False), (6.0, True)]),
    ("at the same moment", 3, 5.0, [(7.0, True), (7.0, True), (7.0, True), (7.0, False)]),
]


@pytest.mark.parametrize(("said", "most", "seconds", "restarts"), WINDOWS)
def test_the_window(said, most, seconds, restarts) -> None:
    intensity = Intensity(most, seconds)

    assert [allowed for _, allowed in restarts] == [intensity.allow(now) for now, _ in restarts]


def test_the_window_keeps_no_more_than_it_has_to() -> None:
    intensity = Intensity(3, 1e9)
    for now in range(1000):
        intensity.allow(now)

    assert len(intensity._restarts) == 3
