"""Programs without a user: a client secret or a signed assertion for a token."""

from __future__ import annotations

import base64
import json

import pytest
from case_servers import LEGACY, MODERN
from joserfc.jwk import ECKey
from oauth.flows.ways import adds, connect, denied, on_both, on_one, untouched, works

from snodo_actors import oauth

SECRET = "s3cret: of/known+"
NAME = "io.modelcontextprotocol/oauth-client-credentials"


def known(method: str, **more):
    secret = {} if method == "private_key_jwt" else {"client_secret": SECRET}
    return {
        "client_id": "known",
        "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": method,
        **secret,
        **more,
    }


def with_secret(authority, **options):
    client = oauth.RegisteredClient("known", SECRET, issuer=authority.issuer, **options)
    return oauth.ClientCredentials(client)


def quiet(authority) -> None:
    """Neither was a user asked for, nor a client registered."""
    assert (authority.facts("authorize"), authority.facts("register")) == ([], [])


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@on_both
async def test_a_secret_is_sent_as_the_server_wants_it(at, protect, method):
    authority, resource = protect({"clients": [known(method)], "auth_methods": [method]})
    await works(at, resource, with_secret(authority))
    quiet(authority)
    [token] = authority.facts("token")
    assert token["status"] == 200
    assert token["auth"]["method"] == method
    assert (token.form("grant_type"), token.form("resource")) == (
        "client_credentials",
        resource.url,
    )
    assert token.form("scope") is None


@on_one
async def test_a_method_may_be_chosen(at, protect):
    authority, resource = protect({"clients": [known("client_secret_post")]})
    await works(at, resource, with_secret(authority, auth_method="client_secret_post"))
    [token] = authority.facts("token")
    assert (token["status"], token["auth"]["method"]) == (200, "client_secret_post")


def part_of(jwt: str, number: int):
    part = jwt.split(".")[number]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@on_one
async def test_an_assertion_is_signed_for_this_server_and_once(at, protect):
    key = ECKey.generate_key("P-256")
    pem = key.as_pem(private=True).decode()
    public = {"keys": [key.as_dict(private=False)]}
    authority, resource = protect({"clients": [known("private_key_jwt", jwks=public)]})
    signing = oauth.SigningKey.from_pem(pem, algorithm="ES256")
    client = oauth.RegisteredClient("known", issuer=authority.issuer, key=signing)
    connected = await at.get(connect(resource, oauth.ClientCredentials(client)))
    await adds(at, connected)
    authority.revoke()
    await adds(at, connected)
    await at.get(connected.close())
    quiet(authority)
    first, second = authority.facts("token")
    assert (first["status"], second["status"]) == (200, 200)
    ids = []
    for fact in (first, second):
        assert fact.form("client_assertion_type") == (
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        )
        assert fact.form("client_secret") is None
        assert fact.form("resource") == resource.url
        claims = part_of(fact.form("client_assertion"), 1)
        assert part_of(fact.form("client_assertion"), 0)["alg"] == "ES256"
        assert (claims["iss"], claims["sub"]) == ("known", "known")
        assert claims["aud"] in (authority.issuer, [authority.issuer])
        assert 0 < claims["exp"] - claims["iat"] <= 600
        ids.append(claims["jti"])
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    ("challenge", "supported", "asked"),
    [('scope="a b"', ["c"], {"a", "b"}), ("", ["c", "d"], {"c", "d"}), ("", None, set())],
)
@on_one
async def test_scopes_are_chosen_as_with_a_user(at, protect, challenge, supported, asked):
    knobs = {"clients": [known("client_secret_basic")]}
    authority, resource = protect(knobs, challenge=challenge, scopes_supported=supported)
    await works(at, resource, with_secret(authority))
    [token] = authority.facts("token")
    assert token.scopes == asked


@on_one
async def test_the_extension_is_declared(at, protect):
    authority, resource = protect({"clients": [known("client_secret_basic")]})
    await works(at, resource, with_secret(authority), protocol=MODERN)
    [fact] = resource.facts(rpc="tools/call", status=200)
    meta = fact["message"]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"]["extensions"][NAME] == {}


@on_one
async def test_a_version_without_extensions_is_told_of_none(at, protect):
    authority, resource = protect({"clients": [known("client_secret_basic")]})
    await works(at, resource, with_secret(authority), protocol=LEGACY)
    [fact] = resource.facts(rpc="initialize", status=200)
    assert "extensions" not in fact["message"]["params"]["capabilities"]


@on_one
async def test_a_new_token_is_got_the_same_way(at, protect):
    authority, resource = protect({"clients": [known("client_secret_basic")]})
    client = await at.get(connect(resource, with_secret(authority)))
    for _ in range(3):
        await adds(at, client)
        authority.revoke()
    await at.get(client.close())
    assert [fact.form("grant_type") for fact in authority.facts("token")] == [
        "client_credentials"
    ] * 3


@on_one
async def test_wrong_credentials_are_told_and_not_tried_again(at, protect):
    authority, resource = protect({"clients": [known("client_secret_basic")]})
    client = oauth.RegisteredClient("known", "wrong-s3cret", issuer=authority.issuer)
    error = await denied(at, resource, oauth.ClientCredentials(client), "token")
    assert error.error == "invalid_client"
    assert "wrong-s3cret" not in f"{error} {error!r} {error.cause!r}"
    assert len(authority.facts("token")) <= 2
    quiet(authority)


@on_one
async def test_more_scopes_are_asked_for_only_so_often(at, protect):
    knobs = {"clients": [known("client_secret_basic")]}
    authority, resource = protect(knobs, needs={"write": "more"}, never_enough=["write"])
    client = await at.get(connect(resource, with_secret(authority)))
    await adds(at, client)
    for _ in range(4):
        await at.error(client.call_tool("write"))
    await adds(at, client)
    await at.get(client.close())
    assert len(authority.facts("token")) <= 4
    quiet(authority)


# ---- the rules of every flow hold


@on_one
async def test_credentials_go_to_their_own_issuer_only(at, protect):
    authority, resource = protect({"clients": [known("client_secret_basic")]})
    client = oauth.RegisteredClient("known", SECRET, issuer="https://other.example")
    await denied(at, resource, oauth.ClientCredentials(client))
    untouched(authority)


@pytest.mark.parametrize(
    ("knobs", "more"),
    [
        ({"extra": {"issuer": "https://other.example"}}, {}),
        ({}, {"resource": "https://other.example/mcp"}),
        ({"extra": {"token_endpoint": "http://app.example/token"}}, {}),
        ({"extra": {"token_endpoint": None}}, {}),
    ],
    ids=str,
)
@on_one
async def test_the_rules_of_discovery_hold_here_as_well(at, protect, knobs, more):
    authority, resource = protect({"clients": [known("client_secret_basic")], **knobs}, **more)
    await denied(at, resource, with_secret(authority), "discovery", "fetch", "token")
    untouched(authority)


@on_one
async def test_pkce_is_of_no_concern_without_a_code(at, protect):
    knobs = {"clients": [known("client_secret_basic")], "challenge_methods": None}
    authority, resource = protect({**knobs, "extra": {"authorization_endpoint": None}})
    await works(at, resource, with_secret(authority))


def test_a_client_without_credentials_is_none():
    with pytest.raises(ValueError, match=r"secret|key"):
        oauth.ClientCredentials(oauth.RegisteredClient("known"))
