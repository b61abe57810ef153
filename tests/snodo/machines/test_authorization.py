from __future__ import annotations

import pytest

from snodo_actors.machines.authorization import (
    UNTRIED,
    Guard,
    Refresh,
    SendAgain,
    Tried,
    Unauthorized,
    judge,
)
from snodo_actors.words.types import Challenge

INVALID = 'Bearer error="invalid_token"'
SCOPE = 'Bearer error="insufficient_scope", scope="write"'
NONCE = 'DPoP error="use_dpop_nonce"'
NEEDS_SCOPE = Challenge("bearer", {"error": "insufficient_scope", "scope": "write"})
NEEDS_NONCE = Challenge("dpop", {"error": "use_dpop_nonce"})
PROVES = Guard("dpop", nonces=True)
REFRESHED = Tried(refreshed=True)


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
@pytest.mark.parametrize("guard", [Guard(), PROVES, Guard(tells=True)])
def test_first_attempt(status, challenges, expected, guard):
    assert expected == judge(status, challenges, guard, UNTRIED)


@pytest.mark.parametrize(
    ("status", "challenges", "challenge"),
    [(401, [], None), (403, [], None), (403, [SCOPE], NEEDS_SCOPE)],
)
def test_a_second_refusal_is_the_end(status, challenges, challenge):
    verdict = judge(status, challenges, Guard(), REFRESHED)
    assert isinstance(verdict, Unauthorized)
    assert (-32000, "transport", ("unauthorized", status, challenge)) == (
        verdict.error.code,
        verdict.error.kind,
        verdict.error.cause,
    )


@pytest.mark.parametrize("status", [200, 404, 500])
def test_any_other_status_is_no_refusal(status):
    assert judge(status, [SCOPE], Guard(), REFRESHED) is None


@pytest.mark.parametrize(
    ("expected", "status", "challenges", "guard", "tried"),
    [
        (SendAgain(NEEDS_NONCE), 401, [NONCE], PROVES, UNTRIED),
        (SendAgain(NEEDS_NONCE), 401, [INVALID, NONCE], PROVES, UNTRIED),
        # once for each token
        (Refresh(NEEDS_NONCE), 401, [NONCE], PROVES, Tried(nonced=True)),
        (SendAgain(NEEDS_NONCE), 401, [NONCE], PROVES, REFRESHED),
        # only where a proof can have a nonce, and where the challenge that counts asks for it
        (Refresh(NEEDS_NONCE), 401, [NONCE], Guard("dpop"), UNTRIED),
        (Refresh(Challenge("bearer", {"error": "invalid_token"})), 401, [INVALID, NONCE],
         Guard(nonces=True), UNTRIED),
        (None, 403, [NONCE], PROVES, UNTRIED),
    ],
)  # fmt: skip
def test_a_nonce(expected, status, challenges, guard, tried):
    assert expected == judge(status, challenges, guard, tried)


def test_a_nonce_for_both_tokens_and_then_the_end():
    verdict = judge(401, [NONCE], PROVES, Tried(refreshed=True, nonced=True))

    assert isinstance(verdict, Unauthorized)
    assert verdict.error.cause == ("unauthorized", 401, NEEDS_NONCE)
