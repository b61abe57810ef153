"""Each authorization server has its own: clients, tokens, and who we are there."""

from __future__ import annotations

from oauth.flows.clients import DOCUMENT, KNOWN, by_document
from oauth.flows.ways import adds, code, connect, denied, on_one, untouched, works
from oauth.servers.kit import User

from snodo_actors import oauth


@on_one
async def test_credentials_are_kept_by_issuer(at, authority_of, resource_of):
    first, second = authority_of(), authority_of()
    store, user = oauth.MemoryStore(), User()
    one, two, three = resource_of(first), resource_of(second), resource_of(first)
    for resource in (one, two, three):
        await works(at, resource, code(user, store=store))
    assert [len(authority.facts("register")) for authority in (first, second)] == [1, 1]
    ids = {
        authority: authority.facts("register")[0]["answer"]["client_id"]
        for authority in (first, second)
    }
    for authority, id in ids.items():
        asked = authority.facts("authorize")
        assert {fact.query("client_id") for fact in asked} == {id}
        assert {fact.form("client_id") for fact in authority.facts("token")} == {id}
    # Tokens are of one authorization server, and for one resource.
    given = {token["access_token"] for token in first.tokens()}
    other = {token["access_token"] for token in second.tokens()}
    assert set(two.tokens()) - {None} == other
    sent = [set(resource.tokens()) - {None} for resource in (one, three)]
    assert sent[0] | sent[1] == given
    assert not sent[0] & sent[1]


@on_one
async def test_what_is_kept_is_used_again(at, protect):
    authority, resource = protect()
    store, user = oauth.MemoryStore(), User()
    await works(at, resource, code(user, store=store))
    await works(at, resource, code(user, store=store))
    assert (len(authority.facts("register")), len(authority.tokens()), len(user.visits)) == (
        1,
        1,
        1,
    )


@on_one
async def test_a_registration_outlives_its_tokens(at, protect):
    authority, resource = protect({"refresh_tokens": False})
    store, user = oauth.MemoryStore(), User()
    await works(at, resource, code(user, store=store))
    authority.revoke("all")
    await works(at, resource, code(user, store=store))
    assert (len(authority.facts("register")), len(user.visits)) == (1, 2)
    assert user.asked(0)["client_id"] == user.asked(1)["client_id"]


@on_one
async def test_another_authorization_server_is_registered_at_anew(at, authority_of, resource_of):
    old, new = authority_of(), authority_of()
    resource, user = resource_of(old), User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    before = len(old.facts())
    resource.turn(authorities=[new.issuer])
    old.revoke()
    await adds(at, client)
    await at.get(client.close())
    assert len(old.facts()) == before  # nothing more was asked there
    [registered] = new.facts("register")
    [asked], [token] = new.facts("authorize"), new.facts("token")
    id = registered["answer"]["client_id"]
    assert (asked.query("client_id"), token.form("client_id")) == (id, id)
    secrets = [old.tokens()[0][name] for name in ("access_token", "refresh_token")]
    secrets.append(old.facts("register")[0]["answer"]["client_id"])
    assert not any(secret in str(new.facts()) for secret in secrets)
    assert resource.tokens()[-1] == new.tokens()[0]["access_token"]


@on_one
async def test_a_document_is_good_everywhere_and_its_tokens_are_not(at, authority_of, resource_of):
    old, new = authority_of(**by_document()), authority_of(**by_document())
    resource, user = resource_of(old), User()
    client = await at.get(connect(resource, code(user, client_metadata_url=DOCUMENT)))
    await adds(at, client)
    before = len(old.facts())
    resource.turn(authorities=[new.issuer])
    await adds(at, client)
    await at.get(client.close())
    assert len(old.facts()) == before
    assert {fact.query("client_id") for fact in new.facts("authorize")} == {DOCUMENT}
    assert new.refreshes() == []
    given = old.tokens()[0]
    assert not any(given[name] in str(new.facts()) for name in ("access_token", "refresh_token"))


@on_one
async def test_a_client_of_another_issuer_is_not_used(at, protect):
    authority, resource = protect({"clients": [KNOWN]})
    user = User()
    client = oauth.RegisteredClient("known", "s3cret-of-known", issuer="https://other.example")
    error = await denied(at, resource, code(user, client=client))
    assert "other.example" in str(error)
    assert "s3cret" not in repr(error) + str(error)
    untouched(authority, user)
