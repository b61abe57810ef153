from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.callback import (
    MAX_CHARACTERS,
    Answer,
    Expected,
    Redirected,
    expect,
    read_paste,
    read_request,
)

BACK = "http://127.0.0.1:5000/callback"
EXPECTED = Expected(BACK, "/callback", "s")

REQUESTS = [
    (f"{BACK}?code=c&state=s", "GET", "/callback?code=c&state=s"),
    (f"{BACK}?state=s&error=access_denied", "GET", "/callback?state=s&error=access_denied"),
    # written as for a proxy
    (f"{BACK}?code=c&state=s", "GET", "http://localhost:5000/callback?code=c&state=s"),
    (404, "GET", "/favicon.ico"),
    (404, "GET", "/callback/?code=c&state=s"),
    (404, "GET", "//callback?code=c&state=s"),
    (404, "GET", "http://127.0.0.1?/callback?code=c&state=s"),
    (404, "GET", "ftp://127.0.0.1/callback?code=c&state=s"),
    (404, "OPTIONS", "*"),
    (404, "CONNECT", "127.0.0.1:5000"),
    (404, "POST", "/other?code=c&state=s"),
    (405, "POST", "/callback?code=c&state=s"),
    (405, "HEAD", "/callback?code=c&state=s"),
    (400, "GET", "/callback"),
    (400, "GET", "/callback?code=c"),
    (400, "GET", "/callback?code=c&state="),
    (400, "GET", "/callback?code=c&state=S"),
    (400, "GET", "/callback?code=c&state=%ED%A0%80"),
    (400, "GET", "/callback?code=c&state=s&state=s"),
    (400, "GET", "/callback?code=c&state=s#x"),
    (400, "GET", "/callback?state=s"),
    (400, "GET", "/callback?state=s&code=&error="),
]


@pytest.mark.parametrize(("said", "method", "target"), REQUESTS)
def test_a_request_is_the_redirect_or_is_answered(
    said: str | int, method: str, target: str
) -> None:
    outcome = read_request(method, target, EXPECTED)

    assert said == (outcome.url if isinstance(outcome, Redirected) else outcome.status)


PASTED = [
    (f"{BACK}?code=c&state=s", f"{BACK}?code=c&state=s"),
    (f"{BACK}?code=c&state=s", f"  {BACK}?code=c\n&state=s\r\n"),
    (f"{BACK}?code=c&state=s", "127.0.0.1:5000/callback?code=c&state=s"),
    (f"{BACK}?code=c&state=s", "/callback?code=c&state=s"),
    (f"{BACK}?code=c&state=s", "?code=c&state=s"),
    (f"{BACK}?code=c&state=s", "code=c&state=s"),
    (f"{BACK}?code=c&state=s", f"{BACK}?code=c&state=s#_=_"),
    (400, ""),
    (400, "c"),
    (400, BACK),
    (404, "https://as.test/authorize?state=s&code=c"),
    (404, "as.test/authorize?state=s&code=c"),
    (400, "code=c&state=other"),
    (400, f"{BACK}?code=c"),
    (414, "x" * (MAX_CHARACTERS + 1)),
]


@pytest.mark.parametrize(("said", "text"), PASTED)
def test_what_is_pasted_is_the_redirect_or_is_not(said: str | int, text: str) -> None:
    outcome = read_paste(text, EXPECTED)

    assert said == (outcome.url if isinstance(outcome, Redirected) else outcome.status)


def test_the_redirect_uri_may_be_written_in_another_way() -> None:
    url = "https://as.test/?state=s&redirect_uri=http%3A%2F%2Flocalhost%3A5000%2Fcallback"

    assert Expected("http://localhost:5000/callback", "/callback", "s") == expect(url, BACK)


def test_an_authorization_url_needs_no_redirect_uri() -> None:
    assert expect("https://as.test/?state=s", BACK) == EXPECTED


@pytest.mark.parametrize("query", ["", "state=", "code=c"])
def test_an_authorization_url_without_a_state_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match="has no state"):
        expect(f"https://as.test/?{query}", BACK)


def test_a_root_is_a_path() -> None:
    assert expect("https://as.test/?state=s", "http://127.0.0.1:5000").path == "/"


def test_nothing_secret_is_shown() -> None:
    shown = repr([EXPECTED, Redirected("http://x/?code=secret"), Answer(404, "why")])

    assert "secret" not in shown
    assert "state=" not in shown
