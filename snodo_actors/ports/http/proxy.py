"""Which proxy stands between us and a server, if any.

Knows the option, the environment and what it excepts; knows nothing of how a proxy is talked to.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from ssl import SSLContext
from typing import Final
from urllib.parse import unquote_to_bytes

from snodo_actors.ports.http.url import Url, bracketed, read_url
from snodo_actors.words.errors import TransportError
from snodo_actors.words.lost import bad_proxy
from snodo_actors.words.types import INHERIT, Inherit

_SOCKS: Final = (
    "only http and https proxies are spoken to; for this one, "
    "pass transport=lambda: httpx.AsyncHTTPTransport(proxy=...)"
)


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and how to get to it."""

    host: str
    port: int
    tls: SSLContext | None = None
    authorization: bytes | None = field(default=None, repr=False)
    """The value of the header that says who we are."""

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


def find_proxy(
    url: Url, option: str | Inherit | None, environ: Mapping[str, str] = os.environ
) -> Url | TransportError | None:
    """Find the proxy for *url*: what the *option* says, or else what the environment does."""
    if option is None:
        return None
    if option is not INHERIT:
        return _read(str(option))
    found = _from_environment(url.scheme, environ)
    if not found or _is_excepted(url, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    return _read(found)


def basic_authorization(proxy: Url) -> bytes | None:
    """Build what shows the proxy the user name and password of its URL, if it has them."""
    if not proxy.user:
        return None
    user, _, password = proxy.user.partition(":")
    return b"Basic " + b64encode(unquote_to_bytes(user) + b":" + unquote_to_bytes(password))


def _from_environment(scheme: str, environ: Mapping[str, str]) -> str:
    for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper(), "all_proxy", "ALL_PROXY"):
        if name == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
            continue  # in a CGI program, this is the header `Proxy` of whoever asks
        if environ.get(name):
            return environ[name].strip()
    return ""


def _read(written: str) -> Url | TransportError:
    scheme, mark, rest = written.partition("://")
    shown = rest.rpartition("@")[2] if mark else written.rpartition("@")[2]
    if mark and scheme.lower() not in ("http", "https"):
        return bad_proxy(f"{scheme}://{shown}", _SOCKS)
    url = read_url(written if mark else f"http://{written}")
    return url or bad_proxy(f"{scheme}://{shown}" if mark else shown, "it is not a URL with a host")


def _is_excepted(url: Url, exceptions: str) -> bool:
    return any(_covers(entry.strip().lower(), url) for entry in exceptions.split(","))


def _covers(entry: str, url: Url) -> bool:
    """Tell whether *entry* is meant: `*`, a network, or a host, of which subdomains are a part."""
    if entry == "*":
        return True
    host, port = _split_port(entry)
    if not host or (port and port != str(url.port)):
        return False
    try:
        address = ip_address(url.host)
    except ValueError:
        name = host.removeprefix("*").strip(".")
        mine = url.host.rstrip(".")
        return mine == name or mine.endswith(f".{name}")
    try:
        return address in ip_network(host, strict=False)
    except ValueError:
        return False


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        return host, port.removeprefix(":")
    if entry.count(":") > 1:
        return entry, ""  # an IPv6 address
    host, _, port = entry.partition(":")
    return host, port
