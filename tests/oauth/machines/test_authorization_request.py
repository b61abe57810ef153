from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from snodo_actors.oauth.machines.authorization_request import (
    MAX_URL,
    Asked,
    Code,
    ask,
    read_redirect,
)
from snodo_actors.oauth.machines.oauth_error import OAuthError

BACK = "http://127.0.0.1:5000/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


def question(**changes: Any) -> Asked:
    usual: dict[str, Any] = {
        "issuer": "https://as.test",
        "has_iss": False,
        "client_id": "me",
        "redirect_uri": BACK,
        "resource": "https://mcp.test/mcp",
        "scopes": [],
        "state": "s",
        "verifier": VERIFIER,
    }
    return ask(changes.pop("endpoint", "https://as.test/authorize"), **(usual | changes))


def answer(**params: str) -> str:
    return f"{BACK}?{urlencode({'state': 's', 'code': 'c'} | params)}"


def params_of(asked: Asked) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(asked.url).query))


def test_what_the_browser_is_sent_to() -> None:
    asked = question()

    assert asked.url.startswith("https://as.test/authorize?")
    assert params_of(asked) == {
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": BACK,
        "state": "s",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "S256",
        "resource": "https://mcp.test/mcp",
    }


def test_scopes_are_asked_for() -> None:
    params = params_of(question(scopes=["a", "b"]))

    assert params["scope"] == "a b"
    assert "prompt" not in params


def test_a_refresh_token_needs_consent() -> None:
    assert params_of(question(scopes=["a", "offline_access"]))["prompt"] == "consent"


def test_the_endpoint_keeps_its_query_but_not_our_parameters() -> None:
    asked = question(endpoint="https://as.test/authorize?tenant=1&empty=&state=theirs#there")
    pairs = parse_qsl(urlsplit(asked.url).query, keep_blank_values=True)

    assert pairs[:2] == [("tenant", "1"), ("empty", "")]
    assert [value for name, value in pairs if name == "state"] == ["s"]
    assert "#" not in asked.url


def test_secrets_are_not_shown() -> None:
    assert VERIFIER not in repr(question())
    assert "state" not in repr(question())
    assert "hush" not in repr(Code("hush"))


@pytest.mark.parametrize(
    ("said", "has_iss", "url", "outcome"),
    [
        ("a code", False, answer(), Code("c")),
        ("and its issuer", True, answer(iss="https://as.test"), Code("c")),
        ("which was not promised", False, answer(iss="https://as.test"), Code("c")),
        (
            "this machine by another name",
            False,
            answer().replace("127.0.0.1", "localhost"),
            Code("c"),
        ),
        ("an error", False, answer(error="access_denied"), OAuthError("access_denied")),
        (
            "an error of the right issuer",
            True,
            answer(error="e", error_description="d", iss="https://as.test"),
            OAuthError("e", "d"),
        ),
    ],
)
def test_an_answer_that_counts(said: str, has_iss: bool, url: str, outcome: object) -> None:
    assert outcome == read_redirect(url, question(has_iss=has_iss)), said


@pytest.mark.parametrize(
    ("why", "has_iss", "url"),
    [
        ("longer than", False, answer(more="x" * MAX_URL)),
        ("not an address of", False, answer().replace("5000", "5001")),
        ("not an address of", False, answer().replace("/callback", "/other")),
        ("not an address of", False, answer().replace("http:", "https:")),
        ("not an address of", False, answer().replace("127.0.0.1", "as.test")),
        ("not an address of", False, "http://["),
        ("its state is not", False, f"{BACK}?state=\ud800"),
        ("a parameter twice", False, answer() + "&code=d"),
        ("its state is not", False, answer(state="t")),
        ("its state is not", False, answer(state="")),
        ("its state is not", False, answer(state="é")),
        ("its state is not", False, f"{BACK}?code=c"),
        ("does not name its issuer", True, answer()),
        ("does not name its issuer", True, answer(error="e")),
        ("from another issuer", True, answer(iss="https://evil.test")),
        ("from another issuer", False, answer(iss="https://evil.test")),
        ("from another issuer", True, answer(iss="https://as.test/")),
        ("from another issuer", True, answer(iss="https://AS.test")),
        ("from another issuer", True, answer(iss="https://as.test:443")),
        ("from another issuer", True, answer(iss="https%3A//as.test")),
        ("from another issuer", True, answer(error="e", error_description="d", iss="x")),
        ("neither a code nor an error", False, f"{BACK}?state=s"),
        ("neither a code nor an error", False, answer(code="")),
    ],
)
def test_an_answer_that_does_not(why: str, has_iss: bool, url: str) -> None:
    said = read_redirect(url, question(has_iss=has_iss))

    assert isinstance(said, str)
    assert why in said
    assert "evil" not in said  # nor is anything of it shown


def test_the_path_of_a_bare_address_is_the_root() -> None:
    asked = question(redirect_uri="http://127.0.0.1:5000")

    assert Code("c") == read_redirect("http://127.0.0.1:5000/?code=c&state=s", asked)
