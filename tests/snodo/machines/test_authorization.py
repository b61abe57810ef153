from __future__ import annotations

import pytest

from snodo_actors.machines.authorization import Refresh, Unauthorized, judge
from snodo_actors.words.types import Challenge

INVALID = 'Bearer error="invalid_token"'
SCOPE = 'Bearer error="insufficient_scope", scope="write"'
NEEDS_SCOPE = Challenge("bearer", {"error": "insufficient_scope", "scope": "write"})


@pytest.mark.parametrize(
    ("status", "challenges", "expected"),
    [
        (200, [SCOPE], None),
        (400, [INVALID], None),
        (401, [], Refresh(None)),
        (401, [INVALID], Refresh(Challenge("bearer", {"error": "invalid_token"}))),
        (403, [], None),
        (403, [INVALID], None),
        (403, ["Basic", SCOPE], Refresh(NEEDS_SCOPE)),
    ],
)
def test_first_attempt(status, challenges, expected):
    assert expected == judge(status, challenges, refreshed=False)


@pytest.mark.parametrize(
    ("status", "challenges", "challenge"),
    [(401, [], None), (403, [], None), (403, [SCOPE], NEEDS_SCOPE)],
)
def test_a_second_refusal_is_the_end(status, challenges, challenge):
    verdict = judge(status, challenges, refreshed=True)
    assert isinstance(verdict, Unauthorized)
    assert (-32000, "transport", ("unauthorized", status, challenge)) == (
        verdict.error.code,
        verdict.error.kind,
        verdict.error.cause,
    )


@pytest.mark.parametrize("status", [200, 404, 500])
def test_any_other_status_is_no_refusal(status):
    assert judge(status, [SCOPE], refreshed=True) is None
