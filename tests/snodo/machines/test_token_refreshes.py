from __future__ import annotations

import pytest

from snodo_actors.machines.token_refreshes import Newer, TokenRefreshes, Want, want
from snodo_actors.words.types import Challenge

NONE = frozenset()
T0 = Want("t0", NONE)


@pytest.mark.parametrize(
    ("expected", "challenge"),
    [
        (NONE, None),
        (NONE, Challenge("bearer", {"error": "invalid_token", "scope": "read"})),
        (NONE, Challenge("bearer", {"scope": "read"})),
        ({"a", "b"}, Challenge("dpop", {"error": "insufficient_scope", "scope": "b a"})),
        (NONE, Challenge("bearer", {"error": "insufficient_scope"})),
    ],
)
def test_what_is_wanted(expected, challenge):
    assert want("t0", challenge) == ("t0", expected)


def refreshed(token="t1", wants=T0):
    """Make the books of a connection that has had one refresh."""
    refreshes = TokenRefreshes[str](limit=9)
    assert refreshes.refused("a", wants, 0) == "lead"
    assert refreshes.ended(wants, token) == ["a"]
    return refreshes


def test_those_refused_with_one_token_wait_for_one_refresh():
    refreshes = TokenRefreshes[str](limit=3)
    roles = [refreshes.refused(who, T0, 0) for who in "abcd"]
    assert roles == ["lead", "wait", "wait", "full"]
    assert (refreshes.count, refreshes.ended(T0, "t1"), refreshes.count) == (0, ["a", "b", "c"], 1)


def test_another_token_or_other_scopes_are_another_refresh():
    refreshes = TokenRefreshes[str](limit=9)
    wants = [T0, Want("t1", NONE), Want(None, NONE), Want("t0", frozenset({"write"})), T0]
    assert [refreshes.refused(str(at), one, 0) for at, one in enumerate(wants)] == [
        *["lead"] * 4,
        "wait",
    ]


@pytest.mark.parametrize(
    ("expected", "wants", "since"),
    [
        # it asked for its token before the refresh ended
        (Newer("t1"), T0, 0),
        (Newer("t1"), Want(None, NONE), 0),
        (Newer("t1"), Want("t9", NONE), 0),
        # it has that token
        ("lead", Want("t1", NONE), 0),
        # it asked after that: what it has is what the provider thinks is good
        ("lead", T0, 1),
        ("lead", Want(None, NONE), 1),
        # it lacks scopes that the newer token was not asked for
        ("lead", Want("t0", frozenset({"write"})), 0),
    ],
)
def test_who_is_late_has_a_newer_token(expected, wants, since):
    assert expected == refreshed().refused("b", wants, since)


@pytest.mark.parametrize(
    ("expected", "scopes"),
    [(Newer("t1"), set()), (Newer("t1"), {"write"}), ("lead", {"write", "admin"})],
)
def test_a_newer_token_may_have_the_scopes(expected, scopes):
    refreshes = refreshed(wants=Want("t0", frozenset({"read", "write"})))

    assert expected == refreshes.refused("b", Want("t0", frozenset(scopes)), 0)


def test_a_refresh_that_failed_brought_nothing():
    refreshes = refreshed(token=None)

    assert refreshes.count == 0
    assert refreshes.refused("b", T0, 0) == "lead"
