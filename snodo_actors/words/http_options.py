"""The options of a server at an HTTP endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from snodo_actors.words.checks import pairs, positive, seconds
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


@dataclass(frozen=True, slots=True)
class TokenProvider:
    """Where bearer tokens come from: `token(request)` and `refresh(challenge, request)`."""

    token: Callable[[Any], Any]
    refresh: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What `connect` takes for an HTTP target; times are seconds, and None means no limit.

    `token_provider` is a pair of what has `token(state, request)` and `refresh(state, challenge,
    request)`, and its state; or one object with these methods, without the state.
    """

    headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    token_provider: Any = None
    ssl: Any = None
    connect_timeout: float | Inherit | None = INHERIT
    max_response_bytes: int = MAX_RESPONSE_BYTES
    pool_size: int = POOL_SIZE
    pool_idle_timeout: float | None = POOL_IDLE_TIMEOUT
    pool_max_requests: int = POOL_MAX_REQUESTS
    transport: Any = None

    @property
    def header_pairs(self) -> tuple[tuple[str, str], ...]:
        """The headers as they were checked."""
        return cast("tuple[tuple[str, str], ...]", self.headers)

    def __post_init__(self) -> None:
        provider = _provider(self.token_provider)
        if self.ssl is not None and not hasattr(self.ssl, "wrap_bio"):
            raise TypeError(
                f"ssl must be an ssl.SSLContext, not {self.ssl!r}: "
                'write ssl=ssl.create_default_context(cafile="ca.pem")'
            )
        positive("max_response_bytes", self.max_response_bytes)
        positive("pool_size", self.pool_size)
        positive("pool_max_requests", self.pool_max_requests)
        checked: dict[str, Any] = {
            "headers": _headers(self.headers, has_provider=provider is not None),
            "token_provider": provider,
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
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} cannot be the name of a header")
        if _UNSAFE.search(item) is not None:
            raise ValueError(f"the header {name!r} has a line break, NUL or surrogate in its value")
        if name.lower() in OWNED or name.lower().startswith(_OWNED_PREFIX):
            raise ValueError(f"the transport sets the header {name!r} itself: leave it out")
        if has_provider and name.lower() == "authorization":
            raise ValueError(
                "token_provider sets the header 'authorization': leave out one of the two"
            )
    return headers


def _provider(value: Any) -> TokenProvider | None:
    if value is None or isinstance(value, TokenProvider):
        return value
    match value:
        case (source, state):
            token, refresh = _method(source, "token"), _method(source, "refresh")
            return TokenProvider(partial(token, state), partial(refresh, state))
        case _:
            return TokenProvider(_method(value, "token"), _method(value, "refresh"))


def _method(source: Any, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(source, name, None)
    if not callable(method):
        raise TypeError(
            f"token_provider must have {name}(), which {source!r} has not: "
            "write token_provider=(provider, state), or an object with token() and refresh()"
        )
    return method
