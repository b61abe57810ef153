"""Who shows a user where to authorize, and says where the user was sent then."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from snodo_actors.oauth.in_thread import in_thread
from snodo_actors.oauth.machines.urls import check_endpoint, shown
from snodo_actors.oauth.words.errors import AuthorizationError


class Visit(Protocol):
    """One user at one authorization server."""

    @property
    def redirect_uri(self) -> str:
        """Where the authorization server is to send the user."""
        ...

    async def visit(self, url: str, timeout: float) -> str:
        """Show *url* to the user; return the URL that the user was redirected to.

        Raises:
            AuthorizationError: The user did not come back within *timeout* seconds.
        """
        ...


class UserAgent(Protocol):
    """A browser, or what stands for one."""

    def open(self, preferred: str | None) -> AbstractAsyncContextManager[Visit]:
        """Get ready for a visit; *preferred* is the redirect URI that is registered already."""
        ...


class FixedRedirect:
    """A user agent for web applications, whose redirect URI is an address of their own.

    *visit*, plain or async, is called with the authorization URL, shows it to the user, and returns
    the URL that the user was redirected to. A plain one runs in a thread, and may block.

    Raises:
        ValueError: A code must not be sent to *redirect_uri*: it is neither https nor this machine.
    """

    def __init__(self, redirect_uri: str, visit: Callable[[str], str | Awaitable[str]]) -> None:
        refused = check_endpoint(redirect_uri)
        if refused is not None:
            raise ValueError(f"the redirect URI {redirect_uri!r} is refused: {refused}")
        self._visit = _FixedVisit(redirect_uri, visit)

    @asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncGenerator[Visit]:
        """Get ready for a visit: there is nothing to do."""
        yield self._visit


@dataclass(frozen=True, slots=True)
class _FixedVisit:
    redirect_uri: str
    show: Callable[[str], str | Awaitable[str]]

    async def visit(self, url: str, timeout: float) -> str:
        with anyio.move_on_after(timeout):
            show: Callable[[str], Any] = self.show
            back = show(url) if inspect.iscoroutinefunction(show) else await in_thread(show, url)
            answer: str = await back if inspect.isawaitable(back) else back
            return answer
        raise nobody_came(url, timeout, "let the function given as visit= return within that time")


def nobody_came(url: str, timeout: float, advice: str) -> AuthorizationError:
    """Build the error for a user who was not seen again."""
    return AuthorizationError(
        "user",
        f"nobody came back from {shown(url)} within {timeout:g} s: try again and authorize "
        f"there, or {advice}",
    )
