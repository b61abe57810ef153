"""Which scopes are asked for: first, and when a call needs more."""

from __future__ import annotations

import pytest
from case_servers import text_of
from oauth.flows.ways import adds, code, connect, on_both, on_one, works
from oauth.servers.kit import User

import snodo_actors as snodo

READ, WRITE = "mcp:read", "mcp:write"


@pytest.mark.parametrize(
    ("challenge", "supported", "asked"),
    [
        ('scope="x:y"', ["a", "b"], {"x:y"}),
        ('scope="x:y a"', ["a", "b"], {"x:y", "a"}),
        ("", ["a", "b"], {"a", "b"}),
        ("", None, None),
        ("", [], None),
    ],
)
@on_one
async def test_which_scopes_are_asked_for_first(at, protect, challenge, supported, asked):
    authority, resource = protect(challenge=challenge, scopes_supported=supported)
    await works(at, resource, code(User()))
    [fact] = authority.facts("authorize")
    if asked is None:
        assert "scope" not in dict(fact["query"])
    else:
        assert fact.scopes == asked


@on_both
async def test_the_scopes_of_an_authorization_server_are_no_reason_to_ask_for_them(at, protect):
    authority, resource = protect({"scopes_supported": ["all", "admin"]})
    await works(at, resource, code(User()))
    [fact] = authority.facts("authorize")
    assert fact.scopes <= {"offline_access"}


@pytest.mark.parametrize("listed", [["a"], None, ["a", "offline_access"]], ids=str)
@on_one
async def test_offline_access_is_asked_for_only_where_it_is_listed(at, protect, listed):
    authority, resource = protect({"scopes_supported": listed}, scopes_supported=["a"])
    await works(at, resource, code(User()))
    [fact] = authority.facts("authorize")
    allowed = {"a", "offline_access"} if listed and "offline_access" in listed else {"a"}
    assert {"a"} <= fact.scopes <= allowed


# ---- more, later


def needing(**more):
    """A server that is content with read at first, and whose tool `write` needs more."""
    return {"challenge": f'scope="{READ}"', "needs": {"write": WRITE, "read": READ}, **more}


@on_both
async def test_a_call_that_needs_more_asks_for_it_and_keeps_what_there_was(at, protect):
    authority, resource = protect(**needing(scopes_supported=[READ, "unrelated"]))
    user = User()
    client = await at.get(connect(resource, code(user)))
    assert text_of(await at.get(client.call_tool("read"))) == "read"
    for _ in range(2):
        assert text_of(await at.get(client.call_tool("write"))) == "written"
        assert text_of(await at.get(client.call_tool("read"))) == "read"
    await at.get(client.close())
    first, second = authority.facts("authorize")
    assert (first.scopes, second.scopes) == ({READ}, {READ, WRITE})
    assert first.query("resource") == second.query("resource") == resource.url


@on_both
async def test_what_was_asked_for_counts_also_if_less_was_given(at, protect):
    authority, resource = protect({"grants_scope": READ}, **needing())
    client = await at.get(connect(resource, code(User())))
    resource.turn(asks_for={"write": "first"})
    await at.error(client.call_tool("write"))
    resource.turn(asks_for={"write": "second"})
    await at.outcome(client.call_tool("write"))
    await at.get(client.close())
    asked = authority.facts("authorize")
    assert asked[0].scopes == {READ}
    assert {READ, "first"} == asked[1].scopes
    assert all(
        fact.scopes >= {READ, "first", "second"} for fact in asked if "second" in fact.scopes
    )


@on_both
async def test_a_call_that_never_has_enough_gives_up(at, protect):
    authority, resource = protect(**needing(never_enough=["write"]))
    user = User()
    client = await at.get(connect(resource, code(user, max_step_ups=2)))
    assert text_of(await at.get(client.call_tool("read"))) == "read"
    errors = [await at.error(client.call_tool("write")) for _ in range(5)]
    assert 1 <= len(authority.facts("authorize")) <= 3
    assert all(isinstance(error, snodo.TransportError) for error in errors)
    assert WRITE in str(errors[-1]) or WRITE in repr(errors[-1].cause)
    # The others go on, and the failure is remembered.
    assert text_of(await at.get(client.call_tool("read"))) == "read"
    await adds(at, client)
    before = len(authority.facts()), len(resource.metadata_facts())
    await at.error(client.call_tool("write"))
    assert (len(authority.facts()), len(resource.metadata_facts())) == before
    await at.get(client.close())


@on_both
async def test_one_failure_is_not_that_of_another_operation(at, protect):
    more = {"needs": {"write": WRITE, "nap": "mcp:nap"}, "never_enough": ["write"]}
    authority, resource = protect(**needing(**more))
    client = await at.get(connect(resource, code(User(), max_step_ups=1)))
    for _ in range(2):
        await at.error(client.call_tool("write"))
    assert text_of(await at.get(client.call_tool("nap", {"seconds": 0}))) == "awake"
    await at.get(client.close())
    assert "mcp:nap" in authority.facts("authorize")[-1].scopes


@on_both
async def test_calls_that_need_more_at_the_same_time_ask_once(at, protect):
    authority, resource = protect(**needing())
    user = User()
    client = await at.get(connect(resource, code(user), pool_size=16))
    calls = [client.call_tool("write") for _ in range(16)]
    assert [text_of(one) for one in await at.all(*calls)] == ["written"] * 16
    await at.get(client.close())
    assert len(user.visits) == 2
    assert [fact.scopes for fact in authority.facts("authorize")] == [{READ}, {READ, WRITE}]


@on_both
async def test_a_user_who_says_no_to_more_keeps_what_there_was(at, protect):
    authority, resource = protect(**needing())
    user = User()
    client = await at.get(connect(resource, code(user)))
    assert text_of(await at.get(client.call_tool("read"))) == "read"
    authority.turn(consent=False)
    error = await at.error(client.call_tool("write"))
    assert getattr(error, "error", None) == "access_denied"
    assert text_of(await at.get(client.call_tool("read"))) == "read"
    assert len(user.visits) == 2
    await at.get(client.close())


@on_both
async def test_a_refusal_for_another_reason_asks_nobody(at, protect):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    before = len(authority.facts())
    resource.turn(forbidden=["write"])
    error = await at.error(client.call_tool("write"))
    assert isinstance(error, snodo.TransportError)
    assert (len(user.visits), len(authority.facts())) == (1, before)
    await at.get(client.close())


@on_both
async def test_more_scopes_at_one_server_leave_another_as_it_was(at, authority, resource_of):
    one, two = resource_of(authority, **needing()), resource_of(authority, **needing())
    user = User()
    provider = code(user)
    first, second = await at.all(connect(one, provider), connect(two, provider))
    await adds(at, first)
    await adds(at, second)
    assert text_of(await at.get(first.call_tool("write"))) == "written"
    authority.revoke()
    await adds(at, first)
    await adds(at, second)
    await at.get(first.close())
    await at.get(second.close())
    assert len(user.visits) == 3
    assert {fact["status"] for fact in authority.refreshes()} == {200}


@on_both
async def test_scopes_outlive_the_token(at, protect):
    authority, resource = protect(**needing())
    user = User()
    client = await at.get(connect(resource, code(user)))
    assert text_of(await at.get(client.call_tool("write"))) == "written"
    authority.revoke()
    assert text_of(await at.get(client.call_tool("write"))) == "written"
    authority.revoke("all")
    assert text_of(await at.get(client.call_tool("write"))) == "written"
    await at.get(client.close())
    assert authority.facts("authorize")[-1].scopes == {READ, WRITE}
