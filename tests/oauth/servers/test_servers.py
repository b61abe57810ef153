"""The servers themselves, asked by hand: what they refuse, they refuse for the right reason."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

CALLBACK = "http://127.0.0.1:49152/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest())[:-1].decode()
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "hand", "version": "1"},
    },
}


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as client:
        yield client


def registered(http, authority, **more) -> dict[str, str]:
    said = {
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        **more,
    }
    answer = http.post(f"{authority.issuer}/register", json=said)
    assert answer.status_code == 201, answer.text
    return answer.json()


def authorized(http, authority, client_id, /, **changes) -> dict[str, str]:
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "state": "s",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": "http://r/mcp",
        "scope": "a b",
        **changes,
    }
    answer = http.get(f"{authority.issuer}/authorize", params=query)
    if answer.status_code != 302:
        return answer.json()
    location = urlsplit(answer.headers["location"])
    assert f"{location.scheme}://{location.netloc}{location.path}" == CALLBACK
    return {name: value for name, [value] in parse_qs(location.query).items()}


def exchanged(http, authority, client_id, code, /, *, headers=None, **changes) -> httpx.Response:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": CALLBACK,
        "client_id": client_id,
        "code_verifier": VERIFIER,
        "resource": "http://r/mcp",
        **changes,
    }
    form = {name: value for name, value in form.items() if value is not None}
    return http.post(f"{authority.issuer}/token", data=form, headers=headers)


def introspected(http, authority, token) -> dict[str, object]:
    return http.post(f"{authority.origin}/introspect", data={"token": token}).json()


def test_a_code_is_good_for_tokens_once(http, authority) -> None:
    id = registered(http, authority)["client_id"]
    answer = authorized(http, authority, id)
    assert (answer["state"], answer["iss"]) == ("s", authority.issuer)

    token = exchanged(http, authority, id, answer["code"]).json()

    assert token["scope"] == "a b"
    seen = introspected(http, authority, token["access_token"])
    assert (seen["active"], seen["aud"], seen["scope"]) == (True, ["http://r/mcp"], "a b")
    again = exchanged(http, authority, id, answer["code"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": CALLBACK + "2"}, "invalid_grant"),
        ({"resource": "http://other/mcp"}, "invalid_target"),
        ({"resource": None}, "invalid_target"),
        ({"client_id": "nobody"}, "invalid_client"),
    ],
)
def test_what_a_code_is_refused_for(http, authority, changes, error) -> None:
    id = registered(http, authority)["client_id"]
    code = authorized(http, authority, id)["code"]
    assert exchanged(http, authority, id, code, **changes).json()["error"] == error


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"resource": ""}, "invalid_target"),
        ({"redirect_uri": "http://127.0.0.1:1/other"}, "invalid_request"),
        ({"client_id": "nobody"}, "invalid_client"),
    ],
)
def test_what_an_authorization_is_refused_for(http, authority, changes, error) -> None:
    id = registered(http, authority)["client_id"]
    assert authorized(http, authority, id, **changes)["error"] == error


def test_an_old_refresh_token_ends_the_whole_family(http, authority) -> None:
    id = registered(http, authority)["client_id"]
    first = exchanged(http, authority, id, authorized(http, authority, id)["code"]).json()

    def refreshed(token) -> httpx.Response:
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": id}
        form["resource"] = "http://r/mcp"
        return http.post(f"{authority.issuer}/token", data=form)

    second = refreshed(first["refresh_token"]).json()
    assert not introspected(http, authority, first["access_token"])["active"]
    assert introspected(http, authority, second["access_token"])["active"]
    assert refreshed(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert not introspected(http, authority, second["access_token"])["active"]
    assert refreshed(second["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_clients_with_secrets(http, authority_of, method) -> None:
    known = {
        "client_id": "c",
        "client_secret": "s",
        "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": method,
    }
    authority = authority_of(clients=[known], issuer_path="/tenant1")
    form = {"grant_type": "client_credentials", "resource": "http://r/mcp", "scope": "a"}
    post = {**form, "client_id": "c", "client_secret": "s"}
    basic = http.post(f"{authority.issuer}/token", data=form, auth=("c", "s"))
    body = http.post(f"{authority.issuer}/token", data=post)

    good, bad = (basic, body) if method == "client_secret_basic" else (body, basic)
    assert good.json()["scope"] == "a"
    assert bad.json()["error"] == "invalid_client"
    assert [fact["auth"]["method"] for fact in authority.facts("token")] == [
        "client_secret_basic",
        "client_secret_post",
    ]


def test_a_signed_assertion_is_good_once(http, authority_of) -> None:
    key = ECKey.generate_key("P-256")
    known = {
        "client_id": "c",
        "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": {"keys": [key.as_dict(private=False)]},
    }
    authority = authority_of(clients=[known])

    def ask(**changes) -> httpx.Response:
        claims = {
            "iss": "c",
            "sub": "c",
            "aud": authority.issuer,
            "jti": secrets.token_hex(4),
            "exp": int(time.time()) + 60,
            **changes,
        }
        form = {
            "grant_type": "client_credentials",
            "resource": "http://r/mcp",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": jwt.encode({"alg": "ES256"}, claims, key),
        }
        return http.post(f"{authority.issuer}/token", data=form)

    assert ask(jti="one").status_code == 200
    assert ask(jti="one").json()["error"] == "invalid_client"
    assert ask(aud="http://other").json()["error"] == "invalid_client"
    assert ask(exp=int(time.time()) - 600).json()["error"] == "invalid_client"


def proof(key, method, url, **claims) -> str:
    header = {"alg": "ES256", "typ": "dpop+jwt", "jwk": key.as_dict(private=False)}
    said = {"htm": method, "htu": url, "iat": int(time.time()), "jti": secrets.token_hex(8)}
    return jwt.encode(header, {**said, **claims}, key)


def test_proofs_of_possession(http, authority_of, resource_of) -> None:
    authority = authority_of(dpop=True, dpop_nonce=True)
    resource = resource_of(authority, scheme="DPoP")
    key, token_url = ECKey.generate_key("P-256"), f"{authority.issuer}/token"
    id = registered(http, authority)["client_id"]
    code = authorized(http, authority, id, resource=resource.url)["code"]

    def ask(**claims) -> httpx.Response:
        headers = {"DPoP": proof(key, "POST", token_url, **claims)}
        return exchanged(http, authority, id, code, headers=headers, resource=resource.url)

    first = ask()
    assert first.json()["error"] == "use_dpop_nonce"
    assert ask(htm="GET").json()["error"] == "invalid_dpop_proof"
    token = ask(nonce=first.headers["dpop-nonce"]).json()
    assert token["token_type"] == "DPoP"

    def call(headers) -> int:
        accept = {"accept": "application/json, text/event-stream"}
        return http.post(resource.url, json=INITIALIZE, headers={**accept, **headers}).status_code

    access = token["access_token"]
    digest = base64.urlsafe_b64encode(hashlib.sha256(access.encode()).digest())[:-1].decode()
    good = {"authorization": f"DPoP {access}", "dpop": proof(key, "POST", resource.url, ath=digest)}
    other = proof(ECKey.generate_key("P-256"), "POST", resource.url, ath=digest)
    assert call(good) == 200
    assert call(good) == 401  # the same proof again
    assert call({**good, "dpop": other}) == 401
    assert call({"authorization": f"Bearer {access}"}) == 401


def test_a_protected_server_says_where_its_metadata_are(http, authority, resource) -> None:
    answer = http.post(resource.url, json=INITIALIZE)
    where = f"{resource.origin}/.well-known/oauth-protected-resource/mcp"
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
    said = http.get(where).json()
    assert (said["resource"], said["authorization_servers"]) == (resource.url, [authority.issuer])
    assert http.get(f"{resource.origin}/.well-known/oauth-protected-resource").status_code == 404


@pytest.mark.parametrize(
    ("scope", "bound", "statuses"),
    [("a", "", (200, 403)), ("a w", "", (200, 200)), ("a w", "http://other/mcp", (401, 401))],
)
def test_a_protected_server_checks_tokens(protect, scope, bound, statuses, http) -> None:
    authority, resource = protect(needs={"write": "w"})
    id = registered(http, authority)["client_id"]
    bound = bound or resource.url
    code = authorized(http, authority, id, resource=bound, scope=scope)["code"]
    token = exchanged(http, authority, id, code, resource=bound).json()["access_token"]
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
    }
    begun = http.post(resource.url, json=INITIALIZE, headers=headers)
    session = begun.headers.get("mcp-session-id", "")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "write"}}
    written = http.post(resource.url, json=call, headers={**headers, "mcp-session-id": session})
    assert (begun.status_code, written.status_code) == statuses
    authority.revoke()
    assert http.post(resource.url, json=INITIALIZE, headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("issuer_path", "kinds", "there"),
    [
        ("", ["oauth"], ["/.well-known/oauth-authorization-server"]),
        ("", ["openid_appended"], ["/.well-known/openid-configuration"]),
        ("/t", ["oauth"], ["/.well-known/oauth-authorization-server/t"]),
        ("/t", ["openid_inserted"], ["/.well-known/openid-configuration/t"]),
        ("/t", ["openid_appended"], ["/t/.well-known/openid-configuration"]),
    ],
)
def test_where_metadata_are(http, authority_of, issuer_path, kinds, there) -> None:
    authority = authority_of(issuer_path=issuer_path, metadata=kinds)
    places = [
        f"/.well-known/oauth-authorization-server{issuer_path}",
        f"/.well-known/openid-configuration{issuer_path}",
        f"{issuer_path}/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
    ]
    answers = {path: http.get(authority.origin + path) for path in places}
    found = [path for path, answer in answers.items() if answer.status_code == 200]
    assert found == there
    assert answers[there[0]].json()["issuer"] == authority.issuer
