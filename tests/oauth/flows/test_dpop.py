"""Tokens that are bound to a key (RFC 9449): every message proves that we have it."""

from __future__ import annotations

import base64
import json

import pytest
from case_servers import LEGACY, MODERN
from oauth.flows.ways import adds, code, connect, denied, on_both, works
from oauth.servers.kit import User

from snodo_actors import oauth


def claims_of(proof: str):
    part = proof.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("nonces", [False, True])
@on_both
async def test_every_message_has_a_proof_of_its_own(at, protect, protocol, nonces):
    authority, resource = protect(
        {"dpop": True, "dpop_nonce": nonces}, scheme="DPoP", dpop_nonce=nonces
    )
    user = User()
    client = await at.get(connect(resource, code(user, dpop=True), protocol=protocol))
    for _ in range(3):
        await adds(at, client)
    await at.get(client.close())
    [token] = authority.tokens()
    assert token["token_type"] == "DPoP"
    sent = [fact for fact in resource.facts() if fact["token"]]
    assert {fact.header("authorization") for fact in sent} == {f"DPoP {token['access_token']}"}
    proofs = [claims_of(fact.header("dpop")) for fact in sent]
    assert len({claims["jti"] for claims in proofs}) == len(proofs)
    assert {claims["htu"] for claims in proofs} == {resource.url}
    assert [claims["htm"] for claims in proofs] == [fact["method"] for fact in sent]
    assert [fact["bad_proof"] for fact in sent if "bad_proof" in fact] == []
    # A nonce costs one message more, once.
    assert [fact["status"] for fact in sent].count(401) == nonces
    assert [fact["status"] for fact in authority.facts("token")].count(400) == nonces
    assert len(user.visits) == 1


@on_both
async def test_a_refreshed_token_is_bound_to_the_same_key(at, protect):
    authority, resource = protect({"dpop": True}, scheme="DPoP")
    user = User()
    client = await at.get(connect(resource, code(user, dpop=True)))
    await adds(at, client)
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    assert ([fact["status"] for fact in authority.refreshes()], len(user.visits)) == ([200], 1)
    keys = {
        json.dumps(header_of(fact.header("dpop"))["jwk"], sort_keys=True)
        for fact in [*authority.facts("token"), *resource.facts()]
        if fact.header("dpop")
    }
    assert len(keys) == 1
    assert '"d"' not in keys.pop()


def header_of(proof: str):
    part = proof.split(".", maxsplit=1)[0]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@on_both
async def test_a_key_is_kept_with_its_tokens(at, protect, tmp_path):
    authority, resource = protect({"dpop": True}, scheme="DPoP")
    user, path = User(), tmp_path / "store.json"
    await works(at, resource, code(user, dpop=True, store=oauth.FileStore(path)))
    await works(at, resource, code(user, dpop=True, store=oauth.FileStore(path)))
    assert (len(authority.tokens()), len(user.visits)) == (1, 1)


@on_both
async def test_a_bearer_token_in_place_of_a_bound_one_is_told(at, protect):
    """A server that cannot bind tokens is no reason to go on without (RFC 9449, section 5)."""
    authority, resource = protect(scheme="DPoP", any_token=True)
    outcome = await at.outcome(connect(resource, code(User(), dpop=True)))
    if not isinstance(outcome, Exception):
        await at.outcome(outcome.call_tool("add", {"a": 1, "b": 2}))
        await at.get(outcome.close())
    [token] = authority.tokens()
    for fact in resource.facts():
        assert fact.header("authorization") != f"DPoP {token['access_token']}"


@on_both
async def test_client_credentials_may_be_bound(at, protect):
    known = {
        "client_id": "known",
        "client_secret": "s",
        "grant_types": ["client_credentials"],
    }
    authority, resource = protect({"dpop": True, "clients": [known]}, scheme="DPoP")
    client = oauth.RegisteredClient("known", "s", issuer=authority.issuer)
    await works(at, resource, oauth.ClientCredentials(client, dpop=True))
    assert [token["token_type"] for token in authority.tokens()] == ["DPoP"]


@on_both
async def test_a_nonce_that_is_never_right_ends(at, protect):
    refused = {"status": 400, "json": {"error": "use_dpop_nonce"}, "headers": {"DPoP-Nonce": "n"}}
    authority, resource = protect({"dpop": True, "answers": {"token": refused}}, scheme="DPoP")
    error = await denied(at, resource, code(User(), dpop=True), "token")
    assert error.error == "use_dpop_nonce"
    assert len(authority.facts("token")) == 2
