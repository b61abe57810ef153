"""Where the requests of a client go, and how they get there."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from snodo_actors.ports.http.url import read_url
from snodo_actors.wire.http1 import request_prefix
from snodo_actors.words.errors import Error
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.lost import bad_url


@dataclass(frozen=True, slots=True)
class Origin:
    """A server at one URL."""

    scheme: str
    host: str
    port: int
    target: str
    host_header: str
    tls: ssl.SSLContext | None = None
    transport: Callable[[], Any] | None = None
    """Makes an `httpx.AsyncBaseTransport`, one for each link."""
    _prefixes: dict[str, bytes] = field(
        default_factory=dict[str, bytes], init=False, repr=False, compare=False
    )

    def prefix(self, method: str) -> bytes:
        """Build what a request begins with."""
        prefix = self._prefixes.get(method)
        if prefix is None:
            prefix = request_prefix(method, self.target, self.host_header)
            self._prefixes[method] = prefix
        return prefix


def read_origin(url: str, options: HttpOptions) -> Origin | Error:
    """Read where *url* leads; an error says why it leads nowhere."""
    parts = read_url(url)
    if parts is None:
        return bad_url(url)
    return Origin(
        parts.scheme,
        parts.host,
        parts.port,
        parts.target,
        parts.host_header,
        transport=options.transport,
    )
