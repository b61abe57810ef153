"""Nothing secret is shown: not by an error, not by a log, not by an object, whatever happens."""

from __future__ import annotations

import logging
import traceback

import pytest
from oauth.flows.ways import adds, code, connect, denied, on_both, on_one
from oauth.servers.kit import CALLBACK, User

import snodo_actors as snodo
from snodo_actors import oauth

SECRET = "s3cret-of-the-client"
KNOWN = {
    "client_id": "known",
    "client_secret": SECRET,
    "redirect_uris": [CALLBACK],
    "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
    "token_endpoint_auth_method": "client_secret_basic",
}


def secrets_of(authority, user) -> set[str]:
    """All that was secret in what went over the wire."""
    found = {SECRET}
    for fact in authority.facts():
        found |= {value for name, value in fact["form"] if name in WORDS}
        answer = fact.get("answer") or {}
        found |= {str(value) for name, value in answer.items() if name in WORDS}
        found |= {
            part.partition("=")[2]
            for part in fact.get("location", "").partition("?")[2].split("&")
            if part.partition("=")[0] in WORDS
        }
    found |= {user.asked(visit)["state"] for visit in range(len(user.visits))}
    return {one for one in found if one}


WORDS = {
    "access_token",
    "refresh_token",
    "code",
    "code_verifier",
    "client_secret",
    "state",
    "client_assertion",
    "assertion",
}


def shown(error: BaseException) -> str:
    """Everything an error says: also to who looks closer."""
    names = ("cause", "data", "args", "error", "error_description")
    parts = [getattr(error, name, None) for name in names]
    closer = [f"{part!r} {part!s}" for part in parts]
    return "\n".join([str(error), repr(error), *traceback.format_exception(error), *closer])


TROUBLE = [
    {"answers": {"token": {"status": 400, "json": {"error": "invalid_grant"}}}},
    {"answers": {"token": {"status": 200, "text": "<html>"}}},
    {"answers": {"token": {"status": 500, "text": "oh"}}},
    {"answers": {"token": {"status": 200, "redirect": "https://other.example/token"}}},
    {"answers": {"token": {"slow": 2}}},
    {"token_type": "mac"},
    {"iss": "https://other.example"},
    {"state": "the-st4te-of-another-flow"},
    {"consent": False},
    {},
]


@pytest.mark.parametrize("knobs", TROUBLE, ids=str)
@on_one
async def test_no_secret_is_shown(at, protect, caplog, knobs):
    caplog.set_level(logging.DEBUG)
    authority, resource = protect({"clients": [KNOWN], **knobs}, never_enough=["write"])
    user, store = User(), oauth.MemoryStore()
    client = oauth.RegisteredClient("known", SECRET, issuer=authority.issuer)
    provider = code(user, client=client, store=store, timeout=1.0)
    errors = []
    connected = await at.outcome(connect(resource, provider))
    if isinstance(connected, snodo.Error):
        errors.append(connected)
    else:
        if not knobs:
            await adds(at, connected)
            authority.revoke()
            authority.turn(answers={"token": {"status": 400, "json": {"error": "odd"}}})
        for tool in ("add", "write", "add"):
            outcome = await at.outcome(connected.call_tool(tool, {"a": 1, "b": 2}))
            errors += [outcome] if isinstance(outcome, snodo.Error) else []
        await at.get(connected.close())
    assert errors
    text = "\n".join(
        [
            *map(shown, errors),
            *(f"{thing!r} {thing!s}" for thing in (provider, store, client, connected)),
            caplog.text,
        ]
    )
    secrets = secrets_of(authority, user)
    assert len(secrets) >= 2
    assert [secret for secret in secrets if secret in text] == []


def echoing(secret: str) -> dict[str, object]:
    """A token endpoint that says what it was sent."""
    said = {"error": "invalid_request", "error_description": f"what is {secret}?"}
    return {"token": {"status": 400, "json": said}}


@on_both
async def test_a_server_that_says_a_client_s_secret_is_not_quoted(at, protect):
    authority, resource = protect({"clients": [KNOWN], "answers": echoing(SECRET)})
    client = oauth.RegisteredClient("known", SECRET, issuer=authority.issuer)
    error = await denied(at, resource, oauth.ClientCredentials(client), "token")
    assert error.error == "invalid_request"
    assert SECRET not in shown(error)


@on_one
async def test_a_server_that_says_an_assertion_is_not_quoted(at, protect):
    assertion = "header.claims-of-the-workload.signature"
    _, resource = protect({"answers": echoing(assertion)})
    error = await denied(at, resource, oauth.WorkloadIdentity(assertion), "token")
    assert error.error == "invalid_request"
    assert assertion not in shown(error)


def test_what_has_a_secret_does_not_show_it():
    client = oauth.RegisteredClient("known", SECRET)
    key = oauth.SigningKey.generate("ES256")
    things = [client, key, oauth.ClientCredentials(client), oauth.AuthorizationCode(client=client)]
    things.append(oauth.WorkloadIdentity(SECRET))
    assert not any(SECRET in f"{thing!r} {thing!s}" for thing in things)
    assert '"d"' not in repr(key)
