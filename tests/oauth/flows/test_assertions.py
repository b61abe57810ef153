"""Assertions for tokens: those of a workload, and those of an enterprise's identity provider."""

from __future__ import annotations

import time

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey
from oauth.flows.ways import adds, connect, denied, on_both, on_one, works

from snodo_actors import oauth

BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ENTERPRISE = "io.modelcontextprotocol/enterprise-managed-authorization"
KEY = ECKey.generate_key("P-256")
PLATFORM = "https://platform.example"


def quiet(authority) -> None:
    assert (authority.facts("authorize"), authority.facts("register")) == ([], [])


# ---- a workload


def workload(protect):
    """A server that trusts the platform the workload runs on."""
    trusted = {
        "issuer": PLATFORM,
        "jwks": {"keys": [KEY.as_dict(private=False)]},
        "client_id": "workload",
    }
    client = {
        "client_id": "workload",
        "grant_types": [BEARER],
        "token_endpoint_auth_method": "none",
    }
    return protect({"trusts": [trusted], "clients": [client]})


def assertion(authority, **claims) -> str:
    now = int(time.time())
    said = {"iss": PLATFORM, "sub": "pod", "aud": authority.issuer, "iat": now, "exp": now + 60}
    return jwt.encode({"alg": "ES256"}, {**said, **claims}, KEY)


@pytest.mark.parametrize("kind", ["text", "function", "async function"])
@on_both
async def test_a_workload_is_who_its_platform_says(at, protect, kind):
    authority, resource = workload(protect)
    made = []

    def plain() -> str:
        made.append(assertion(authority, jti=str(len(made))))
        return made[-1]

    async def awaited() -> str:
        return plain()

    source = {"text": plain(), "function": plain, "async function": awaited}[kind]
    client = await at.get(connect(resource, oauth.WorkloadIdentity(source)))
    await adds(at, client)
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    quiet(authority)
    sent = [fact.form("assertion") for fact in authority.facts("token")]
    assert sent == (made * 2 if kind == "text" else made[1:])
    assert {fact.form("grant_type") for fact in authority.facts("token")} == {BEARER}
    assert {fact.form("resource") for fact in authority.facts("token")} == {resource.url}


@on_one
async def test_an_assertion_that_is_refused_is_not_tried_again_or_otherwise(at, protect):
    authority, resource = workload(protect)
    old = assertion(authority, exp=int(time.time()) - 600)
    error = await denied(at, resource, oauth.WorkloadIdentity(old), "token")
    assert error.error == "invalid_grant"
    assert old not in f"{error} {error!r} {error.cause!r}"
    assert [fact.form("grant_type") for fact in authority.facts("token")] == [BEARER]
    quiet(authority)


# ---- an enterprise


def enterprise(authority_of, resource_of, **knobs):
    """An identity provider, an authorization server that trusts it, and a protected server."""
    at_provider = {
        "client_id": "at-provider",
        "client_secret": "s3cret-there",
        "grant_types": [EXCHANGE],
    }
    at_server = {"client_id": "at-server", "client_secret": "s3cret-here", "grant_types": [BEARER]}
    provider = authority_of(clients=[at_provider])
    trusted = {"issuer": provider.issuer, "jwks": provider.jwks()}
    authority = authority_of(trusts=[trusted], clients=[at_server], **knobs)
    provider.turn(clients_at={authority.issuer: "at-server"})
    return provider, authority, resource_of(authority)


def managed(provider, authority, **options):
    return oauth.EnterpriseManaged(
        oauth.RegisteredClient("at-server", "s3cret-here", issuer=authority.issuer),
        identity_provider=oauth.IdentityProvider(
            token_endpoint=f"{provider.issuer}/token",
            client=oauth.RegisteredClient("at-provider", "s3cret-there"),
        ),
        **{"id_token": provider.id_token("at-provider"), **options},
    )


@on_one
async def test_an_enterprise_decides(at, authority_of, resource_of):
    provider, authority, resource = enterprise(authority_of, resource_of)
    id_token = provider.id_token("at-provider")
    await works(at, resource, managed(provider, authority, id_token=id_token))
    quiet(authority)
    quiet(provider)
    [exchange] = provider.facts("token")
    assert {
        name: exchange.form(name)
        for name in (
            "grant_type",
            "requested_token_type",
            "audience",
            "resource",
            "subject_token",
            "subject_token_type",
            "actor_token",
        )
    } == {
        "grant_type": EXCHANGE,
        "requested_token_type": ID_JAG,
        "audience": authority.issuer,
        "resource": resource.url,
        "subject_token": id_token,
        "subject_token_type": ID_TOKEN,
        "actor_token": None,
    }
    assert exchange["auth"]["client_id"] == "at-provider"
    [granted] = authority.facts("token")
    assert granted.form("grant_type") == BEARER
    assert granted.form("assertion") == exchange["answer"]["access_token"]
    assert granted["auth"] == {
        "method": "client_secret_basic",
        "client_id": "at-server",
        "client_secret": "s3cret-here",
    }
    # Neither saw what is for the other.
    assert "s3cret-there" not in str(authority.facts())
    assert id_token not in str(authority.facts())
    assert "s3cret-here" not in str(provider.facts())


@on_one
async def test_scopes_of_the_challenge_go_to_the_enterprise(at, authority_of, resource_of):
    provider, authority, resource = enterprise(authority_of, resource_of)
    resource.turn(challenge='scope="a b"')
    await works(at, resource, managed(provider, authority))
    [exchange] = provider.facts("token")
    assert exchange.scopes == {"a", "b"}


@on_one
async def test_a_new_token_is_decided_on_anew(at, authority_of, resource_of):
    provider, authority, resource = enterprise(authority_of, resource_of)
    client = await at.get(connect(resource, managed(provider, authority)))
    await adds(at, client)
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    assert len(authority.tokens()) == 2
    quiet(authority)


@on_one
async def test_an_enterprise_that_says_no_is_told(at, authority_of, resource_of):
    provider, authority, resource = enterprise(authority_of, resource_of)
    foreign = provider.id_token("somebody-else")
    error = await denied(at, resource, managed(provider, authority, id_token=foreign), "token")
    assert error.error == "invalid_grant"
    assert foreign not in f"{error} {error!r} {error.cause!r}"
    assert len(provider.facts("token")) == 1
    assert authority.facts("token") == []


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": "x", "token_type": "Bearer"},
        {"access_token": "x", "token_type": "N_A", "issued_token_type": ID_TOKEN},
        {"token_type": "N_A", "issued_token_type": ID_JAG},
    ],
    ids=str,
)
@on_one
async def test_what_is_no_id_jag_is_not_passed_on(at, authority_of, resource_of, answer):
    provider, authority, resource = enterprise(authority_of, resource_of)
    provider.turn(answers={"token": {"status": 200, "json": answer}})
    await denied(at, resource, managed(provider, authority), "token")
    assert authority.facts("token") == []


@on_one
async def test_the_rules_of_discovery_hold_here_as_well(at, authority_of, resource_of):
    provider, authority, resource = enterprise(authority_of, resource_of)
    resource.turn(resource="https://other.example/mcp")
    await denied(at, resource, managed(provider, authority), "discovery")
    assert (provider.facts("token"), authority.facts("token")) == ([], [])


@on_one
async def test_the_extension_is_declared(at, authority_of, resource_of):
    provider, authority, resource = enterprise(authority_of, resource_of)
    await works(at, resource, managed(provider, authority), protocol="2026-07-28")
    [fact] = resource.facts(rpc="tools/call", status=200)
    capabilities = fact["message"]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert capabilities["extensions"][ENTERPRISE] == {}
