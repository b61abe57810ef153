"""Why a process ended: which reasons are calm, which are equal, how they are read and said."""

from __future__ import annotations

import copy
import pickle

import pytest

from supervisors.words.errors import ExitProcess, SpecError, StartFailed
from supervisors.words.reasons import (
    KILL,
    KILLED,
    NOCONNECTION,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    BadReturn,
    CallingSelf,
    Custom,
    Error,
    ExitReason,
    FailedToStartChild,
    Kill,
    Killed,
    NoConnection,
    NoProc,
    Normal,
    Shutdown,
    TimedOut,
    as_reason,
)

OOPS = ValueError("oops")

# reason, is it calm, is it normal, how it is said
REASONS = [
    (Normal(), True, True, "normal"),
    (Shutdown(), True, False, "shutdown"),
    (Shutdown("upgrade"), True, False, "shutdown: upgrade"),
    (Shutdown(("a", 1)), True, False, "shutdown: ('a', 1)"),
    (Kill(), False, False, "kill"),
    (Killed(), False, False, "killed"),
    (NoProc(), False, False, "no such process"),
    (NoConnection(), False, False, "the connection was lost"),
    (TimedOut(), False, False, "timeout"),
    (CallingSelf(), False, False, "a process called itself"),
    (Error(OOPS), False, False, "ValueError: oops"),
    (BadReturn([1]), False, False, "bad return value [1]"),
    (Custom("boom"), False, False, "boom"),
    (Custom(7), False, False, "7"),
]


@pytest.mark.parametrize(("reason", "calm", "normal", "said"), REASONS)
def test_what_a_reason_is_and_says(reason, calm, normal, said) -> None:
    assert (calm, normal, said) == (reason.is_calm, reason.is_normal, str(reason))


@pytest.mark.parametrize(("reason", "calm", "normal", "said"), REASONS)
def test_a_reason_can_be_copied_and_sent_elsewhere(reason, calm, normal, said) -> None:
    assert (reason, reason, reason) == (
        pickle.loads(pickle.dumps(reason)),
        copy.copy(reason),
        copy.deepcopy(reason),
    )


def test_all_reasons_differ() -> None:
    reasons = [reason for reason, *_ in REASONS]

    assert all((one == other) == (one is other) for one in reasons for other in reasons)


def test_a_reason_is_equal_to_one_that_says_the_same() -> None:
    assert Shutdown("a") == Shutdown("a") != Shutdown("b")
    assert Custom([1]) == Custom([1]) != Custom([2])
    assert Custom("normal") != Normal()
    assert BadReturn(1) == BadReturn(1) != Custom(1)


# two exceptions, and whether the errors are equal
ERRORS = [
    (OOPS, OOPS, True),
    (ValueError("oops"), ValueError("oops"), True),
    (ValueError("oops"), ValueError("other"), False),
    (ValueError("oops"), TypeError("oops"), False),
    (UnicodeError("oops"), ValueError("oops"), False),
]


@pytest.mark.parametrize(("one", "other", "equal"), ERRORS)
def test_errors_are_equal_by_type_and_arguments_of_the_exception(one, other, equal) -> None:
    assert equal == (Error(one) == Error(other))
    assert not equal or hash(Error(one)) == hash(Error(other))


def test_an_error_is_equal_to_errors_only() -> None:
    assert Error(OOPS) != OOPS
    assert Error(OOPS) != Custom(OOPS)


def test_an_error_keeps_the_exception_with_its_traceback() -> None:
    try:
        raise OOPS
    except ValueError as error:
        reason = as_reason(error)

    assert isinstance(reason, Error)
    assert (reason.exception, OOPS.__traceback__ is not None) == (OOPS, True)


def test_reasons_are_hashable_where_their_term_is() -> None:
    assert len({Shutdown("a"), Shutdown("a"), Normal()}) == 2
    assert len({Error(ValueError([])), Error(ValueError([]))}) == 1
    with pytest.raises(TypeError):
        hash(Custom([]))


def test_a_reason_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        SHUTDOWN.term = "x"  # type: ignore[misc]


# what a user wrote, how it is read
READ = [
    ("normal", NORMAL),
    ("shutdown", SHUTDOWN),
    ("kill", KILL),
    ("killed", KILLED),
    ("noproc", NOPROC),
    ("noconnection", NOCONNECTION),
    (("shutdown", "upgrade"), Shutdown("upgrade")),
    (("shutdown", None), SHUTDOWN),
    (NORMAL, NORMAL),
    (Custom("boom"), Custom("boom")),
    (OOPS, Error(OOPS)),
    (KeyboardInterrupt(), Error(KeyboardInterrupt())),
    (ExitProcess("boom"), Custom("boom")),
    (ExitProcess(SHUTDOWN), SHUTDOWN),
    (ExitProcess(ExitProcess("normal")), NORMAL),
    (StartFailed("boom"), Custom("boom")),
    (SpecError("text", "missing_id"), Custom("missing_id")),
    ("boom", Custom("boom")),
    ("Normal", Custom("Normal")),
    (("shutdown",), Custom(("shutdown",))),
    (("shutdown", 1, 2), Custom(("shutdown", 1, 2))),
    (("stop", 1), Custom(("stop", 1))),
    (None, Custom(None)),
    (7, Custom(7)),
    ([], Custom([])),
    (ValueError, Custom(ValueError)),
]


@pytest.mark.parametrize(("written", "reason"), READ, ids=[repr(row[0]) for row in READ])
def test_how_what_a_user_wrote_is_read(written, reason) -> None:
    assert reason == as_reason(written)


def test_a_spec_error_without_a_term_is_an_error() -> None:
    error = SpecError("text")

    assert Error(error) == as_reason(error)


def test_an_exception_with_a_foreign_exit_reason_is_an_error() -> None:
    class Foreign(Exception):
        exit_reason = "normal"

    error = Foreign()

    assert Error(error) == as_reason(error)


def test_the_reason_of_a_failed_start_names_the_child() -> None:
    reason = Shutdown(FailedToStartChild("db", Custom("boom")))

    assert str(reason) == "shutdown: the child 'db' failed to start: boom"
    assert (reason, True) == (pickle.loads(pickle.dumps(reason)), reason.is_calm)


def test_every_reason_is_an_exit_reason_and_abnormal_unless_it_says_otherwise() -> None:
    class Mine(ExitReason):
        pass

    mine = Mine()

    assert (False, False, mine) == (mine.is_calm, mine.is_normal, as_reason(mine))


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_error_whose_exception_cannot_be_said_can_be_said_all_the_same() -> None:
    assert "Unspeakable" in str(Error(Unspeakable()))
