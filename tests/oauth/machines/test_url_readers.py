"""Whoever reads a URL after us has to see the same host."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.oauth.machines.urls import (
    browser_url,
    canonical_resource,
    covers,
    origin,
    read_endpoint,
    same_origin,
    shown,
)

HOSTS = ["localhost", "127.0.0.1", "[::1]", "evil.test", "as.test", "0x7f", "127.1", "..", "%2e"]
OTHERS = ["https://", "http://", "//", ":80", ":443", "%2f", "@"]
PIECES = (
    st.sampled_from(HOSTS)
    | st.sampled_from(OTHERS)
    | st.sampled_from("@:\\/?#.%[]a0 \t\n\0;&=\u3002\uff0f\u2100\xfc")
)
WRITTEN = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20)
URLS = WRITTEN | WRITTEN.map("https://".__add__) | WRITTEN.map("http://localhost".__add__)


@given(URLS)
def test_all_readers_see_one_host(url: str) -> None:
    parts = read_endpoint(url)
    if isinstance(parts, str):
        return
    written = browser_url(url)

    assert written.isascii()
    assert written.isprintable()
    assert read_endpoint(written) == parts._replace(path=parts.path or "/")
    assert browser_url(written) == written
    seen, other = urlsplit(written), httpx.URL(written)
    assert (seen.hostname, other.raw_host) == (parts.host, parts.host.encode())
    assert (seen.scheme, other.scheme) == (parts.scheme, parts.scheme)
    assert (seen.port or parts.port, other.port or parts.port) == (parts.port, parts.port)
    assert (seen.username, other.userinfo) == (None, b"")


@given(URLS)
def test_a_server_has_one_name_and_stands_for_itself(url: str) -> None:
    assert len(shown(url)) <= 3 * len(url) + 100
    try:
        resource = canonical_resource(url)
    except ValueError:
        assert not same_origin(url, url)
        return
    assert canonical_resource(resource) == resource
    assert origin(resource) == origin(url)
    assert same_origin(resource, url)
    assert covers(resource, url) is not isinstance(read_endpoint(resource), str)
    assert covers(origin(url), url) is not isinstance(read_endpoint(origin(url)), str)
