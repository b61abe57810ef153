"""The options of a server at an HTTP endpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from snodo_actors.words.checks import pairs, positive, seconds
from snodo_actors.words.lost import refused_header
from snodo_actors.words.tls_options import read_tls_options
from snodo_actors.words.token_provider import read_provider
from snodo_actors.words.types import INHERIT, Inherit

MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
POOL_SIZE: Final = 4
POOL_IDLE_TIMEOUT: Final = 30.0
POOL_MAX_REQUESTS: Final = 100

# What the transport sets itself, so that a caller cannot.
OWNED: Final = frozenset({
    "accept", "connection", "content-length", "content-type", "host", "last-event-id",
    "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding",
})  # fmt: skip
_OWNED_PREFIX: Final = "mcp-param-"

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSAFE: Final = re.compile("[\x00\r\n\ud800-\udfff]")
_SCHEME: Final = re.compile("([a-z][a-z0-9+.-]*)://[^/]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What `connect` takes for an HTTP target; times are seconds, and None means no limit.

    `ssl` is an `ssl.SSLContext`, the path of a file with the certificates of authorities, or a
    mapping of what `TlsOptions` takes. `proxy` is the URL of an http or https proxy, None for none;
    left out, the environment decides. `transport` is a function without arguments that makes an
    `httpx.AsyncBaseTransport`, called for each connection; it does without the two before.
    `token_provider` is a pair of what has `token(state, request)` and `refresh(state, challenge,
    request)`, and its state; or one object with these methods, without the state. It may have
    hooks, too: see `TokenProvider`.
    """

    headers: Mapping[str, str] | Iterable[tuple[str, str]] = field(default=(), repr=False)
    token_provider: Any = field(default=None, repr=False)
    ssl: Any = None
    proxy: str | Inherit | None = field(default=INHERIT, repr=False)  # it may have a password
    connect_timeout: float | Inherit | None = INHERIT
    max_response_bytes: int = MAX_RESPONSE_BYTES
    pool_size: int = POOL_SIZE
    pool_idle_timeout: float | None = POOL_IDLE_TIMEOUT
    pool_max_requests: int = POOL_MAX_REQUESTS
    transport: Any = None
    server_stream: Any = False

    @property
    def header_pairs(self) -> tuple[tuple[str, str], ...]:
        """The headers as they were checked."""
        return cast("tuple[tuple[str, str], ...]", self.headers)

    def __post_init__(self) -> None:
        provider = read_provider(self.token_provider)
        _check_proxy(self.proxy)
        _check_transport(self.transport)
        if self.transport is not None and (self.ssl is not None or self.proxy is not INHERIT):
            raise ValueError(
                "transport makes connections of its own, so give ssl and proxy to what it makes: "
                "write transport=lambda: httpx.AsyncHTTPTransport(verify=..., proxy=...)"
            )
        if not isinstance(self.server_stream, bool) and not callable(
            getattr(self.server_stream, "send", None)
        ):
            raise TypeError(
                "server_stream must be true, false, or the ref of a process that gets the server's "
                f"notifications, not {self.server_stream!r}: write server_stream=self_()"
            )
        positive("max_response_bytes", self.max_response_bytes)
        positive("pool_size", self.pool_size)
        positive("pool_max_requests", self.pool_max_requests)
        checked: dict[str, Any] = {
            "headers": _headers(self.headers, has_provider=provider is not None),
            "token_provider": provider,
            "ssl": _tls(self.ssl),
            "pool_idle_timeout": seconds("pool_idle_timeout", self.pool_idle_timeout),
        }
        if self.connect_timeout is not INHERIT:
            checked["connect_timeout"] = seconds("connect_timeout", self.connect_timeout)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def _headers(value: Any, *, has_provider: bool) -> tuple[tuple[str, str], ...]:
    """Check the caller's headers; no text of an error shows a value, which may be a secret."""
    headers = tuple(pairs("headers", value))
    for name, item in headers:
        if not isinstance(name, str) or not isinstance(item, str):
            raise TypeError(f'headers must be strings, see {name!r}: write headers=[("a", "b")]')
        if not is_header_name(name):
            raise refused_header(name, f"{name!r} cannot be the name of a header")
        if _UNSAFE.search(item) is not None:
            raise refused_header(
                name, f"the header {name!r} has a line break, NUL or surrogate in its value"
            )
        if is_owned(name):
            raise refused_header(
                name, f"the transport sets the header {name!r} itself: leave it out"
            )
        if has_provider and name.lower() == "authorization":
            raise refused_header(
                name, "token_provider sets the header 'authorization': leave out one of the two"
            )
    return headers


def is_header_name(name: str) -> bool:
    """Tell whether *name* can be the name of a header."""
    return _NAME.fullmatch(name) is not None


def is_owned(name: str) -> bool:
    """Tell whether the transport sets the header *name* itself."""
    return name.lower() in OWNED or name.lower().startswith(_OWNED_PREFIX)


def _tls(value: Any) -> Any:
    """Read the options of TLS; a context, or None for what is usual, is taken as it is."""
    return value if value is None or hasattr(value, "wrap_bio") else read_tls_options(value)


def _check_proxy(value: Any) -> None:
    """Check the proxy; no text of an error shows it, for it may have a password."""
    if value is None or value is INHERIT:
        return
    if not isinstance(value, str):
        raise TypeError(
            "proxy must be a URL, or None for no proxy: "
            'write proxy="http://user:password@proxy.test:3128"'
        )
    scheme = _SCHEME.match(value)
    if scheme is None:
        raise ValueError('proxy must be a URL: write proxy="http://proxy.test:3128"')
    if scheme[1].lower() not in ("http", "https"):
        raise ValueError(
            f"proxy must be an http or https URL, not {scheme[1]}: for others, write "
            "transport=lambda: httpx.AsyncHTTPTransport(proxy=...)"
        )


def _check_transport(value: Any) -> None:
    is_one = hasattr(value, "handle_async_request") and not isinstance(value, type)
    if value is None or (callable(value) and not is_one):
        return
    raise TypeError(
        f"transport must be a function that makes an httpx transport, not {value!r}: "
        "write transport=lambda: httpx.AsyncHTTPTransport(...)"
    )
