"""Proxies between a link and its server, and which of them is asked."""

from __future__ import annotations

import base64
import threading

import anyio
import pytest
from byte_servers import PATIENCE, answer_all
from proxy_servers import Proxying

from snodo_actors.ports.http.origin import Origin, read_origin
from snodo_actors.ports.http.proxy import basic_authorization, find_proxy
from snodo_actors.ports.http.url import read_url
from snodo_actors.wire.http1 import End
from snodo_actors.words.errors import TransportError
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.types import INHERIT

WHOLE = End(reusable=True, framed=True)
ADA = b"proxy-authorization: Basic " + base64.b64encode(b"ada:p@ss:w")


def of(server, user="ada:p%40ss:w@"):
    return server.url.replace("//", f"//{user}").removesuffix("/mcp")


@pytest.fixture(params=["http", "https"])
def through(request, authority):
    """The TLS of the proxy."""
    return None if request.param == "http" else authority.server()


async def test_an_http_server_is_named_to_the_proxy(serve, connect, authority, through):
    server, proxying = serve(answer_all), Proxying()
    proxy = serve(proxying, tls=through)
    opened = await connect(server.url + "?q=1", proxy=of(proxy), ssl=authority.file)
    for n in range(3):
        await opened.exchange(b"%d" % n)
        assert (opened.told.body, opened.told.items[-1]) == (b"%d" % n, WHOLE)
    assert proxy.accepted == 1
    lines = proxying.asked[0].split(b"\r\n")
    assert lines[0] == b"POST %b?q=1 HTTP/1.1" % server.url.encode()
    assert lines[1] == b"host: 127.0.0.1:%d" % server.port
    assert ADA in lines


async def test_an_https_server_is_reached_through_a_tunnel(serve, connect, authority, through):
    server, proxying = serve(answer_all, tls=authority.server()), Proxying()
    proxy = serve(proxying, tls=through)
    opened = await connect(server.url, proxy=of(proxy), ssl=authority.file)
    for body in (b"1", b"2", bytes(range(256)) * 20_000):
        await opened.exchange(body, max_bytes=1 << 23)
        assert opened.told.body == body
        assert opened.told.items[-1] == WHOLE
        assert opened.link.is_usable()
    (asked,) = proxying.asked
    lines = asked.split(b"\r\n")
    assert lines[0] == b"CONNECT 127.0.0.1:%d HTTP/1.1" % server.port
    assert lines[1] == b"host: 127.0.0.1:%d" % server.port
    assert ADA in lines


async def test_the_end_of_a_tunnel_is_noticed(serve, connect, authority, through):
    go_on = threading.Event()

    def talk(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        go_on.wait(PATIENCE)

    proxy = serve(Proxying(), tls=through)
    server = serve(talk, tls=authority.server())
    opened = await connect(server.url, proxy=of(proxy), ssl=authority.file)
    await opened.exchange()
    go_on.set()
    await opened.told.until(lambda: opened.told.lost_for)
    assert opened.told.lost_for == ["the server closed the connection"]


async def test_a_proxy_without_a_user_is_told_of_none(serve, connect):
    server, proxying = serve(answer_all), Proxying()
    opened = await connect(server.url, proxy=of(serve(proxying), user=""))
    await opened.exchange()
    assert b"proxy-authorization" not in proxying.asked[0]


async def test_the_environment_is_followed(serve, connect, authority, monkeypatch):
    http, https = serve(answer_all), serve(answer_all, tls=authority.server())
    for_http, for_https = Proxying(), Proxying()
    monkeypatch.setenv("HTTP_PROXY", of(serve(for_http)))
    monkeypatch.setenv("https_proxy", of(serve(for_https)).removeprefix("http://"))
    for server in (http, https):
        opened = await connect(server.url, ssl=authority.file)
        await opened.exchange()
        assert opened.told.statuses == [200]
        alone = await connect(server.url, ssl=authority.file, proxy=None)
        await alone.exchange()
    assert (len(for_http.asked), len(for_https.asked)) == (1, 1)
    monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
    await (await connect(http.url)).exchange()
    assert len(for_http.asked) == 1


# ---- refusals


def says(said):
    def talk(connection):
        connection.request()
        connection.send(said)

    return talk


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (Proxying(status=b"407 Proxy Authentication Required"), "refused {} with HTTP status 407"),
        (Proxying(status=b"502 Bad Gateway"), "refused {} with HTTP status 502"),
        (says(b""), "hung up when asked for {}"),
        (says(b"HTTP/1.1 2"), "hung up when asked for {}"),
        (says(b"no\r\n"), "answered with malformed HTTP"),
        (says(b"HTTP/1.1 200 OK\r\na: " + b"x" * 70_000), "answered with malformed HTTP"),
    ],
)
async def test_a_tunnel_that_is_refused(serve, connect, authority, *, through, talk, said):
    proxy = serve(talk, tls=through)
    with pytest.raises(TransportError) as caught:
        await connect("https://some.test/", proxy=of(proxy), ssl=authority.file)
    assert caught.value.cause == (
        "failed_connect",
        f"the proxy 127.0.0.1:{proxy.port} {said.format('some.test:443')}",
    )
    assert caught.value.delivery == "never_sent"
    assert "p%40ss" not in str(caught.value)


async def test_a_proxy_that_answers_in_pieces(serve, connect, authority):
    server = serve(answer_all, tls=authority.server())
    proxying = Proxying()

    def talk(connection):
        send = connection.send

        def slowly(data):
            for n in data:
                send(bytes([n]))

        connection.send = slowly
        proxying(connection)

    opened = await connect(server.url, proxy=of(serve(talk)), ssl=authority.file)
    await opened.exchange()
    assert opened.told.statuses == [200]


async def test_a_proxy_nobody_runs(connect):
    with pytest.raises(TransportError, match=r"could not connect: 127\.0\.0\.1 port 1: Conn"):
        await connect("http://some.test/", proxy="http://127.0.0.1:1")


async def test_a_server_behind_a_proxy_is_not_trusted_blindly(serve, connect, authority):
    server = serve(answer_all, tls=authority.server("other.test"))
    with pytest.raises(TransportError, match=r"certificate is not valid for '127\.0\.0\.1'"):
        await connect(server.url, proxy=of(serve(Proxying())), ssl=authority.file)


async def test_giving_up_while_the_proxy_thinks(serve, connect, authority):
    ended = threading.Event()

    def talk(connection):
        connection.wait_for_end()
        ended.set()

    with anyio.move_on_after(0.05) as scope:
        await connect("https://some.test/", proxy=of(serve(talk)), ssl=authority.file)
    assert scope.cancelled_caught
    assert ended.wait(PATIENCE)


# ---- which proxy

HTTP, HTTPS = "http://some.test/", "https://some.test/"


def found(url, environ, option=INHERIT):
    proxy = find_proxy(read_url(url), option, environ)
    return proxy and (f"{proxy.scheme}://{proxy.host}:{proxy.port}", proxy.user)


@pytest.mark.parametrize(
    ("proxy", "url", "environ"),
    [
        (None, HTTP, {}),
        (None, HTTP, {"http_proxy": ""}),
        (None, HTTPS, {"http_proxy": "http://p.test"}),
        ("http://p.test:80", HTTP, {"http_proxy": "http://p.test"}),
        ("http://p.test:3128", HTTP, {"HTTP_PROXY": " p.test:3128 "}),
        ("https://p.test:443", HTTPS, {"HTTPS_PROXY": "https://p.test/", "ALL_PROXY": "x"}),
        ("http://a.test:80", HTTPS, {"https_proxy": "a.test", "HTTPS_PROXY": "b.test"}),
        ("http://a.test:1", HTTP, {"all_proxy": "http://a.test:1"}),
        ("http://a.test:1", HTTPS, {"ALL_PROXY": "http://a.test:1"}),
        (None, HTTP, {"HTTP_PROXY": "http://evil.test", "REQUEST_METHOD": "GET"}),
        ("http://p.test:80", HTTP, {"http_proxy": "p.test", "REQUEST_METHOD": "GET"}),
        (None, HTTP, {"http_proxy": "p.test", "no_proxy": "*"}),
        (None, HTTP, {"http_proxy": "p.test", "NO_PROXY": "other.test, some.test"}),
        ("http://p.test:80", HTTP, {"http_proxy": "p.test", "no_proxy": "x", "NO_PROXY": "*"}),
    ],
)
def test_the_environment_names_a_proxy(proxy, url, environ):
    assert found(url, environ) == (proxy and (proxy, ""))


@pytest.mark.parametrize(
    ("host", "entry", "excepted"),
    [
        ("some.test", "some.test", True),
        ("some.test", "SOME.test", True),
        ("some.test", ".some.test", True),
        ("some.test", "*.some.test", True),
        ("some.test", "test", True),
        ("a.b.some.test", "some.test", True),
        ("some.test.", "some.test", True),
        ("awesome.test", "some.test", False),
        ("some.test", "a.some.test", False),
        ("some.test", "", False),
        ("some.test", " , ,", False),
        ("some.test:8080", "some.test:8080", True),
        ("some.test:8080", "some.test:80", False),
        ("some.test", "some.test:80", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "2.3", False),
        ("[::1]", "::1", True),
        ("[::1]", "[::1]", True),
        ("[::1]:81", "[::1]:80", False),
        ("[fd00::5]", "fd00::/8", True),
        ("[fd00::5]", "10.0.0.0/8", False),
        ("some.test", "10.0.0.0/8", False),
    ],
)
def test_no_proxy(host, entry, excepted):
    environ = {"http_proxy": "p.test", "no_proxy": f"first.test,{entry}"}
    assert (found(f"http://{host}/", environ) is None) == excepted


def test_the_option_goes_before_the_environment():
    environ = {"http_proxy": "p.test", "no_proxy": "*"}
    assert found(HTTP, environ, None) is None
    assert found(HTTP, environ, "http://u:p@o.test:1/") == ("http://o.test:1", "u:p")


@pytest.mark.parametrize(
    ("user", "header"),
    [("", None), ("u:p", b"u:p"), ("u", b"u:"), ("a%3Ab:%F0%9F%90%8D", b"a%3Ab:" + "🐍".encode())],
)
def test_credentials(user, header):
    proxy = read_url(f"http://{user}{'@' if user else ''}p.test/")
    expected = header and b"Basic " + base64.b64encode(header.replace(b"%3A", b":"))
    assert basic_authorization(proxy) == expected


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("socks5://u:secret@p.test:1080", "'socks5://p.test:1080'"),
        ("http://u:secret@:80", "'http://:80'"),
        ("u:secret@p.test:port", "'p.test:port'"),
    ],
)
def test_a_proxy_that_cannot_be_used(monkeypatch, option, shown):
    monkeypatch.setenv("ALL_PROXY", option)
    error = read_origin(HTTP, HttpOptions())
    assert isinstance(error, TransportError)
    assert shown in error.message
    assert "secret" not in repr(error)
    assert ("transport=lambda: httpx" in error.message) == option.startswith("socks")


def test_no_password_is_shown(authority):
    options = HttpOptions(proxy="https://u:secret@p.test", ssl=authority.file)
    origin = read_origin(HTTPS, options)
    assert isinstance(origin, Origin)
    assert "secret" not in repr(origin) + repr(options)
    assert origin.proxy.tls is origin.tls
