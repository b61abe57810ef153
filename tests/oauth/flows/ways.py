"""How the tests of authorization connect, and what they call."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from case_servers import SLOW, Place, everywhere, text_of
from oauth.servers.kit import Authority, Resource, User

import snodo_actors as snodo
from snodo_actors import oauth


def on_both(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of a coroutine function, which runs on asyncio and on trio."""
    run = everywhere(test)
    run.places = ("asyncio", "trio")  # type: ignore[attr-defined]
    return run


def on_one(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """As `on_both`, on one of them, by the name of the test: for the rows of long tables."""
    run = everywhere(test)
    run.places = ("asyncio", "trio")[zlib.crc32(test.__name__.encode()) % 2 :][:1]  # type: ignore[attr-defined]
    return run


def code(user: User, **options: Any) -> oauth.AuthorizationCode:
    """A provider for *user*."""
    return oauth.AuthorizationCode(user_agent=user.agent, **{"timeout": 10.0 * SLOW, **options})


def connect(resource: Resource, provider: Any, **options: Any) -> Any:
    """Connect to a protected server."""
    more = {"timeout": 15.0 * SLOW, "proxy": None, **options}
    return snodo.connect(("http", more.pop("url", resource.url)), token_provider=provider, **more)


async def adds(at: Place, client: snodo.Client) -> None:
    """A call is answered."""
    assert text_of(await at.get(client.call_tool("add", {"a": 1, "b": 2}))) == "3"


async def works(at: Place, resource: Resource, provider: Any, **options: Any) -> None:
    """Connect, call, close."""
    client = await at.get(connect(resource, provider, **options))
    await adds(at, client)
    await at.get(client.close())


async def failure(at: Place, resource: Resource, provider: Any, **options: Any) -> snodo.Error:
    """What a connection fails with: when it is made, or at its first call."""
    client = await at.outcome(connect(resource, provider, **options))
    if isinstance(client, snodo.Error):
        return client
    error = await at.error(client.call_tool("add", {"a": 1, "b": 2}))
    await at.get(client.close())
    return error


async def denied(
    at: Place, resource: Resource, provider: Any, *steps: str, **options: Any
) -> oauth.AuthorizationError:
    """As `failure`, which has to be an AuthorizationError, of one of the *steps*."""
    error = await failure(at, resource, provider, **options)
    assert isinstance(error, oauth.AuthorizationError), repr(error)
    assert (error.code, error.kind) == (-32000, "authorization"), repr(error)
    assert not steps or error.step in steps, f"{error.step}: {error}"
    return error


def untouched(authority: Authority, user: User | None = None) -> None:
    """Nothing was asked of an authorization server but its metadata, and nobody sent there."""
    asked = [fact["path"] for fact in authority.facts() if ".well-known" not in fact["path"]]
    assert asked == []
    if user is not None:
        assert user.visits == []
