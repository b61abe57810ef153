from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.loopback_uri import build_redirect_uri, read_port, refuse_place


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("http://127.0.0.1:5000/callback", "127.0.0.1"),
        ("http://localhost:5000/callback", "localhost"),
        ("http://[::1]:5000/callback", "::1"),
    ],
)
def test_a_redirect_uri_is_read_as_it_was_built(uri: str, host: str) -> None:
    assert uri == build_redirect_uri(host, 5000, "/callback")
    assert read_port(uri, "/callback") == 5000


@pytest.mark.parametrize(
    "uri",
    [
        None,
        "",
        "http://127.0.0.1/callback",
        "http://127.0.0.1:5000/other",
        "https://127.0.0.1:5000/callback",
        "http://example.com:5000/callback",
        "http://127.0.0.1:99999/callback",
        "http://[/callback",
    ],
)
def test_a_redirect_uri_that_leads_elsewhere_has_no_port_for_us(uri: str | None) -> None:
    assert read_port(uri, "/callback") == 0


@pytest.mark.parametrize(
    ("why", "place"),
    [
        (None, ("127.0.0.1", 0, "/callback")),
        (None, ("localhost", 65535, "/")),
        ("host", ("0.0.0.0", 0, "/callback")),
        ("host", ("example.com", 0, "/callback")),
        ("port", ("::1", -1, "/callback")),
        ("port", ("::1", 65536, "/callback")),
        ("path", ("::1", 0, "callback")),
        ("path", ("::1", 0, "//host/callback")),
        ("path", ("::1", 0, "/call back")),
        ("path", ("::1", 0, "/callback?x")),
        ("path", ("::1", 0, "")),
    ],
)
def test_only_this_machine_is_listened_at(why: str | None, place: tuple[str, int, str]) -> None:
    refused = refuse_place(*place)

    assert why == (refused and refused.split()[0])
