"""The user's own browser, which comes back to a port of this machine (RFC 8252)."""

from __future__ import annotations

import inspect
import os
import sys
import webbrowser
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio

from snodo_actors.oauth.in_thread import in_thread
from snodo_actors.oauth.loopback import Listener, catch, listening
from snodo_actors.oauth.machines.callback import Answer, Expected, expect, read_paste
from snodo_actors.oauth.machines.display import has_display
from snodo_actors.oauth.machines.loopback_uri import build_redirect_uri, read_port, refuse_place
from snodo_actors.oauth.machines.urls import browser_url, shown
from snodo_actors.oauth.paste import ask_at_terminal
from snodo_actors.oauth.race import race
from snodo_actors.oauth.user_agent import Visit, nobody_came
from snodo_actors.oauth.words.errors import AuthorizationError

Open = Callable[[str], bool | None]
Paste = Callable[[str], Awaitable[str | None]]


class Browser:
    """A user agent that opens the browser of the system.

    It listens at *port* of *host* (0: the port of last time, else any that is free), where only
    this machine reaches it, for a redirect to *path*. Where no browser can be opened, the user is
    asked on stderr to open the address, and may paste the one that the browser ends at.

    *open*, in place of `webbrowser.open`: a function of the URL that runs in a thread, and returns
    False if no browser can be had. *paste*, in place of stderr and the terminal: an async function
    of the URL that returns the URL that the user was redirected to, or None.

    Raises:
        ValueError: *host* is not this machine, or *port* or *path* cannot be.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        path: str = "/callback",
        open: Open | None = None,
        paste: Paste | None = None,
    ) -> None:
        refused = refuse_place(host, port, path)
        if refused is not None:
            raise ValueError(refused)
        self._host = host
        self._port = port
        self._path = path
        self._open = open
        self._paste = paste

    @asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncGenerator[Visit]:
        """Listen, at the port of *preferred* if that is free.

        Raises:
            AuthorizationError: There is no port to listen at.
        """
        async with AsyncExitStack() as stack:
            listener, port = await self._listen(stack, preferred)
            uri = build_redirect_uri(self._host, port, self._path)
            yield _BrowserVisit(uri, port, listener, self._open, self._paste)

    async def _listen(self, stack: AsyncExitStack, preferred: str | None) -> tuple[Listener, int]:
        ports = [self._port] if self._port else [read_port(preferred, self._path), 0]
        for port in ports[:-1]:
            try:
                return await stack.enter_async_context(listening(self._host, port))
            except OSError:
                continue  # somebody else has it now
        try:
            return await stack.enter_async_context(listening(self._host, ports[-1]))
        except OSError as error:
            raise AuthorizationError(
                "user",
                f"the browser cannot come back: port {ports[-1]} of {self._host} cannot be "
                f"listened at ({error.strerror or error}). End what listens there, maybe another "
                "authorization, or give another with Browser(port=...), 0 for any that is free",
                cause=error,
            ) from error


@dataclass(frozen=True, slots=True)
class _BrowserVisit:
    redirect_uri: str
    _port: int
    _listener: Listener
    _open: Open | None
    _paste: Paste | None
    _refused: deque[str] = field(default_factory=lambda: deque(maxlen=1))
    """Why the last request was not the one."""

    async def visit(self, url: str, timeout: float) -> str:
        """Open *url*, and wait for who comes back."""
        try:
            address = browser_url(url)
            expected = expect(url, self.redirect_uri)
        except ValueError as error:
            raise AuthorizationError("user", f"{error}") from error
        with anyio.move_on_after(timeout):
            return await race(
                partial(catch, self._listener, expected, self._refused.append),
                partial(self._show, address, expected),
            )
        raise nobody_came(url, timeout, self._advice())

    async def _show(self, url: str, expected: Expected) -> str | None:
        """Open the browser; without one, ask the user, who may have an answer."""
        if await self._open_browser(url):
            return None
        if self._paste is None:
            return await ask_at_terminal(url, self._port, partial(read_paste, expected=expected))
        text = await self._paste(url)
        if text is None:
            return None
        outcome = read_paste(text, expected)
        if isinstance(outcome, Answer):
            raise AuthorizationError(
                "user", f"what was pasted is not where {shown(url)} redirects to: {outcome.why}"
            )
        return outcome.url

    async def _open_browser(self, url: str) -> bool:
        if self._open is None:
            return has_display(sys.platform, os.environ) and await in_thread(_open, url)
        try:
            opened: Any = await in_thread(self._open, url)
            opened = await opened if inspect.isawaitable(opened) else opened
        except (webbrowser.Error, OSError):
            return False
        except Exception as error:
            raise AuthorizationError(
                "user", f"the function given as open= raised {type(error).__name__}", cause=error
            ) from error
        return opened is not False

    def _advice(self) -> str:
        advice = (
            "if no browser was seen, name one in the environment variable BROWSER, or give "
            "Browser(open=...)"
        )
        if not self._refused:
            return advice
        return f"{advice} (other requests came; the last did not count, as {self._refused[0]})"


def _open(url: str) -> bool:
    """Open *url* as the system does; never by a shell, and False if that cannot be.

    The browser named in `BROWSER` is waited for here as long as it runs, and it has our stdin,
    stdout and stderr. macOS (`open location` of AppleScript) and Windows (`os.startfile`) hand the
    URL to the browser that the user prefers, and do not wait.
    """
    try:
        return webbrowser.open(url)
    except Exception:  # noqa: BLE001  # whatever is wrong with BROWSER: there is another way
        return False
