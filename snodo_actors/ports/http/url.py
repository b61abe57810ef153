"""The parts of a URL that a request needs.

Takes what httpx takes, except hosts that no name server knows and user names, which go nowhere.
"""

from __future__ import annotations

import re
import socket
from typing import Final, NamedTuple
from urllib.parse import quote

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[^/?#\\]*)@)?(?P<host>\[[^\]]*\]|[^:/?#\[\]]+)(?::(?P<port>[0-9]*))?"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE,
)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_NAME: Final = re.compile(r"(?=.{1,253}\.?$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_PATH_SAFE: Final = "!$%&'()*+,/:;=@[\\]^|~"
_QUERY_SAFE: Final = _PATH_SAFE + "?`{}"


class Url(NamedTuple):
    """A URL taken apart."""

    scheme: str
    host: str
    """Lower case and ASCII, an IPv6 address without its brackets."""
    port: int
    target: str
    """Path and query, as a request names them."""
    user: str
    """User name and password as they were written, or nothing."""

    @property
    def host_header(self) -> str:
        """The host, and the port where it is not the usual one."""
        usual = DEFAULT_PORTS[self.scheme] == self.port
        return bracketed(self.host) if usual else f"{bracketed(self.host)}:{self.port}"


def read_url(url: str) -> Url | None:
    """Take *url* apart; None if it is no http or https URL with a host."""
    match = _URL.fullmatch(url)
    if match is None or _CONTROL.search(url):
        return None
    scheme = match["scheme"].lower()
    host = _read_host(match["host"])
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    if host is None or not 0 < port < 65536:
        return None
    target = quote(match["path"] or "/", _PATH_SAFE)
    if match["query"] is not None:
        target += "?" + quote(match["query"], _QUERY_SAFE)
    return Url(scheme, host, port, target, match["user"] or "")


def bracketed(host: str) -> str:
    """Write *host* as it stands before a port; the zone of an address is nobody else's business."""
    return f"[{host.partition('%')[0]}]" if ":" in host else host


def _read_host(written: str) -> str | None:
    if written.startswith("["):
        host = written[1:-1].lower().replace("%25", "%", 1)
        return host if is_address(socket.AF_INET6, host.partition("%")[0]) else None
    host = written.lower()
    if not host.isascii():
        host = _to_ascii(host)
    if _NAME.fullmatch(host) is None:
        return None
    last = host.rstrip(".").rpartition(".")[2]
    # Names of the top level are no numbers, so this is meant to be an address.
    return None if last.isdigit() and not is_address(socket.AF_INET, host) else host


def is_address(family: int, host: str) -> bool:
    """Tell whether *host* is an address of *family*."""
    try:
        socket.inet_pton(family, host)
    except (OSError, ValueError):
        return False
    return True


def _to_ascii(host: str) -> str:
    import idna  # noqa: PLC0415  # its tables are large, and most hosts are ASCII

    try:
        return idna.encode(host).decode()
    except idna.IDNAError:
        return ""
