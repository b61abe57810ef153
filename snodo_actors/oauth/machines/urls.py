r"""Which URLs of others are used, and what they are called.

Knows schemes, hosts and paths; knows nothing of addresses behind names, nor of requests.

A URL is taken apart here, once, and put together again from its parts: whoever reads it next, a
browser or a connection, has no freedom to see another host in it. So whatever two readers may
disagree about is refused: user names, backslashes, blanks, control characters, odd hosts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from snodo_actors.oauth.machines.hosts import is_loopback, read_host

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
MAX_LENGTH: Final = 8192
"""Characters of a URL; an authorization URL with all its parameters has about a thousand."""

# Blanks, controls and what changes the direction of writing; surrogates cannot be sent at all.
_UNSAFE: Final = re.compile(
    r"[\s\\\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)
_USER: Final = re.compile(r"\A([^/?#\\]*://)[^/?#\\]*@")
_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<v6>[^\[\]@]*)\]|(?P<name>[^\[\]:@]+))(?::(?P<port>[0-9]{0,5}))?"
)
_NO_HOST: Final = "it has no host that can be relied on"
_PATH_SAFE: Final = "!$%&'()*+,/:;=@~"
_QUERY_SAFE: Final = _PATH_SAFE + "?"


class Parts(NamedTuple):
    """A URL taken apart."""

    scheme: str
    host: str
    """Lower case and ASCII; an IPv6 address in its shortest spelling, without its brackets."""
    port: int
    path: str
    """Empty, or it begins with a slash; dot segments are as they were written."""
    query: str | None

    @property
    def authority(self) -> str:
        """The host, and the port where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def target(self) -> str:
        """Path and query, as a request names them."""
        return (self.path or "/") + ("" if self.query is None else f"?{self.query}")


def read_endpoint(url: str) -> Parts | str:
    """Take apart a *url* that may be asked or shown; a text says why it is neither."""
    if "#" in url:
        return "it has a fragment"
    parts = _read(url)
    if isinstance(parts, str):
        return parts
    if parts.scheme == "http" and not is_loopback(parts.host):
        return "it is neither https nor on this machine"
    return parts


def check_endpoint(url: str) -> str | None:
    """Say why *url* is not used, or None: https, or http on this machine, and nothing odd."""
    parts = read_endpoint(url)
    return parts if isinstance(parts, str) else None


def browser_url(url: str) -> str:
    """Write *url* as it may be shown to a browser: as an endpoint, and in ASCII throughout.

    Raises:
        ValueError: It may not be; the text says why.
    """
    parts = read_endpoint(url)
    if isinstance(parts, str):
        raise ValueError(f"{shown(url)} is not shown to a browser: {parts}")  # noqa: TRY004  # a text is what reading says no with
    return parts.origin + parts.target


def origin(url: str) -> str:
    """Write scheme, host and port of *url*; a usual port is left out.

    Raises:
        ValueError: It is no http or https URL.
    """
    return _must(url).origin


def same_origin(a: str, b: str) -> bool:
    """Tell whether scheme, host and port are the same; what is no URL has no origin."""
    first, second = _read_server(a), _read_server(b)
    return not isinstance(first, str) and not isinstance(second, str) and first[:3] == second[:3]


def redirected(url: str, location: str) -> str | None:
    """Work out where *location* leads from *url*; None: to another origin, or nowhere."""
    if _UNSAFE.search(location):
        return None  # before urljoin() drops some of them without a word
    try:
        target = urljoin(url, location).partition("#")[0]
    except ValueError:
        return None
    return target if check_endpoint(target) is None and same_origin(url, target) else None


@lru_cache(1024)  # it is asked for with every message
def canonical_resource(server_url: str) -> str:
    """Write the URI that stands for an MCP server (RFC 8707), whichever way its URL was spelled.

    Scheme and host in lower case, no user name, no fragment, no slash where it is all of the path.
    Path and query are kept. A port is kept, but for the usual one: ``https://h:443`` and
    ``https://h`` are one server (RFC 3986, section 6.2.3), and one server has one set of tokens.

    Raises:
        ValueError: It is no http or https URL.
    """
    parts = _must(server_url)
    path = "" if parts.path == "/" else parts.path
    return parts.origin + path + ("" if parts.query is None else f"?{parts.query}")


def covers(resource: str, server_url: str) -> bool:
    """Tell whether the *resource* of a metadata document may stand for the MCP server.

    It has the origin of the server, and its path is that of the server or lies above it, whole
    segments only. Paths that some server may read in another way (dot segments, encoded slashes)
    lie below none but the root. A resource with a query stands for just that URL.
    """
    outer, server = read_endpoint(resource), _read_server(server_url)
    if isinstance(outer, str) or isinstance(server, str) or outer[:3] != server[:3]:
        return False
    above, below = _segments(outer.path), _segments(server.path)
    if outer.query is not None:
        return (above, outer.query) == (below, server.query)
    if above == below or not above:
        return True
    return below[: len(above)] == above and not any(map(_is_tricky, below))


def shown(url: str) -> str:
    """Write *url* for an error: without its query, which may hold what nobody else should see."""
    place = _USER.sub(r"\1", url.partition("#")[0].partition("?")[0])
    parts = _read(place)
    return repr(place[:200]) if isinstance(parts, str) else parts.origin + parts.path


def _must(url: str) -> Parts:
    parts = _read_server(url)
    if isinstance(parts, str):
        raise ValueError(f"{shown(url)} is not the URL of a server: {parts}")  # noqa: TRY004  # a text is what reading says no with
    return parts


def _read_server(url: str) -> Parts | str:
    """Read the URL of an MCP server: the user wrote it, so what is of no use is let go."""
    return _read(_USER.sub(r"\1", url.partition("#")[0]))


def _read(url: str) -> Parts | str:
    if len(url) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH} characters"
    if _UNSAFE.search(url):
        return "it has blanks, backslashes or control characters"
    try:
        scheme, authority, path, query, _ = urlsplit(url)
    except ValueError:
        return _NO_HOST
    if scheme not in DEFAULT_PORTS:
        return "it is no https URL"
    if "@" in authority:
        return "it has a user name"
    match = _AUTHORITY.fullmatch(authority)
    host = None if match is None else read_host(match["v6"], match["name"])
    if match is None or host is None:
        return _NO_HOST
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    if not 0 < port < 65536:
        return "its port is out of range"
    has_query = "?" in url.partition("#")[0]
    return Parts(
        scheme,
        host,
        port,
        quote(path, _PATH_SAFE),
        quote(query, _QUERY_SAFE) if has_query else None,
    )


def _segments(path: str) -> list[str]:
    """Take *path* apart; one slash at its end means nothing."""
    path = path.removesuffix("/")
    return path.split("/")[1:]


def _is_tricky(segment: str) -> bool:
    """Tell whether a server may take *segment* for more or less than one."""
    said = unquote(segment)
    # Encoded twice, it is tricky behind a proxy that decodes once.
    return said in (".", "..") or any(mark in said for mark in "/\\%;")
