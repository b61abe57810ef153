"""Who we are at an authorization server: registered beforehand, by a document, or now."""

from __future__ import annotations

import pytest
from oauth.flows.clients import DOCUMENT, KNOWN, by_document, known
from oauth.flows.ways import adds, code, connect, denied, on_both, on_one, untouched, works
from oauth.servers.kit import CALLBACK, User

from snodo_actors import oauth

# ---- the order of the ways


@on_both
async def test_a_client_known_beforehand_comes_first(at, protect):
    authority, resource = protect({"clients": [KNOWN], **by_document()})
    provider = code(User(), client=known(authority), client_metadata_url=DOCUMENT)
    await works(at, resource, provider)
    assert authority.facts("register") == []
    assert [one.query("client_id") for one in authority.facts("authorize")] == ["known"]
    [token] = authority.facts("token")
    assert token["auth"] == {
        "method": "client_secret_basic",
        "client_id": "known",
        "client_secret": "s3cret-of-known",
    }


@on_one
async def test_a_document_comes_before_registration(at, protect):
    authority, resource = protect(by_document())
    await works(at, resource, code(User(), client_metadata_url=DOCUMENT))
    assert authority.facts("register") == []
    [asked], [token] = authority.facts("authorize"), authority.facts("token")
    assert asked.query("client_id") == DOCUMENT
    assert token["auth"] == {"method": "none", "client_id": DOCUMENT}


@on_one
async def test_a_document_is_of_no_use_where_it_is_not_understood(at, protect):
    authority, resource = protect()
    await works(at, resource, code(User(), client_metadata_url=DOCUMENT))
    [registered] = authority.facts("register")
    [asked] = authority.facts("authorize")
    assert asked.query("client_id") == registered["answer"]["client_id"] != DOCUMENT


@on_one
async def test_without_a_client_id_no_flow_begins(at, protect):
    authority, resource = protect({"registration": False})
    user = User()
    error = await denied(at, resource, code(user), "registration", "discovery")
    assert authority.issuer in str(error)
    untouched(authority, user)


# ---- client id metadata documents


def test_a_document_says_what_it_has_to():
    document = oauth.client_metadata_document(
        DOCUMENT, client_name="tests", redirect_uris=[CALLBACK]
    )
    assert document["client_id"] == DOCUMENT
    assert document["client_name"] == "tests"
    assert document["redirect_uris"] == [CALLBACK]
    assert "client_secret" not in document
    assert document.get("token_endpoint_auth_method", "none") in {"none", "private_key_jwt"}


@pytest.mark.parametrize(
    "url",
    [
        "http://client.example/metadata.json",
        "https://client.example",
        "https://client.example/",
        "https://client.example/metadata.json#part",
        "https://someone@client.example/metadata.json",
        "https://client.example/a/../metadata.json",
        "metadata.json",
    ],
)
def test_a_document_has_a_url_that_may_be_a_client_id(url):
    with pytest.raises(ValueError, match="https"):
        oauth.AuthorizationCode(client_metadata_url=url)
    with pytest.raises(ValueError, match="https"):
        oauth.client_metadata_document(url, client_name="tests", redirect_uris=[CALLBACK])


# ---- dynamic registration


@on_one
async def test_what_is_registered(at, protect):
    authority, resource = protect()
    await works(at, resource, code(User(), client_name="my program"))
    [asked] = authority.facts("register")
    said = asked["json"]
    assert said["client_name"] == "my program"
    assert said["redirect_uris"] == [CALLBACK]
    assert said["application_type"] == "native"
    assert said.get("response_types", ["code"]) == ["code"]
    assert set(said["grant_types"]) >= {"authorization_code", "refresh_token"}
    [visited], [token] = authority.facts("authorize"), authority.facts("token")
    assert visited.query("redirect_uri") == CALLBACK
    assert token.form("redirect_uri") == CALLBACK


@on_one
async def test_a_client_on_the_web_registers_as_one(at, protect):
    authority, resource = protect()
    await works(at, resource, code(User("https://app.example/callback")))
    [asked] = authority.facts("register")
    assert asked["json"]["application_type"] == "web"
    assert asked["json"]["redirect_uris"] == ["https://app.example/callback"]


@pytest.mark.parametrize(
    "uri", ["http://app.example/callback", "http://10.0.0.1/callback", "ftp://app.example/", "x"]
)
def test_redirect_uris_are_https_or_loopback(uri):
    with pytest.raises(ValueError, match="redirect"):
        oauth.FixedRedirect(uri, lambda url: url)


@on_one
async def test_a_redirect_uri_that_is_rejected_is_told(at, protect):
    authority, resource = protect({"rejects": ["127.0.0.1", "localhost"]})
    user = User()
    error = await denied(at, resource, code(user), "registration")
    assert error.error == "invalid_redirect_uri"
    assert "not allowed" in (error.error_description or "")
    assert "redirect" in str(error)
    assert len(authority.facts("register")) <= 3
    assert (authority.facts("authorize"), user.visits) == ([], [])


@on_one
async def test_a_redirect_uri_may_be_written_the_way_a_server_wants_it(at, protect):
    authority, resource = protect({"rejects": ["127.0.0.1"]})
    await works(at, resource, code(User()))
    rejected, registered = authority.facts("register")
    assert (rejected["status"], registered["status"]) == (400, 201)
    [uri] = registered["json"]["redirect_uris"]
    assert uri == CALLBACK.replace("127.0.0.1", "localhost")
    [asked], [token] = authority.facts("authorize"), authority.facts("token")
    assert (asked.query("redirect_uri"), token.form("redirect_uri")) == (uri, uri)


@on_one
async def test_who_is_forgotten_registers_again(at, protect):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user)))
    await adds(at, client)
    authority.forget()
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    assert [fact["answer"]["error"] for fact in authority.refreshes()] == ["invalid_client"]
    assert (len(authority.facts("register")), len(user.visits)) == (2, 2)


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
@on_one
async def test_a_new_client_says_who_it_is_as_it_was_told(at, protect, method):
    authority, resource = protect({"registers_as": method})
    await works(at, resource, code(User()))
    [registered], [token] = authority.facts("register"), authority.facts("token")
    said = registered["answer"]
    secret = {} if method == "none" else {"client_secret": said["client_secret"]}
    assert token["auth"] == {"method": method, "client_id": said["client_id"], **secret}


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
@on_one
async def test_a_new_client_asks_for_a_method_that_the_server_has(at, protect, method):
    authority, resource = protect({"auth_methods": [method]})
    await works(at, resource, code(User()))
    [registered], [token] = authority.facts("register"), authority.facts("token")
    assert registered["json"]["token_endpoint_auth_method"] == method
    assert token["auth"]["method"] == method


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 201, "text": "{}"},
        {"status": 201, "text": '{"client_id": 7}'},
        {"status": 201, "text": "<html>"},
        {"status": 403, "json": {"error": "access_denied"}},
        {"status": 500, "text": ""},
        {"status": 200, "oversized": 2_000_000},
    ],
    ids=str,
)
@on_one
async def test_a_registration_that_fails(at, protect, answer):
    authority, resource = protect({"answers": {"register": answer}})
    user = User()
    await denied(at, resource, code(user), "registration", "fetch")
    assert (authority.facts("authorize"), user.visits) == ([], [])
