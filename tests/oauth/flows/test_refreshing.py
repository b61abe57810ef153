"""Tokens that run out: refreshed without the user, and by the user where that does not work."""

from __future__ import annotations

import pytest
from oauth.flows.ways import adds, code, connect, denied, on_both, on_one, works
from oauth.servers.kit import User

from snodo_actors import oauth


def statuses(facts):
    return [fact["status"] for fact in facts]


@on_both
async def test_a_token_that_ran_out_is_refreshed_and_the_refresh_token_changed(at, protect):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user)))
    for _ in range(3):
        await adds(at, client)
        authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    given = [token["refresh_token"] for token in authority.tokens()]
    assert [fact.form("refresh_token") for fact in authority.refreshes()] == given[:3]
    assert statuses(authority.refreshes()) == [200] * 3
    assert len(user.visits) == 1
    assert resource.tokens()[-1] == authority.tokens()[-1]["access_token"]


@on_both
async def test_a_refresh_token_that_does_not_change_is_kept(at, protect):
    authority, resource = protect({"rotates": False})
    user = User()
    client = await at.get(connect(resource, code(user)))
    for _ in range(2):
        await adds(at, client)
        authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    first, second = (fact.form("refresh_token") for fact in authority.refreshes())
    assert first == second
    assert len(user.visits) == 1


@on_one
async def test_a_token_is_not_sent_after_its_time(at, protect):
    authority, resource = protect({"expires_in": 2})
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    await at.sleep(2.1)
    await adds(at, client)
    await at.get(client.close())
    assert statuses(resource.facts())[1:].count(401) == 0
    assert len(authority.refreshes()) >= 1
    assert len(user.visits) == 1


@on_both
async def test_a_token_of_unknown_lifetime_is_used_until_it_is_refused(at, protect):
    authority, resource = protect({"expires_in": None})
    user = User()
    client = await at.get(connect(resource, code(user)))
    for _ in range(3):
        await adds(at, client)
    assert authority.refreshes() == []
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    assert (len(authority.refreshes()), len(user.visits)) == (1, 1)


@on_both
async def test_there_may_be_no_refresh_token(at, protect):
    authority, resource = protect({"refresh_tokens": False})
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    assert (authority.refreshes(), len(user.visits)) == ([], 2)
    assert len(authority.facts("register")) == 1


@on_both
async def test_a_refresh_token_that_is_refused_leads_to_the_user(at, protect):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    authority.revoke("all")
    await adds(at, client)
    await at.get(client.close())
    [refused] = authority.refreshes()
    assert (refused["answer"]["error"], len(user.visits)) == ("invalid_grant", 2)


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 503, "text": ""},
        {"status": 429, "json": {"error": "slow_down"}},
        {"status": 200, "text": "<html>"},
    ],
    ids=str,
)
@on_one
async def test_a_server_in_trouble_does_not_cost_the_refresh_token(at, protect, answer):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    authority.revoke()
    authority.turn(answers={"token": {**answer, "times": 1}})
    await at.outcome(client.call_tool("add", {"a": 1, "b": 2}))
    await adds(at, client)
    await at.get(client.close())
    tried = {fact.form("refresh_token") for fact in authority.refreshes()}
    assert (len(tried), len(user.visits)) == (1, 1)


@on_both
async def test_a_token_that_is_never_good_is_refreshed_once_a_call(at, protect):
    authority, resource = protect(introspect=[])
    user = User()
    client = await at.outcome(connect(resource, code(user)))
    if not isinstance(client, Exception):
        for _ in range(2):
            await at.error(client.call_tool("add", {"a": 1, "b": 2}))
        await at.get(client.close())
    # No storm: every message is sent twice at most.
    assert len(user.visits) + len(authority.refreshes()) <= len(resource.facts())
    assert len(resource.facts()) <= 12


@on_both
async def test_what_a_store_has_is_refreshed_by_whoever_comes_next(at, protect, tmp_path):
    authority, resource = protect()
    user, path = User(), tmp_path / "tokens" / "store.json"
    await works(at, resource, code(user, store=oauth.FileStore(path)))
    authority.revoke()
    await works(at, resource, code(user, store=oauth.FileStore(path)))
    authority.revoke()
    await works(at, resource, code(user, store=oauth.FileStore(path)))
    assert (statuses(authority.refreshes()), len(user.visits)) == ([200, 200], 1)


@on_both
async def test_tokens_in_a_file_are_for_its_owner_only(at, protect, tmp_path):
    _, resource = protect()
    path = tmp_path / "tokens" / "store.json"
    await works(at, resource, code(User(), store=oauth.FileStore(path)))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    others = [one for one in path.parent.rglob("*") if one.is_file() and one != path]
    assert [one for one in others if one.stat().st_size] == []


@on_both
async def test_a_store_that_fails_is_told(at, protect):
    class Full(oauth.MemoryStore):
        async def save(self, key, value):
            raise oauth.AuthorizationError("store", "the disk is full")

    _, resource = protect()
    error = await denied(at, resource, code(User(), store=Full()), "store")
    assert "the disk is full" in str(error)
