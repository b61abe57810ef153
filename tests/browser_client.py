"""What plays the browser: requests to a loopback port, byte by byte if need be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode, urlsplit

import anyio
from anyio.abc import SocketStream

from snodo_actors.oauth.user_agent import UserAgent, Visit

STATE = "the-state-of-this-test"


def authorize_url(redirect_uri: str) -> str:
    """Where the browser is sent."""
    return f"https://as.test/authorize?{urlencode({'state': STATE, 'redirect_uri': redirect_uri})}"


def answer(redirect_uri: str, **params: str) -> str:
    """Where it comes back to."""
    return f"{redirect_uri}?{urlencode({'code': 'c', 'state': STATE} | params)}"


def head(target: str, method: str = "GET", fields: str = "") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nhost: 127.0.0.1\r\n{fields}\r\n".encode()


def target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


async def connect(redirect_uri: str) -> SocketStream:
    parts = urlsplit(redirect_uri)
    return await anyio.connect_tcp(parts.hostname or "", parts.port or 0)


async def read_all(stream: SocketStream) -> bytes:
    """What comes until the end; a reset, which elsewhere takes away what came, is an error."""
    data = b""
    try:
        while True:
            data += await stream.receive()
    except anyio.EndOfStream:
        return data


async def exchange(redirect_uri: str, request: bytes) -> bytes:
    """Send *request* on a connection of its own; return what came until its end."""
    async with await connect(redirect_uri) as stream:
        await stream.send(request)
        return await read_all(stream)


def status(reply: bytes) -> int:
    return int(reply.split()[1]) if reply else 0


async def visit_with(
    agent: UserAgent,
    play: Callable[[Visit], Awaitable[object]],
    *,
    preferred: str | None = None,
    timeout: float = 20.0,
) -> str:
    """Visit while *play* plays the browser; both are waited for."""
    async with agent.open(preferred) as visit, anyio.create_task_group() as tasks:
        tasks.start_soon(play, visit)
        return await visit.visit(authorize_url(visit.redirect_uri), timeout)
    raise AssertionError
