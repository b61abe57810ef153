"""URLs, taken apart as httpx takes them apart."""

from __future__ import annotations

import httpx
import pytest

from snodo_actors.ports.http.origin import Origin, read_origin
from snodo_actors.ports.http.url import read_url
from snodo_actors.words.errors import TransportError
from snodo_actors.words.http_options import HttpOptions

GOOD = [
    "http://some.test",
    "http://some.test/",
    "HTTP://SOME.test/MCP",
    "https://some.test:443/mcp",
    "https://some.test:80/mcp",
    "http://some.test:/mcp",
    "http://some.test:8080",
    "http://some.test?a=b",
    "http://some.test/mcp?a=b&c=d%20e#fragment",
    "http://some.test/mcp?",
    "http://some.test/?a=?&b=/#?",
    "http://some.test#fragment",
    "http://user:pass@some.test/mcp",
    "http://a@b:c@some.test/mcp",
    "http://some.test/a b/ü?c=d e&f=é",
    "http://some.test/100%/a%2Fb%2fc?d=5%&e=%zz",
    "http://some.test/\"<>`{}|\\^[]!$&'()*+,;=:@~-._?\"<>`{}|\\^[]!$&'()*+,;=:@~-._/?",
    "http://127.0.0.1:81/mcp",
    "http://[::1]/mcp",
    "http://[::1]:8080/mcp",
    "http://[2001:DB8::1]:8080/mcp",
    "http://xn--bcher-kva.test/",
    "http://Bücher.test/",
    "http://some_host/mcp",
    "http://localhost.:81/",
    "http://a-b.c-d.test/mcp/",
]


@pytest.mark.parametrize("url", GOOD)
def test_it_is_what_httpx_makes_of_it(url):
    ours, theirs = read_url(url), httpx.URL(url)
    assert ours.scheme == theirs.scheme
    assert ours.host == theirs.raw_host.decode().lower()
    assert ours.port == (theirs.port or {"http": 80, "https": 443}[theirs.scheme])
    assert ours.target == theirs.raw_path.decode()
    assert ours.host_header == httpx.Request("GET", url).headers["host"].lower()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "some.test/mcp",
        "//some.test/mcp",
        "ftp://some.test/",
        "ws://some.test/",
        "file:///mcp",
        "http:some.test",
        "http:/some.test",
        "http://",
        "http:///mcp",
        "http://:80/mcp",
        "http://user@/mcp",
        " http://some.test",
        "http://some.test ",
        "http://some test/",
        "http://some.test/a\nb",
        "http://some.test/\r\nx: y",
        "http://some.test/\0",
        "http://some.test/\ud800",
        "http://some.test\\@evil.test/",
        "http://some.test:port/",
        "http://some.test:-1/",
        "http://some.test:0/",
        "http://some.test:65536/",
        "http://some.test:\uff18\uff10/",
        "http://some.test:80:80/",
        "http://1.2.3.400/",
        "http://1.2.3/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[]/",
        "http://[some.test]/",
        "http://[127.0.0.1]/",
        "http://a..b/",
        "http://.test/",
        f"http://{'a' * 64}.test/",
        f"http://{'a.' * 130}test/",
        "http://☃️☃️..test/",
        "http://a%20b.test/",
    ],
)
def test_what_leads_nowhere_is_refused(url):
    error = read_origin(url, HttpOptions())
    assert isinstance(error, TransportError)
    assert error.message == f"not an http or https URL: {url!r}"
    assert (error.cause, error.delivery) == (url, "never_sent")


def test_the_zone_of_an_address_is_for_us_alone():
    url = read_url("http://[fe80::1%25eth0]:81/")
    assert (url.host, url.host_header) == ("fe80::1%eth0", "[fe80::1]:81")


def test_what_a_request_begins_with():
    origin = read_origin("http://some.test:81/mcp?a", HttpOptions(proxy=None))
    assert isinstance(origin, Origin)
    prefix = origin.prefix("POST")
    assert prefix == b"POST /mcp?a HTTP/1.1\r\nhost: some.test:81\r\n"
    assert origin.prefix("POST") is prefix
    assert origin.prefix("DELETE").startswith(b"DELETE /mcp?a ")
