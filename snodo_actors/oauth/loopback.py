"""A port of this machine that waits for one request of a browser.

Knows sockets and HTTP/1.1; which request it is, and what the others are answered, is decided in
machines/callback. Every program and every web page of the machine may connect here, so all is
bounded, and who says nothing keeps out nobody.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.stapled import MultiListener

from snodo_actors.oauth.machines.callback import Answer, Expected, Redirected, read_request
from snodo_actors.oauth.machines.loopback_uri import ADDRESSES
from snodo_actors.oauth.machines.page import refusal, thanks

MAX_CONNECTIONS = 64
MAX_HEAD = 16 * 1024
"""Bytes of a request that are waited for; one that comes with a last piece may be a bit longer."""
PATIENCE = 10.0
"""Seconds for one connection, from when it is taken to its end."""
_LINGER = 1.0
"""Seconds to read on after an answer: a reset would take it away from who is still sending."""
_LINGER_PIECES = 64
_PIECE = 4096
_ATTEMPTS = 10
"""How often a port is looked for that is free at two addresses."""

_GONE = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    OSError,
    RuntimeError,  # uvloop's word for it
)

Listener = MultiListener[SocketStream]


@asynccontextmanager
async def listening(host: str, port: int) -> AsyncGenerator[tuple[Listener, int]]:
    """Listen at *port* of *host*, or at a free one for 0; who connects waits for `catch`.

    Raises:
        OSError: The port is not free.
    """
    address, *others = ADDRESSES[host]
    async with AsyncExitStack() as stack:
        for attempt in range(_ATTEMPTS):
            listener = await _bind(stack, address, port)
            found = listener.extra(SocketAttribute.local_port)  # noqa: S610  # no Django
            try:
                more = [await _bind(stack, other, found) for other in others]
            except OSError as error:
                if _has_no_address(error):
                    more = []
                elif port or attempt == _ATTEMPTS - 1:
                    raise
                else:
                    continue  # somebody else has it there; kept open, so that the next is another
            # Their listeners, for MultiListener takes those of another one away from it.
            yield (
                MultiListener([one for each in (listener, *more) for one in each.listeners]),
                found,
            )
            return


async def _bind(stack: AsyncExitStack, address: str, port: int) -> Listener:
    # anyio sees to it that the port of last time is free at once (SO_REUSEADDR), and on Windows,
    # where that would let in any program, that it is ours alone (SO_EXCLUSIVEADDRUSE).
    listener = await anyio.create_tcp_listener(local_host=address, local_port=port)
    return await stack.enter_async_context(listener)


def _has_no_address(error: OSError) -> bool:
    """Tell whether this machine does without IPv6."""
    without = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return isinstance(error, socket.gaierror) or error.errno in without


async def catch(listener: Listener, expected: Expected, refused: Callable[[str], object]) -> str:
    """Answer whoever connects, until the redirect has come; return its URL.

    *refused* is told why another request was not the one.
    """
    guests = _Guests(expected, refused)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, guests.serve)
        await guests.answered.wait()
        tasks.cancel_scope.cancel()
    assert guests.url is not None
    return guests.url


class _Guests:
    """Those who are connected."""

    def __init__(self, expected: Expected, refused: Callable[[str], object]) -> None:
        self._expected = expected
        self._refused = refused
        self._seats: dict[anyio.CancelScope, None] = {}
        self.url: str | None = None
        self.answered = anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            with self._seat(), contextlib.suppress(*_GONE):
                await self._answer(stream)

    @contextlib.contextmanager
    def _seat(self) -> Generator[None]:
        if len(self._seats) >= MAX_CONNECTIONS:
            # The one that has been silent for longest goes. Were the newest refused, whoever opens
            # connections could keep the browser out.
            oldest = next(iter(self._seats))
            del self._seats[oldest]
            oldest.cancel()
        with anyio.move_on_after(PATIENCE) as scope:
            self._seats[scope] = None
            try:
                yield
            finally:
                self._seats.pop(scope, None)

    async def _answer(self, stream: SocketStream) -> None:
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        request = await _read_head(http, stream)
        if request is None:
            return
        method = ""
        outcome: Redirected | Answer
        if isinstance(request, h11.Request):
            method = request.method.decode()
            outcome = read_request(method, request.target.decode(), self._expected)
        else:
            outcome = request
        if isinstance(outcome, Redirected):
            if self.url is None:
                self.url = outcome.url
            try:
                await stream.send(_write(http, method, 200, *thanks()))
            finally:
                self.answered.set()  # also if the browser did not wait for its page
        else:
            self._refused(outcome.why)
            page = refusal(outcome.status, outcome.why)
            await stream.send(_write(http, method, outcome.status, *page))
            await _linger(stream)


async def _read_head(http: h11.Connection, stream: SocketStream) -> h11.Request | Answer | None:
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            try:
                data = await stream.receive(_PIECE)
            except anyio.EndOfStream:
                data = b""  # h11's word for the end
            http.receive_data(data)
    except h11.RemoteProtocolError as error:
        too_long = error.error_status_hint == 431
        return Answer(
            error.error_status_hint,
            f"it is longer than {MAX_HEAD} bytes" if too_long else "it is not HTTP/1.1",
        )
    return event if isinstance(event, h11.Request) else None


def _write(
    http: h11.Connection, method: str, status: int, headers: list[tuple[str, str]], body: bytes
) -> bytes:
    parts = [http.send(h11.Response(status_code=status, headers=headers))]
    if method != "HEAD":
        parts.append(http.send(h11.Data(data=body)))
    parts.append(http.send(h11.EndOfMessage()))
    return b"".join(part or b"" for part in parts)


async def _linger(stream: SocketStream) -> None:
    await stream.send_eof()
    with anyio.move_on_after(_LINGER):
        for _ in range(_LINGER_PIECES):
            await stream.receive(_PIECE)
