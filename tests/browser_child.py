"""A program that visits an authorization server with the browser, or terminal, that it finds.

Says on stdout its redirect URI, then where it was redirected to, or the error; and whether its
terminal is as it was. Run with the backend, the end of the authorization URL, and seconds.
"""

from __future__ import annotations

import os
import sys

import anyio

from snodo_actors.oauth.browser import Browser
from snodo_actors.oauth.words.errors import AuthorizationError


def settings() -> object:
    """How the terminal is set; nothing, where stdin is none."""
    import termios

    return termios.tcgetattr(0) if os.isatty(0) else None


async def main(more: str, timeout: float) -> None:
    """Visit once."""
    before = settings()
    async with Browser().open(None) as visit:
        print(visit.redirect_uri, flush=True)
        url = f"https://as.test/authorize?state=s&redirect_uri={visit.redirect_uri}{more}"
        try:
            print(await visit.visit(url, timeout), flush=True)
        except AuthorizationError as error:
            print(error.message, flush=True)
    print(settings() == before, flush=True)


def take_terminal() -> None:
    """Be the program in the foreground of the terminal that stdin is."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    if os.isatty(0) and "BACKGROUND" not in os.environ:
        take_terminal()
    backend, more, timeout = sys.argv[1:]
    anyio.run(main, more, float(timeout), backend=backend)
