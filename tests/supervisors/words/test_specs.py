"""What may stand in a child spec and in a supervisor's flags."""

from __future__ import annotations

import warnings

import pytest

from supervisors.words.errors import SpecError
from supervisors.words.specs import BRUTAL_KILL, Backoff, ChildSpec, Count, Flags


def start() -> None: ...


async def called() -> None: ...


def test_the_defaults_are_filled_in() -> None:
    assert _fields(ChildSpec("a", start)) == ("permanent", 5.0, "worker", False, None, ())
    assert _fields(ChildSpec("a", start, type="supervisor")) == (
        "permanent",
        None,
        "supervisor",
        False,
        None,
        (),
    )


def _fields(spec: ChildSpec) -> tuple[object, ...]:
    return (
        spec.restart,
        spec.shutdown,
        spec.type,
        spec.significant,
        spec.restart_delay,
        spec.args,
    )


@pytest.mark.parametrize("shutdown", [0, 0.5, 60, None, BRUTAL_KILL])
def test_shutdown_times(shutdown) -> None:
    assert shutdown == ChildSpec("a", start, shutdown=shutdown).shutdown
    assert shutdown == ChildSpec("a", start, shutdown=shutdown, type="supervisor").shutdown


WRONG = [
    ({"id": None}, "missing_id", "needs an id"),
    ({"id": []}, ("invalid_id", []), "hashable"),
    ({"start": 5}, ("invalid_mfa", 5), "cannot be called"),
    ({"restart": "always"}, ("invalid_restart_type", "always"), '"transient" or "temporary"'),
    ({"significant": "yes"}, ("invalid_significant", "yes"), "True or False"),
    ({"type": "boss"}, ("invalid_child_type", "boss"), '"worker" or "supervisor"'),
    ({"shutdown": -1}, ("invalid_shutdown", -1), "None to wait for ever"),
    ({"shutdown": True}, ("invalid_shutdown", True), "seconds"),
    ({"shutdown": "infinity"}, ("invalid_shutdown", "infinity"), "None to wait for ever"),
    ({"shutdown": float("inf")}, ("invalid_shutdown", float("inf")), "None to wait for ever"),
    ({"restart_delay": 1.0}, ("invalid_restart_delay", 1.0), "Backoff(initial=0.1"),
    ({"args": [1]}, ("invalid_args", [1]), "tuple"),
]


@pytest.mark.parametrize(("fields", "term", "says"), WRONG)
def test_a_wrong_field_is_refused_where_it_is_written(fields, term, says) -> None:
    with pytest.raises(SpecError, match=says.replace("(", r"\(")) as refused:
        ChildSpec(**{"id": "a", "start": start, **fields})

    assert term == refused.value.term


def test_a_start_that_was_called_already_is_refused_without_another_warning() -> None:
    with pytest.raises(SpecError, match=r"it was called.*write|Write for example `ChildSpec"):
        ChildSpec("a", called())  # type: ignore[arg-type]


FLAGS = [
    ({"strategy": "two_for_one"}, ("invalid_strategy", "two_for_one"), "one_for_one"),
    ({"strategy": "simple_one_for_one"}, ("invalid_strategy", "simple_one_for_one"), "template"),
    ({"max_restarts": -1}, ("invalid_intensity", -1), "whole number"),
    ({"max_restarts": 1.5}, ("invalid_intensity", 1.5), "whole number"),
    ({"max_restarts": True}, ("invalid_intensity", True), "whole number"),
    ({"max_seconds": 0}, ("invalid_period", 0), "seconds above 0"),
    ({"max_seconds": "5"}, ("invalid_period", "5"), "seconds above 0"),
    ({"auto_shutdown": "always"}, ("invalid_auto_shutdown", "always"), "any_significant"),
]


@pytest.mark.parametrize(("fields", "term", "says"), FLAGS)
def test_a_wrong_flag_is_refused(fields, term, says) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        Flags(**fields)

    assert term == refused.value.term


BACKOFFS = [
    {"initial": -1},
    {"initial": "1"},
    {"initial": True},
    {"initial": float("nan")},
    {"maximum": 0.5},
    {"maximum": float("inf")},
    {"factor": 0.5},
    {"jitter": 1.5},
]


@pytest.mark.parametrize("fields", BACKOFFS, ids=str)
def test_a_wrong_backoff_is_refused(fields) -> None:
    with pytest.raises(SpecError, match=f"Backoff: {next(iter(fields))} must be") as refused:
        Backoff(**{"initial": 1.0, "maximum": 60.0, **fields})

    assert f"invalid_{next(iter(fields))}" == refused.value.term[0]


MILLISECONDS = [
    (lambda: ChildSpec("a", start, shutdown=5000), "write 5."),
    (lambda: Flags(max_seconds=60000), "write 60."),
]


@pytest.mark.parametrize(("make", "says"), MILLISECONDS)
def test_a_time_that_looks_like_milliseconds_is_warned_about_where_it_is_written(
    make, says
) -> None:
    with pytest.warns(UserWarning, match=says) as caught:
        make()

    assert __file__ == caught[0].filename


def test_a_long_time_as_a_float_is_taken_as_it_is() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ChildSpec("a", start, shutdown=5000.0).shutdown == 5000.0
        assert ChildSpec("a", start, shutdown=999).shutdown == 999


def test_counts_read_like_otp() -> None:
    assert repr(Count(3, 2, 1, 2)) == "Count(specs=3, active=2, supervisors=1, workers=2)"
