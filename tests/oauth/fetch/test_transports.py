"""Through a transport of the user's, and with TLS that cannot be had."""

from __future__ import annotations

import httpx
import pytest

from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.words.tls_options import TlsOptions

MCP = "https://mcp.test/mcp"


def through(handler, **options) -> Fetcher:
    async def resolve(host, port):
        raise AssertionError("looked up")

    return Fetcher(MCP, transport=lambda: httpx.MockTransport(handler), resolve=resolve, **options)


async def test_a_transport_is_asked_by_name():
    def handler(request):
        return httpx.Response(200, json={"url": str(request.url), "host": request.headers["host"]})

    answer = await through(handler).fetch("GET", "https://10.0.0.1:1/a?b")

    assert answer.json() == {"url": "https://10.0.0.1:1/a?b", "host": "10.0.0.1:1"}


async def test_urls_and_limits_hold():
    def handler(request):
        return httpx.Response(200, content=b"x" * 11)

    with pytest.raises(AuthorizationError, match="neither https nor on this machine"):
        await through(handler).fetch("GET", "http://as.test/")
    with pytest.raises(AuthorizationError, match="more than 10 bytes"):
        await through(handler, max_bytes=10).fetch("GET", "https://as.test/")


class Endless(httpx.AsyncByteStream):
    def __init__(self) -> None:
        self.is_open = True

    async def __aiter__(self):
        while True:
            yield b"x"

    async def aclose(self) -> None:
        self.is_open = False


@pytest.mark.parametrize(("coding", "why"), [("identity", "more than 10 bytes"), ("br", "coding")])
async def test_a_body_that_is_not_wanted_is_closed(coding, why):
    body = Endless()

    def handler(request):
        return httpx.Response(200, stream=body, headers={"content-encoding": coding})

    with pytest.raises(AuthorizationError, match=why):
        await through(handler, max_bytes=10).fetch("GET", "https://as.test/")

    assert not body.is_open


async def test_redirects_hold():
    def handler(request):
        return httpx.Response(302, headers={"location": "https://evil.test/"})

    with pytest.raises(AuthorizationError, match="another server"):
        await through(handler).fetch("GET", "https://as.test/")


async def test_whatever_a_transport_raises_is_our_error():
    def handler(request):
        raise ZeroDivisionError

    with pytest.raises(AuthorizationError, match="failed: ZeroDivisionError") as caught:
        await through(handler).fetch("GET", "https://as.test/")

    assert isinstance(caught.value.cause, ZeroDivisionError)


async def test_a_transport_is_closed():
    ends = []

    class Closing(httpx.MockTransport):
        async def aclose(self) -> None:
            ends.append(self)

    made = [Closing(lambda request: httpx.Response(200))]
    await Fetcher(MCP, transport=lambda: made[0]).fetch("GET", "https://as.test/")

    assert ends == made


async def test_a_file_that_is_not_there(fetcher, names):
    names.answer("as.test", ("8.8.8.8",))

    with pytest.raises(AuthorizationError, match="the option ssl cannot be used: /nowhere"):
        await fetcher(ssl=TlsOptions(cafile="/nowhere")).fetch("GET", "https://as.test/")
