"""What a token endpoint may answer to a code, and what is made of it."""

from __future__ import annotations

import pytest
from oauth.flows.ways import code, denied, on_both, on_one, works
from oauth.servers.kit import User


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 200, "text": "<html>"},
        {"status": 200, "text": "[]"},
        {"status": 200, "text": "{}"},
        {"status": 200, "json": {"access_token": 7, "token_type": "Bearer"}},
        {"status": 200, "json": {"access_token": "", "token_type": "Bearer"}},
        {"status": 200, "json": {"access_token": "bad\r\nx-bad: 1", "token_type": "Bearer"}},
        {"status": 200, "json": {"access_token": "good"}},
        {"status": 200, "json": {"access_token": "good", "token_type": "mac"}},
        {"status": 200, "oversized": 2_000_000},
        {"status": 400, "json": {"error": "invalid_grant", "error_description": "old"}},
        {"status": 401, "json": {"error": "invalid_client"}},
        {"status": 500, "text": "oh"},
        {"status": 204, "text": ""},
    ],
    ids=str,
)
@on_one
async def test_a_token_answer_that_is_none_is_refused(at, protect, answer):
    _, resource = protect({"answers": {"token": answer}}, any_token=True)
    user = User()
    error = await denied(at, resource, code(user), "token", "fetch")
    if answer["status"] == 400:
        assert (error.error, error.error_description) == ("invalid_grant", "old")
    assert set(resource.tokens()) == {None}
    assert len(user.visits) == 1


@on_both
async def test_the_type_of_a_token_has_no_case(at, protect):
    _, resource = protect({"token_type": "bEARER"})
    await works(at, resource, code(User()))


@on_both
async def test_a_code_goes_out_once_also_if_the_answer_is_lost(at, protect):
    authority, resource = protect({"answers": {"token": {"status": 502, "text": ""}}})
    await denied(at, resource, code(User()), "token", "fetch")
    codes = [fact.form("code") for fact in authority.facts("token")]
    assert len(codes) == len(set(codes)) == 1
