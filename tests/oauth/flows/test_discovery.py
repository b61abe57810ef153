"""From a 401 to the authorization server: where its name is looked for, and its metadata."""

from __future__ import annotations

import pytest
from oauth.flows.ways import adds, code, connect, denied, failure, on_both, on_one, untouched, works
from oauth.servers.kit import CALLBACK, User

from snodo_actors import oauth

PATH = "/.well-known/oauth-protected-resource/mcp"
ROOT = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"

# ---- where the metadata of the protected server are


@pytest.mark.parametrize(
    ("says", "there", "asked"),
    [
        ("path", ["path"], [PATH]),
        ("path", ["path", "root"], [PATH]),
        ("root", ["path", "root"], [ROOT]),
        ("custom", ["custom", "path", "root"], ["/custom/metadata"]),
        (None, ["path", "root"], [PATH]),
        (None, ["root"], [PATH, ROOT]),
    ],
)
@on_one
async def test_where_the_metadata_of_a_protected_server_are(at, protect, says, there, asked):
    authority, resource = protect(says=says, metadata=there)
    await works(at, resource, code(User()))
    assert resource.places() == asked
    assert [fact.header("authorization") for fact in resource.metadata_facts()] == [None] * len(
        asked
    )
    assert len(authority.facts("authorize")) == 1


@on_both
async def test_a_refusal_without_a_challenge_leads_to_the_well_known_places(at, protect):
    _, resource = protect(challenges=[])
    await works(at, resource, code(User()))
    assert resource.places() == [PATH]


@on_one
async def test_the_challenge_that_counts_is_the_bearer_one(at, protect):
    _, resource = protect(metadata=["custom"])
    wrong = f'Negotiate, Basic realm="resource_metadata={resource.origin}/wrong"'
    right = f'bEaReR error="invalid_token", RESOURCE_METADATA="{resource.origin}/custom/metadata"'
    resource.turn(challenges=[wrong, right])
    await works(at, resource, code(User()))
    assert resource.places() == ["/custom/metadata"]


@on_one
async def test_a_refusal_long_after_the_first_is_reacted_to_as_well(at, protect):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    authority.revoke()
    await adds(at, client)
    assert len(authority.refreshes()) + len(user.visits) == 2
    await at.get(client.close())


@on_one
async def test_an_open_server_costs_no_authorization(at, protect):
    free = [
        "initialize",
        "notifications/initialized",
        "server/discover",
        "tools/call",
        "tools/list",
    ]
    authority, resource = protect(open=free)
    user = User()
    await works(at, resource, code(user))
    assert (authority.facts(), resource.places(), user.visits) == ([], [], [])
    assert set(resource.tokens()) == {None}


# ---- what they have to say


@on_one
async def test_the_resource_may_be_the_parent_of_the_server_and_is_sent_as_it_is(at, protect):
    authority, resource = protect(resource="parent")
    await works(at, resource, code(User()))
    [asked], [token] = authority.facts("authorize"), authority.facts("token")
    assert (asked.query("resource"), token.form("resource")) == (resource.origin, resource.origin)


@pytest.mark.parametrize(
    "said",
    [
        "https://other.example/mcp",
        "{origin}/other",
        "{origin}/mc",
        "{origin}/mcp/deeper",
        "{origin}9/mcp",
        "http://localhost:1/mcp",
        "not a url",
        "",
    ],
)
@on_one
async def test_metadata_of_another_resource_are_refused(at, protect, said):
    authority, resource = protect()
    resource.turn(resource=said.replace("{origin}", resource.origin))
    user = User()
    await denied(at, resource, code(user), "discovery")
    assert resource.places()
    untouched(authority, user)


@pytest.mark.parametrize(
    "extra",
    [
        {"resource": None},
        {"resource": 7},
        {"authorization_servers": []},
        {"authorization_servers": "https://other.example"},
        {"authorization_servers": [7]},
    ],
    ids=str,
)
@on_one
async def test_metadata_that_do_not_say_what_they_have_to_are_refused(at, protect, extra):
    authority, resource = protect(extra=extra)
    user = User()
    await denied(at, resource, code(user), "discovery")
    untouched(authority, user)


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "<html>"},
        {"text": "[]"},
        {"text": "null"},
        {"text": '{"resource": '},
        {"status": 500, "text": "{}"},
    ],
    ids=str,
)
@on_one
async def test_metadata_that_are_none_are_refused(at, protect, answer):
    authority, resource = protect(answer=answer)
    user = User()
    await denied(at, resource, code(user), "discovery", "fetch")
    untouched(authority, user)


# ---- the metadata of the authorization server


@pytest.mark.parametrize(
    ("issuer_path", "there", "asked"),
    [
        ("", "oauth", [OAUTH]),
        ("", "openid_appended", [OAUTH, OPENID]),
        ("/tenant1", "oauth", [f"{OAUTH}/tenant1"]),
        ("/tenant1", "openid_inserted", [f"{OAUTH}/tenant1", f"{OPENID}/tenant1"]),
        (
            "/tenant1",
            "openid_appended",
            [f"{OAUTH}/tenant1", f"{OPENID}/tenant1", f"/tenant1{OPENID}"],
        ),
    ],
)
@on_one
async def test_where_the_metadata_of_an_authorization_server_are(
    at, protect, issuer_path, there, asked
):
    authority, resource = protect({"issuer_path": issuer_path, "metadata": [there]})
    await works(at, resource, code(User()))
    found = [path for path in authority.paths() if ".well-known" in path]
    assert found == asked


@on_one
async def test_an_authorization_server_without_metadata_is_refused(at, protect):
    authority, resource = protect({"metadata": [], "issuer_path": "/tenant1"})
    user = User()
    await denied(at, resource, code(user), "discovery", "fetch")
    assert authority.paths() == [
        f"{OAUTH}/tenant1",
        f"{OPENID}/tenant1",
        f"/tenant1{OPENID}",
    ]
    untouched(authority, user)


@pytest.mark.parametrize(
    "said",
    ["{issuer}/", "https://other.example", "{origin}", "{origin}/TENANT1", "{issuer}%2F", "", 7],
    ids=str,
)
@on_one
async def test_metadata_of_another_issuer_are_refused(at, protect, said):
    authority, resource = protect({"issuer_path": "/tenant1"})
    if isinstance(said, str):
        said = said.format(issuer=authority.issuer, origin=authority.origin)
    authority.turn(extra={"issuer": said})
    user = User()
    await denied(at, resource, code(user), "discovery")
    untouched(authority, user)


@pytest.mark.parametrize("field", ["authorization_endpoint", "token_endpoint", "issuer"])
@on_one
async def test_metadata_without_an_endpoint_are_refused(at, protect, field):
    authority, resource = protect({"extra": {field: None}})
    user = User()
    await denied(at, resource, code(user), "discovery", "authorization")
    untouched(authority, user)


@on_one
async def test_the_first_of_several_authorization_servers_is_taken(at, authority_of, resource_of):
    first, second = authority_of(), authority_of()
    resource = resource_of(first, second)
    await works(at, resource, code(User()))
    assert len(first.facts("token")) == 1
    assert second.facts() == []


@on_one
async def test_the_authorization_server_where_we_are_known_is_taken(at, authority_of, resource_of):
    known = {"client_id": "known", "client_secret": "s3cret", "redirect_uris": [CALLBACK]}
    first, second = authority_of(), authority_of(clients=[known])
    resource = resource_of(first, second, introspect=[f"{second.origin}/introspect"])
    client = oauth.RegisteredClient("known", "s3cret", issuer=second.issuer)
    await works(at, resource, code(User(), client=client))
    assert len(second.facts("token")) == 1
    assert first.facts() == []


@on_one
async def test_a_server_without_any_metadata_fails_and_says_so(at, protect):
    authority, resource = protect(metadata=[])
    user = User()
    error = await failure(at, resource, code(user))
    assert error.kind in ("authorization", "transport")
    assert resource.origin in str(error)
    untouched(authority, user)
