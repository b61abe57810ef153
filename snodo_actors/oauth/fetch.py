"""Asks for metadata and tokens where an MCP server says they are, and that server may be hostile.

What it names may be a service inside our own network, a name that leads elsewhere at the second
look, a redirect, a body without end. What is decided about URLs and addresses stands in
`machines.urls` and `machines.networks`; here it is done.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import urlencode

import anyio
import httpx
import msgspec

from snodo_actors.oauth.fetch_ways import Resolve, Way, Ways, fail
from snodo_actors.oauth.machines.urls import Parts, read_endpoint, redirected, shown
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.ports.http.resolve import resolve
from snodo_actors.words.tls_options import TlsOptions
from snodo_actors.words.types import INHERIT, Inherit

MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_GRACE: Final = 1.0
"""Seconds, and pieces, that a body gets to end once its connection is closed."""
_MAX_PIECES: Final = 1 << 16
_HEADERS: Final = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "snodo-actors"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status; its repr shows nothing of what was said."""

    url: str
    status: int
    headers: httpx.Headers = field(repr=False)
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """Decode the body, which has to be a JSON object or array.

        Raises:
            AuthorizationError: It is neither.
        """
        try:
            value = msgspec.json.decode(self.body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            value = None
        if not isinstance(value, dict | list):
            raise AuthorizationError("fetch", f"{shown(self.url)} did not answer with JSON")
        return value  # pyright: ignore[reportUnknownVariableType]  # nobody knows what is inside


@dataclass(frozen=True, slots=True)
class _Message:
    """What is sent, wherever it goes."""

    method: str
    headers: httpx.Headers = field(repr=False)
    body: bytes = field(repr=False)


class Fetcher:
    """Sends one request at a time, each on a connection of its own.

    - `server_url`: the MCP server on whose word it asks. Its own origin may always be asked; what
      else may be, `machines.networks.allowed` says.
    - `timeout`: seconds for a whole `fetch`: names, connections, redirects and bodies.
    - `max_bytes`: how long a body may be.
    - `ssl`, `proxy`: as for `connect`. A proxy looks up names itself, so behind one only addresses
      that stand in a URL can be judged: the proxy has to guard its network. This machine is never
      asked through a proxy.
    - `allow_private_networks`: true allows this machine and private networks whatever `server_url`
      is; link-local addresses, where clouds hand out credentials, stay forbidden.
    - `transport`: a function that makes an httpx transport, which connects as it likes; nothing is
      looked up or judged then but URLs, and `ssl`, `proxy` do not count.
    - `resolve`: an async function that looks up the addresses of a host and a port.
    """

    def __init__(
        self,
        server_url: str,
        *,
        timeout: float = 30.0,
        max_bytes: int = 1_048_576,
        ssl: SSLContext | TlsOptions | None = None,
        proxy: str | Inherit | None = INHERIT,
        allow_private_networks: bool = False,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._ways = Ways(
            server_url,
            ssl=ssl,
            proxy=proxy,
            private_networks=allow_private_networks,
            transport=transport,
            resolve=resolve,
        )

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Iterable[tuple[str, str]] = (),
        form: Mapping[str, str] | None = None,
        json: Any = None,
    ) -> Answer:
        """Send a request, follow the redirects of a GET inside its origin, and read the answer.

        Raises:
            AuthorizationError: *url* is refused, nobody answered in time, or the answer is refused.
        """
        try:
            message = _message(method, headers, form, json)
        except UnicodeError:  # it has in it what was to be sent
            raise AuthorizationError(
                "fetch", f"nothing was sent to {shown(url)}: it has characters that no text has"
            ) from None
        try:
            with anyio.fail_after(self._timeout):
                for _ in range(MAX_REDIRECTS + 1):
                    answer = await self._ask(message, url)
                    location = answer.headers.get("location")
                    if answer.status not in _REDIRECTS or location is None:
                        return answer
                    url = _follow(method, answer, location)
        except TimeoutError as error:
            fail(f"{shown(url)} did not answer within {self._timeout:g} seconds", error)
        raise AuthorizationError(
            "fetch", f"{shown(url)} is behind more than {MAX_REDIRECTS} redirects"
        )

    async def _ask(self, message: _Message, url: str) -> Answer:
        parts = read_endpoint(url)
        if isinstance(parts, str):
            fail(f"{shown(url)} is not asked: {parts}")
        *others, last = await self._ways.find(parts, url)
        # An address that leads nowhere leaves time for the next.
        share = self._timeout / (len(others) + 1)
        for way in others:
            with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await self._go(way, message, parts, share)
        try:
            return await self._go(last, message, parts, share)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            fail(f"no connection to {shown(url)}: {_why(error)}", error)

    async def _go(self, way: Way, message: _Message, parts: Parts, timeout: float) -> Answer:
        """Go one way; only what happened before anything was sent leaves as it is."""
        url = parts.origin + parts.target
        try:
            request = _request(way, message, parts, timeout)
            async with way.transport() as transport:
                return await self._exchange(transport, request, url)
        except (AuthorizationError, httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except httpx.LocalProtocolError:  # its text shows the header
            raise AuthorizationError(
                "fetch", f"nothing was sent to {shown(url)}: a header has forbidden characters"
            ) from None
        except Exception as error:  # noqa: BLE001  # a transport may raise anything
            fail(f"the request to {shown(url)} failed: {_why(error)}", error)

    async def _exchange(
        self, transport: httpx.AsyncBaseTransport, request: httpx.Request, url: str
    ) -> Answer:
        response = await transport.handle_async_request(request)
        try:
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding not in ("", "identity"):
                fail(
                    f"{shown(url)} answered in the coding {coding[:40]!r}, which was not asked for"
                )
            body = bytearray()
            assert isinstance(response.stream, httpx.AsyncByteStream)
            pieces = aiter(response.stream)
            async for piece in pieces:
                body += piece
                if len(body) > self._max_bytes:
                    await response.aclose()
                    await _run_out(pieces)
                    fail(f"{shown(url)} answered with more than {self._max_bytes} bytes")
            return Answer(url, response.status_code, response.headers, bytes(body))
        finally:
            await response.aclose()


def _message(
    method: str,
    headers: Iterable[tuple[str, str]],
    form: Mapping[str, str] | None,
    json: Any,
) -> _Message:
    fields = httpx.Headers(_HEADERS)
    body = b""
    if form is not None:
        fields["content-type"] = "application/x-www-form-urlencoded"
        body = urlencode(form).encode()
    elif json is not None:
        fields["content-type"] = "application/json"
        body = msgspec.json.encode(json)
    fields.update(list(headers))
    return _Message(method, fields, body)


def _request(way: Way, message: _Message, parts: Parts, timeout: float) -> httpx.Request:
    return httpx.Request(
        message.method,
        httpx.URL(
            scheme=parts.scheme, host=way.host, port=parts.port, raw_path=parts.target.encode()
        ),
        headers=[("host", parts.authority), *message.headers.multi_items()],
        content=message.body,
        extensions={"timeout": {"connect": timeout}, **way.extensions},
    )


async def _run_out(pieces: AsyncIterator[bytes]) -> None:
    """End an iteration whose connection is closed: what was read before, and then an error.

    httpx and httpcore have generators inside generators, and none closes the one inside it: left in
    the middle, they would be found by the garbage collector, of which trio warns.
    """
    with anyio.move_on_after(_GRACE), contextlib.suppress(Exception):
        for _ in range(_MAX_PIECES):
            await anext(pieces)
        if isinstance(pieces, AsyncGenerator):  # of a transport that goes on
            await pieces.aclose()


def _follow(method: str, answer: Answer, location: str) -> str:
    target = redirected(answer.url, location) if method == "GET" else None
    if target is None:
        why = "to another server" if method == "GET" else f"a {method}"
        raise AuthorizationError(
            "fetch",
            f"{shown(answer.url)} redirects {why}, which is not followed",
            cause=("redirect", answer.status),
        )
    return target


def _why(error: BaseException) -> str:
    """Say what happened; trio's errors have their reasons only below them."""
    reason: BaseException | None = error
    while reason is not None and not str(reason):
        reason = reason.__cause__ or reason.__context__
    return type(error).__name__ if reason is None else str(reason)
