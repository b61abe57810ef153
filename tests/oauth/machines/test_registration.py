from __future__ import annotations

from typing import Any

import pytest

from snodo_actors.oauth.machines.registration import (
    Refuse,
    Register,
    Use,
    choose_method,
    choose_way,
    is_native,
    other_redirect_uri,
    read_registration,
    refuse_metadata_url,
    registration_form,
)
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.metadata import ServerMetadata

AS = "https://as.test"
REGISTER = f"{AS}/register"
DOCUMENT = "https://app.test/client.json"
STORED = RegisteredClient("stored", issuer=AS, scopes=("a",))
LOOPBACK = "http://127.0.0.1:5000/callback"


def metadata(**changes: Any) -> ServerMetadata:
    return ServerMetadata(issuer=AS, token_endpoint=f"{AS}/token", **changes)


OPEN = metadata(registration_endpoint=REGISTER)
DOCUMENTS = metadata(registration_endpoint=REGISTER, client_id_metadata_document_supported=True)
CLOSED = metadata()


@pytest.mark.parametrize(
    ("said", "at", "options", "way"),
    [
        ("registered beforehand", DOCUMENTS, {"given": STORED}, Use(STORED)),
        (
            "and with anybody",
            OPEN,
            {"given": RegisteredClient("x")},
            Use(RegisteredClient("x")),
        ),
        (
            "a document",
            DOCUMENTS,
            {"metadata_url": DOCUMENT, "stored": STORED},
            Use(RegisteredClient(DOCUMENT, issuer=AS, auth_method="none")),
        ),
        ("not taken here", OPEN, {"metadata_url": DOCUMENT}, Register(REGISTER)),
        ("registered before", OPEN, {"stored": STORED, "scopes": ["a"]}, Use(STORED)),
        (
            "for anything",
            OPEN,
            {"stored": RegisteredClient("s", issuer=AS), "scopes": ["b"]},
            Use(RegisteredClient("s", issuer=AS)),
        ),
        (
            "for less than is wanted",
            OPEN,
            {"stored": STORED, "scopes": ["a", "b"]},
            Register(REGISTER),
        ),
        ("elsewhere", OPEN, {"stored": RegisteredClient("s", issuer="x")}, Register(REGISTER)),
        (
            "too long ago",
            OPEN,
            {"stored": RegisteredClient("s", "t", issuer=AS, expires_at=5.0)},
            Register(REGISTER),
        ),
    ],
)
def test_the_way(said: str, at: ServerMetadata, options: dict[str, Any], way: object) -> None:
    usual: dict[str, Any] = {"given": None, "metadata_url": None, "stored": None}
    assert way == choose_way(at, **(usual | options), now=10.0), said


def test_no_way() -> None:
    way = choose_way(CLOSED, given=None, metadata_url=DOCUMENT, stored=None, now=10.0)

    assert isinstance(way, Refuse)
    assert "registers no clients by itself" in way.why


@pytest.mark.parametrize(
    ("supported", "method"),
    [
        (None, "client_secret_basic"),
        (("client_secret_post", "none"), "none"),
        (("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (("client_secret_post",), "client_secret_post"),
        (("tls_client_auth",), "none"),
    ],
)
def test_how_we_want_to_prove_ourselves(supported: Any, method: str) -> None:
    assert method == choose_method(metadata(token_endpoint_auth_methods_supported=supported))


@pytest.mark.parametrize(
    ("uris", "scopes", "changes"),
    [
        ([LOOPBACK], [], {"application_type": "native"}),
        (["app://back"], [], {"application_type": "native"}),
        (["https://app.test/back"], ["a", "b"], {"application_type": "web", "scope": "a b"}),
        ([LOOPBACK, "https://app.test/back"], [], {"application_type": "web"}),
    ],
)
def test_what_is_sent(uris: list[str], scopes: list[str], changes: dict[str, str]) -> None:
    assert {
        "client_name": "me",
        "redirect_uris": uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
    } | changes == registration_form(OPEN, client_name="me", redirect_uris=uris, scopes=scopes)


def asked(method: str = "none", **more: Any) -> dict[str, Any]:
    return {"token_endpoint_auth_method": method, "redirect_uris": [LOOPBACK], **more}


@pytest.mark.parametrize(
    ("said", "body", "form", "fields"),
    [
        ("the least", {"client_id": "x"}, asked(), {"auth_method": "none"}),
        (
            "a secret that was asked for",
            {"client_id": "x", "client_secret": "s"},
            asked("client_secret_post"),
            {"client_secret": "s", "auth_method": "client_secret_post"},
        ),
        (
            "a secret that was not",
            {"client_id": "x", "client_secret": "s"},
            asked(),
            {"client_secret": "s", "auth_method": None},
        ),
        (
            "another way",
            {"client_id": "x", "client_secret": "", "token_endpoint_auth_method": "none"},
            asked("client_secret_basic"),
            {"auth_method": "none"},
        ),
        (
            "for a time",
            {"client_id": "x", "client_secret": "s", "client_secret_expires_at": 99},
            asked("client_secret_basic"),
            {"client_secret": "s", "auth_method": "client_secret_basic", "expires_at": 99.0},
        ),
        (
            "for longer than a number says",
            {"client_id": "x", "client_secret_expires_at": 10**400},
            asked(),
            {"auth_method": "none"},
        ),
        (
            "for ever",
            {"client_id": "x", "client_secret_expires_at": 0},
            asked(),
            {"auth_method": "none"},
        ),
        (
            "for other scopes",
            {"client_id": "x", "scope": "a"},
            asked(scope="a b"),
            {"auth_method": "none", "scopes": ("a",)},
        ),
        (
            "for what was asked",
            {"client_id": "x"},
            asked(scope="a b"),
            {"auth_method": "none", "scopes": ("a", "b")},
        ),
    ],
)
def test_an_answer(
    said: str, body: dict[str, Any], form: dict[str, Any], fields: dict[str, Any]
) -> None:
    wanted = RegisteredClient("x", issuer=AS, redirect_uris=(LOOPBACK,), **fields)

    assert wanted == read_registration(body, AS, form), said


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([], "no JSON object"),
        ({}, "no client_id"),
        ({"client_id": ""}, "no client_id"),
        ({"client_id": 5}, "no client_id"),
        ({"client_id": "x", "client_secret": 5}, "no text"),
        ({"client_id": "x", "token_endpoint_auth_method": "tls"}, "by 'tls'"),
        ({"client_id": "x", "token_endpoint_auth_method": "private_key_jwt"}, "not asked for"),
        ({"client_id": "x", "token_endpoint_auth_method": "client_secret_post"}, "no secret"),
    ],
)
def test_an_answer_that_is_none(body: Any, why: str) -> None:
    said = read_registration(body, AS, asked())

    assert isinstance(said, str)
    assert why in said


@pytest.mark.parametrize(
    ("uri", "other"),
    [
        (LOOPBACK, "http://localhost:5000/callback"),
        ("http://localhost:5000/callback", LOOPBACK),
        ("http://localhost/callback", "http://127.0.0.1/callback"),
        ("http://[::1]:5000/callback", "http://localhost:5000/callback"),
        ("https://app.test/callback", None),
        ("app://back", None),
    ],
)
def test_the_other_way_to_write_this_machine(uri: str, other: str | None) -> None:
    assert other == other_redirect_uri(uri)


@pytest.mark.parametrize(
    ("uri", "native"),
    [
        (LOOPBACK, True),
        ("https://localhost:1/", True),
        ("https://app.test/", False),
        ("app://back", True),
    ],
)
def test_whose_program_it_is(uri: str, native: bool) -> None:
    assert native == is_native(uri)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (DOCUMENT, None),
        ("http://app.test/client.json", "https"),
        ("https:///client.json", "https"),
        ("https://app.test", "a path"),
        ("https://app.test/", "a path"),
        ("https://app.test/a/../client.json", "dots"),
        ("https://app.test/./client.json", "dots"),
        ("https://app.test/client.json#a", "no fragment"),
        ("https://me@app.test/client.json", "user name"),
        ("https://:x@app.test/client.json", "user name"),
    ],
)
def test_which_urls_can_be_client_ids(url: str, why: str | None) -> None:
    said = refuse_metadata_url(url)

    assert said is None if why is None else why in f"{said}"
