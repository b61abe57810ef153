"""Where the requests of a client go, and how they get there."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from snodo_actors.ports.http.proxy import Proxy, basic_authorization, find_proxy
from snodo_actors.ports.http.tls import read_tls
from snodo_actors.ports.http.url import Url, read_url
from snodo_actors.wire.http1 import request_prefix
from snodo_actors.words.errors import Error
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.lost import bad_tls, bad_url


@dataclass(frozen=True, slots=True)
class Origin:
    """A server at one URL."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query."""
    host_header: str
    tls: ssl.SSLContext | None = None
    proxy: Proxy | None = None
    transport: Callable[[], Any] | None = None
    """Makes an `httpx.AsyncBaseTransport`, one for each link."""
    _prefixes: dict[str, bytes] = field(
        default_factory=dict[str, bytes], init=False, repr=False, compare=False
    )

    @property
    def url(self) -> str:
        """The URL as it is sent: without a fragment or a user name."""
        return f"{self.scheme}://{self.host_header}{self.target}"

    def prefix(self, method: str) -> bytes:
        """Build what a request begins with."""
        prefix = self._prefixes.get(method)
        if prefix is None:
            prefix = self._prefixes[method] = self._make_prefix(method)
        return prefix

    def _make_prefix(self, method: str) -> bytes:
        if self.proxy is None or self.tls is not None:
            return request_prefix(method, self.target, self.host_header)
        # The proxy reads the request, and has to be told where it goes.
        target = f"{self.scheme}://{self.host_header}{self.target}"
        prefix = request_prefix(method, target, self.host_header)
        if self.proxy.authorization is not None:
            prefix += b"proxy-authorization: " + self.proxy.authorization + b"\r\n"
        return prefix


def read_origin(url: str, options: HttpOptions) -> Origin | Error:
    """Read where *url* leads; an error says why it leads nowhere."""
    parts = read_url(url)
    if parts is None:
        return bad_url(url)
    if options.transport is not None:
        return _origin(parts, transport=options.transport)
    proxy = find_proxy(parts, options.proxy)
    if isinstance(proxy, Error):
        return proxy
    try:
        # Also for http, so that a file that is not there is noticed before it is needed.
        tls = read_tls(options.ssl) if options.ssl is not None or parts.scheme == "https" else None
        way = None if proxy is None else _way(proxy, options)
    except OSError as error:
        return bad_tls(error.strerror or str(error))
    return _origin(parts, tls=tls if parts.scheme == "https" else None, proxy=way)


def _origin(url: Url, **way: Any) -> Origin:
    return Origin(url.scheme, url.host, url.port, url.target, url.host_header, **way)


def _way(proxy: Url, options: HttpOptions) -> Proxy:
    tls = read_tls(options.ssl) if proxy.scheme == "https" else None
    return Proxy(proxy.host, proxy.port, tls, basic_authorization(proxy))
