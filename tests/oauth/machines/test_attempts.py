from __future__ import annotations

from snodo_actors.oauth.machines.attempts import FORGOTTEN_AFTER, MAX_WANTS, Attempts


def test_a_want_has_a_number_of_attempts() -> None:
    attempts = Attempts(2)

    assert [attempts.allow("r", ["a"], 0.0) for _ in range(4)] == [True, True, False, False]


def test_each_want_has_its_own() -> None:
    attempts = Attempts(1)

    assert attempts.allow("r", ["a", "b"], 0.0)
    assert not attempts.allow("r", ["b", "a"], 0.0)
    assert attempts.allow("r", ["a"], 0.0)
    assert attempts.allow("other", ["a", "b"], 0.0)


def test_an_hour_later_it_may_be_tried_anew() -> None:
    attempts = Attempts(1)

    assert attempts.allow("r", [], 0.0)
    assert not attempts.allow("r", [], FORGOTTEN_AFTER)  # and this was no attempt
    assert attempts.allow("r", [], FORGOTTEN_AFTER + 1)


def test_only_so_many_are_remembered() -> None:
    attempts = Attempts(1)
    for number in range(MAX_WANTS + 1):
        assert attempts.allow(f"{number}", [], 0.0)

    assert attempts.allow("0", [], 0.0)  # forgotten
    assert not attempts.allow(f"{MAX_WANTS}", [], 0.0)
