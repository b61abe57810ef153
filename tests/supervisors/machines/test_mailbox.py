"""Whether a bounded mailbox takes a message."""

from __future__ import annotations

import pytest

from supervisors.machines.mailbox import OVERFLOWS, Bound, Verdict
from supervisors.words.errors import SpecError

FULL = [
    ("block", Verdict.WAIT),
    ("reject", Verdict.REJECT),
    ("drop_oldest", Verdict.DROP_OLDEST),
    ("drop_newest", Verdict.DROP_NEWEST),
]


@pytest.mark.parametrize(("overflow", "when_full"), FULL)
def test_a_mailbox_takes_messages_up_to_its_limit(overflow, when_full) -> None:
    bound = Bound(2, overflow)

    assert [Verdict.TAKE, Verdict.TAKE, when_full, when_full] == [
        bound.verdict(unread) for unread in range(4)
    ]


def test_every_overflow_policy_is_in_the_table() -> None:
    assert tuple(overflow for overflow, _ in FULL) == OVERFLOWS


def test_a_bound_rejects_unless_told_otherwise() -> None:
    assert Bound(3, "reject") == Bound(3)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "10", None, True])
def test_a_limit_that_is_no_positive_number_is_refused_with_the_line_to_write(limit) -> None:
    with pytest.raises(SpecError, match=r"Write for example `mailbox_bound = Bound\(") as raised:
        Bound(limit)

    assert repr(limit) in str(raised.value)


@pytest.mark.parametrize("overflow", ["", "drop", "REJECT", None])
def test_an_unknown_overflow_is_refused_with_the_choice_there_is(overflow) -> None:
    with pytest.raises(SpecError, match="block, reject, drop_oldest, drop_newest") as raised:
        Bound(1, overflow)

    assert repr(overflow) in str(raised.value)


def test_an_overflow_that_cannot_be_hashed_is_refused_too() -> None:
    with pytest.raises(SpecError, match="drop_oldest"):
        Bound(1, ["reject"])  # type: ignore[arg-type]
