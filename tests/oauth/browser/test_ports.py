from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest
from browser_client import answer, exchange, head, status, target, visit_with

from snodo_actors.oauth.browser import Browser
from snodo_actors.oauth.user_agent import Visit
from snodo_actors.oauth.words.errors import AuthorizationError


def port_of(uri: str) -> int:
    return urlsplit(uri).port or 0


def has_ipv6() -> bool:
    with socket.socket(socket.AF_INET6) as sock:
        try:
            sock.bind(("::1", 0))
        except OSError:
            return False
    return True


async def test_the_port_of_last_time_is_taken_again() -> None:
    browser = Browser()
    async with browser.open(None) as visit:
        first = visit.redirect_uri
    async with browser.open(first) as visit:
        assert first == visit.redirect_uri
    async with browser.open(first.replace("127.0.0.1", "localhost")) as visit:
        assert first == visit.redirect_uri


async def test_another_port_is_taken_where_somebody_else_has_it() -> None:
    browser = Browser()
    async with browser.open(None) as first, browser.open(first.redirect_uri) as second:
        assert port_of(second.redirect_uri) not in (0, port_of(first.redirect_uri))


async def test_a_port_that_is_wanted_is_the_only_one() -> None:
    async with Browser().open(None) as taken:
        port = port_of(taken.redirect_uri)
        with pytest.raises(AuthorizationError, match=rf"port {port} of 127\.0\.0\.1") as raised:
            async with Browser(port=port).open(None):
                raise AssertionError

    assert raised.value.step == "user"
    assert isinstance(raised.value.__cause__, OSError)
    async with Browser(port=port, path="/here").open("http://127.0.0.1:1/here") as visit:
        assert visit.redirect_uri == f"http://127.0.0.1:{port}/here"


@pytest.mark.skipif(not has_ipv6(), reason="needs ::1")
@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
async def test_localhost_has_two_addresses(address: str) -> None:
    async def play(visit: Visit) -> None:
        assert visit.redirect_uri.startswith("http://localhost:")
        uri = visit.redirect_uri.replace("localhost", address)
        assert status(await exchange(uri, head(target(answer(uri))))) == 200

    back = await visit_with(Browser(host="localhost", open=lambda _url: None), play)

    assert back.startswith("http://localhost:")


@pytest.mark.skipif(not has_ipv6(), reason="needs ::1")
async def test_localhost_needs_its_port_at_both_addresses() -> None:
    with socket.socket(socket.AF_INET6) as other:
        other.bind(("::1", 0))
        other.listen()
        port = other.getsockname()[1]
        preferred = f"http://localhost:{port}/callback"
        async with Browser(host="localhost").open(preferred) as visit:
            assert port_of(visit.redirect_uri) not in (0, port)


@pytest.mark.skipif(not has_ipv6(), reason="needs ::1")
async def test_an_ipv6_address_may_be_wanted() -> None:
    async def play(visit: Visit) -> None:
        url = answer(visit.redirect_uri)
        assert status(await exchange(visit.redirect_uri, head(target(url)))) == 200

    back = await visit_with(Browser(host="::1", open=lambda _url: None), play)

    assert back.startswith("http://[::1]:")


@pytest.mark.parametrize(
    ("options", "what"),
    [({"host": "0.0.0.0"}, "host"), ({"port": 70000}, "port"), ({"path": "x"}, "path")],
)
def test_other_places_are_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=f"^{what} is"):
        Browser(**options)
