from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.urls import (
    browser_url,
    canonical_resource,
    check_endpoint,
    covers,
    origin,
    redirected,
    same_origin,
    shown,
)

HOST = "it has no host that can be relied on"
ODD = "it has blanks, backslashes or control characters"
PLAIN = "it is neither https nor on this machine"
SCHEME = "it is no https URL"
USER = "it has a user name"


@pytest.mark.parametrize(
    "url",
    [
        "https://as.test",
        "HTTPS://AS.test/token?tenant=1",
        "https://as.test:8443/token",
        "https://as.test:/token",
        "https://as.test./token",
        "https://xn--bcher-kva.test/",
        "https://bücher.test/ü?ü",
        "https://10.0.0.1/",  # where it is, is judged later
        "https://[2001:db8::1]:8443/",
        "http://localhost:3000/token",
        "http://LOCALHOST/",
        "http://127.0.0.1:3000/",
        "http://127.8.9.10/",
        "http://[::1]:3000/",
        "http://[0:0:0:0:0:0:0:1]/",
    ],
)
def test_an_endpoint_is_taken(url: str) -> None:
    assert check_endpoint(url) is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://as.test/", PLAIN),
        ("http://10.0.0.1/", PLAIN),
        ("http://localhost.evil.test/", PLAIN),
        ("http://localhost./", PLAIN),
        ("http://evil.test/localhost", PLAIN),
        ("http://[::ffff:127.0.0.1]/", PLAIN),
        ("http://[::2]/", PLAIN),
        ("http://0.0.0.0/", PLAIN),
        ("http://localhost@evil.test/", USER),
        ("http://localhost:80@evil.test/", USER),
        ("https://user:password@as.test/", USER),
        ("https://@as.test/", USER),
        ("https://as.test/#there", "it has a fragment"),
        ("https://as.test#", "it has a fragment"),
        ("https://as.test\\@evil.test/", ODD),
        ("https:\\\\as.test/", ODD),
        (" https://as.test/", ODD),
        ("https://as.test/ ", ODD),
        ("https://as.test/\r\nx: y", ODD),
        ("https://as.te\tst/", ODD),
        ("ht\ntps://as.test/", ODD),
        ("https://as.test/\x00", ODD),
        ("https://as.test/\x85", ODD),
        ("https://as.test/\u202egpj.exe", ODD),
        ("https://as.test/\u3000", ODD),
        ("https://as.test/\ud800", ODD),
        ("javascript:alert(1)", SCHEME),
        ("javascript://as.test/%0aalert(1)", SCHEME),
        ("data:text/html,x", SCHEME),
        ("file:///etc/passwd", SCHEME),
        ("vbscript:x", SCHEME),
        ("ftp://as.test/", SCHEME),
        ("//as.test/token", SCHEME),
        ("/token", SCHEME),
        ("as.test", SCHEME),
        ("", SCHEME),
        ("https:", HOST),
        ("https:/as.test/", HOST),
        ("https:as.test", HOST),
        ("https://", HOST),
        ("https:///token", HOST),
        ("https://:443/", HOST),
        ("https://./", HOST),
        ("https://a..b/", HOST),
        ("https://.as.test/", HOST),
        ("https://as%2etest/", HOST),
        ("https://as.test;evil.test/", HOST),
        ("https://as,test/", HOST),
        ("https://a_*.test/", HOST),
        ("https://" + "a" * 64 + ".test/", HOST),
        ("https://" + "a." * 127 + "test/", HOST),
        ("https://" + "\xfc" * 255 + "/", HOST),
        ("https://\u2488.test/", HOST),  # no letter of a name
        ("http://127.1/", HOST),
        ("http://127.0.0.01/", HOST),
        ("http://127.0.0.1./", HOST),
        ("http://0177.0.0.1/", HOST),
        ("http://0x7f.0.0.1/", HOST),
        ("http://0x7f000001/", HOST),
        ("http://0X7F000001/", HOST),
        ("http://2130706433/", HOST),
        ("http://\uff11\uff12\uff17.0.0.1/", HOST),
        ("https://1.2.3.4.5/", HOST),
        ("https://256.1.1.1/", HOST),
        ("https://[::1/", HOST),
        ("https://[::1%25eth0]/", HOST),
        ("https://[fe80::1%1]/", HOST),
        ("https://[::1]evil.test/", HOST),
        ("https://[127.0.0.1]/", HOST),
        ("https://[as.test]/", HOST),
        ("https://::1/", HOST),
        ("https://as.test:80:80/", HOST),
        ("https://as.test:x/", HOST),
        ("https://as.test:-1/", HOST),
        ("https://as.test:\u0661/", HOST),
        ("https://as.test:0/", "its port is out of range"),
        ("https://as.test:65536/", "its port is out of range"),
        ("https://as.test/" + "a" * 8192, "it is longer than 8192 characters"),
    ],
)
def test_an_endpoint_is_refused(url: str, why: str) -> None:
    assert why == check_endpoint(url)
    with pytest.raises(ValueError, match="not shown to a browser"):
        browser_url(url)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://as.test", "https://as.test/"),
        ("HTTPS://AS.test:443/a?b=c&d=%20+", "https://as.test/a?b=c&d=%20+"),
        ("https://as.test?", "https://as.test/?"),
        ('https://as.test/"<x>`?q="<y>\'', "https://as.test/%22%3Cx%3E%60?q=%22%3Cy%3E'"),
        ("https://bücher.test/ü?ü", "https://xn--bcher-kva.test/%C3%BC?%C3%BC"),
        ("https://as.test/$(id)|;&`id`", "https://as.test/$(id)%7C;&%60id%60"),
        ("http://[0::1]:80/", "http://[::1]/"),
        ("https://evil\u3002test/", "https://evil.test/"),
    ],
)
def test_a_browser_is_shown_ascii(written: str, url: str) -> None:
    assert url == browser_url(written)


@pytest.mark.parametrize(
    ("url", "its_origin"),
    [
        ("https://MCP.test/mcp", "https://mcp.test"),
        ("https://mcp.test:443", "https://mcp.test"),
        ("http://mcp.test:80/", "http://mcp.test"),
        ("http://mcp.test:443/", "http://mcp.test:443"),
        ("https://[2001:DB8:0::1]:1/x", "https://[2001:db8::1]:1"),
        ("https://me:secret@mcp.test/a@b", "https://mcp.test"),
        ("https://mcp.test?a@b.test", "https://mcp.test"),
        ("https://mcp.test#a@b.test", "https://mcp.test"),
    ],
)
def test_an_origin(url: str, its_origin: str) -> None:
    assert its_origin == origin(url)


@pytest.mark.parametrize("url", ["", "mcp.test", "ftp://mcp.test", "https://a\\@b/", "https://[x]"])
def test_what_is_no_url_has_no_origin(url: str) -> None:
    assert not same_origin(url, url)
    for read in (origin, canonical_resource):
        with pytest.raises(ValueError, match="not the URL of a server"):
            read(url)


def test_no_error_shows_a_query_or_a_password() -> None:
    for url in ("ftp://me:secret@h/?secret", "https://me:secret@h h/?secret#secret"):
        with pytest.raises(ValueError, match="not the URL") as caught:
            origin(url)
        assert "secret" not in str(caught.value)
    rows = {
        "https://me:secret@h/a?secret#secret": "https://h/a",
        "ftp://me:secret@h/?secret": "'ftp://h/'",
    }
    assert rows == {url: shown(url) for url in rows}
    assert len(shown("x" * 9000)) < 300


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("https://h/a", "https://H:443/b?c", True),
        ("https://h", "http://h", False),
        ("https://h", "https://h:444", False),
        ("https://h", "https://h.", False),
        ("https://h", "https://h.evil", False),
        ("https://h", "https://h@evil", False),
        ("https://h", "h", False),
        ("h", "https://h", False),
    ],
)
def test_same_origin(a: str, b: str, same: bool) -> None:
    assert same is same_origin(a, b)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b?c", "https://h/b?c"),
        ("b", "https://h/a/b"),
        ("../b#there", "https://h/b"),
        ("https://H:443/b", "https://H:443/b"),
        ("//h/b", "https://h/b"),
        ("http://h/b", None),
        ("https://h:444/b", None),
        ("//evil/b", None),
        ("https://evil/b", None),
        ("https://h@evil/b", None),
        ("https://me@h/b", None),
        ("/\\evil/b", None),
        ("\t//evil", None),
        ("https://[h", None),
        ("javascript:1", None),
    ],
)
def test_a_redirect_stays_where_it_is(location: str, target: str | None) -> None:
    assert target == redirected("https://h/a/x", location)


@pytest.mark.parametrize(
    ("server", "resource"),
    [
        ("https://mcp.test/", "https://mcp.test"),
        ("https://mcp.test", "https://mcp.test"),
        ("HTTPS://MCP.test:443/Mcp/#x", "https://mcp.test/Mcp/"),
        ("https://mcp.test:8443/mcp?a=B", "https://mcp.test:8443/mcp?a=B"),
        ("https://mcp.test/?a", "https://mcp.test?a"),
        ("http://mcp.test:80/mcp", "http://mcp.test/mcp"),
        ("https://me:secret@mcp.test/mcp", "https://mcp.test/mcp"),
        ("https://mcp.test/https://me@b", "https://mcp.test/https://me@b"),
        ("https://mcp.test/ü", "https://mcp.test/%C3%BC"),
        ("https://mcp.test/a/../b", "https://mcp.test/a/../b"),
    ],
)
def test_a_server_has_one_name(server: str, resource: str) -> None:
    assert resource == canonical_resource(server)
    assert resource == canonical_resource(resource)


@pytest.mark.parametrize(
    ("resource", "server", "does"),
    [
        ("https://h/mcp", "https://h/mcp", True),
        ("https://h/mcp", "https://H:443/mcp#x", True),
        ("https://h/mcp", "https://me@h/mcp", True),
        ("https://h/mcp/", "https://h/mcp", True),
        ("https://h/mcp", "https://h/mcp/", True),
        ("https://h", "https://h/mcp", True),
        ("https://h/", "https://h/mcp?x", True),
        ("https://h/a", "https://h/a/mcp", True),
        ("https://h/a/", "https://h/a/mcp?x", True),
        ("https://h/mcp?a", "https://h/mcp?a", True),
        ("http://localhost:1/mcp", "http://localhost:1/mcp", True),
        ("https://h/a%2Fb", "https://h/a%2Fb", True),  # the very same text
        ("https://h", "https://h/%2e%2e/x", True),
        ("https://h/mcp2", "https://h/mcp", False),
        ("https://h/mcp", "https://h/mcp2", False),
        ("https://h/mcp", "https://h/MCP", False),
        ("https://h/mcp/x", "https://h/mcp", False),
        ("https://h/b", "https://h/a/mcp", False),
        ("https://h/mcp?a", "https://h/mcp", False),
        ("https://h/mcp?a", "https://h/mcp?b", False),
        ("https://h?a", "https://h/mcp?a", False),
        ("https://h//", "https://h/mcp", False),
        ("https://h/a", "https://h/a/../b", False),
        ("https://h/a", "https://h/a/%2e%2E/b", False),
        ("https://h/a", "https://h/a/.%2e%2fb", False),
        ("https://h/a", "https://h/a/..%5cb", False),
        ("https://h/a", "https://h/a/%252e%252e/b", False),
        ("https://h/a", "https://h/a/..;/b", False),
        ("https://h/a/../mcp", "https://h/mcp", False),
        ("https://h/a/..", "https://h/mcp", False),
        ("https://h/a", "https://h/a%2Fmcp", False),
        ("https://h/mcp", "http://h/mcp", False),
        ("http://h/mcp", "http://h/mcp", False),
        ("https://h:444/mcp", "https://h/mcp", False),
        ("https://evil/mcp", "https://h/mcp", False),
        ("https://h.evil/mcp", "https://h/mcp", False),
        ("https://h@evil/mcp", "https://h/mcp", False),
        ("https://h/mcp#x", "https://h/mcp", False),
        ("https://h\\.evil/mcp", "https://h/mcp", False),
        ("/mcp", "https://h/mcp", False),
        ("https://h/mcp", "h/mcp", False),
    ],
)
def test_whom_a_resource_stands_for(resource: str, server: str, does: bool) -> None:
    assert does is covers(resource, server)
