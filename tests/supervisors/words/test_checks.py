"""What arguments are accepted, and what is said of the others."""

from __future__ import annotations

import math

import pytest

from supervisors.words import checks
from supervisors.words.errors import SpecError
from supervisors.words.said import brief, said


async def work(*_args: object) -> None: ...


class Via:
    def whereis(self) -> None: ...


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


@pytest.mark.parametrize("value", [0, 0.0, 5, 0.25, math.inf])
def test_times_that_are_accepted(value) -> None:
    assert checks.seconds("timeout", value) is value
    checks.some_seconds("timeout", value)
    checks.number("timeout", value)


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, "5", True, [], -math.inf])
def test_times_that_are_refused(value) -> None:
    for check in (checks.seconds, checks.some_seconds):
        with pytest.raises(SpecError, match=r"timeout is in seconds.* write timeout=5\.0"):
            check("timeout", value)


def test_no_limit_is_a_time_where_it_can_be_one() -> None:
    assert checks.seconds("timeout", None) is None
    with pytest.raises(SpecError, match="kill_grace is a number of seconds, not None"):
        checks.some_seconds("kill_grace", None)


@pytest.mark.parametrize("value", [-1, -2.5])
def test_a_moment_may_lie_in_the_past(value) -> None:
    checks.number("when", value)


@pytest.mark.parametrize("value", [None, "1", False, math.nan])
def test_what_is_no_moment(value) -> None:
    with pytest.raises(SpecError, match="when is a number, not"):
        checks.number("when", value)


def test_functions() -> None:
    assert checks.function("spawn", work) is work
    with pytest.raises(SpecError, match="spawn takes a function, not 5: write spawn"):
        checks.function("spawn", 5)
    running = work(1)
    with pytest.raises(SpecError, match=r"not a coroutine: write spawn\(work, \.\.\.\)"):
        checks.function("spawn", running)
    assert running.cr_frame is None  # it was closed, so nothing warns of it


@pytest.mark.parametrize("value", ["counter", Via()])
def test_names(value) -> None:
    checks.name(value)


@pytest.mark.parametrize("value", [5, None, b"counter"])
def test_what_is_no_name(value) -> None:
    with pytest.raises(SpecError, match='write name="counter"'):
        checks.name(value)


def test_instances() -> None:
    checks.instance("a node", 5, int, "node=node")
    checks.instance("a node", "5", (int, str), "node=node")
    with pytest.raises(SpecError, match=r"a node is not 'x': write node=node"):
        checks.instance("a node", "x", int, "node=node")


def test_what_is_shown_of_foreign_values() -> None:
    assert (brief("x" * 90), brief("x"), said("x")) == ("'" + "x" * 76 + "...", "'x'", "x")
    assert (brief(Mute()), said(Mute())) == ("<Mute that cannot be shown>",) * 2
