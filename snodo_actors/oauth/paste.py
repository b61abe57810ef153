"""A user who has no browser here, and carries the address to one and back by hand.

Knows the terminal; reads it by the loop, for a thread that reads one cannot be ended. Only where
there is `termios`: on Windows the address is shown, and the port waits, but nothing can be pasted
(a console there is not readable in the eyes of any loop).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Generator

import anyio

from snodo_actors.oauth.machines.callback import MAX_CHARACTERS, Answer, Redirected
from snodo_actors.oauth.machines.typed_line import Typed, TypedLine

_reading = threading.Lock()
"""Held by the one visit of this process that reads the terminal."""


async def ask_at_terminal(
    url: str, port: int, read: Callable[[str], Redirected | Answer]
) -> str | None:
    """Show *url* on stderr; return the redirect, or None if none can be pasted, or is.

    *port* waits for the browser meanwhile; *read* tells what was pasted.
    """
    say(
        f"To authorize, open this address in a browser:\n\n{url}\n\n"
        "A browser on another machine finds its way back to this one while "
        f"`ssh -L {port}:127.0.0.1:{port} <this machine>` runs there."
    )
    fd = _terminal()
    if fd is None or not _reading.acquire(blocking=False):
        return None
    try:
        with _long_lines(fd):  # before the user is asked, who may be quick
            return await _ask(fd, read)
    finally:
        _reading.release()


async def _ask(fd: int, read: Callable[[str], Redirected | Answer]) -> str | None:
    say("Or paste here the address at which that browser ends, though it shows no page there:")
    while (text := await _read_line(fd)) is not None:
        outcome = read(text)
        if isinstance(outcome, Redirected):
            return outcome.url
        say(f"That is not it: {outcome.why}. Copy the whole address, and paste it here:")
    return None


def say(text: str) -> None:
    """Write to stderr, if there is one, and it is not in the way."""
    with contextlib.suppress(OSError, ValueError):  # closed, or a pipe that nobody reads
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]  # pythonw
            print(text, file=sys.stderr, flush=True)  # noqa: T201  # it is said to a user


def _terminal() -> int | None:
    """Return the descriptor of stdin, if that is a terminal, and ours at the moment."""
    try:
        fd = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # none, replaced, or closed
        return None
    return fd if sys.platform != "win32" and os.isatty(fd) and _is_ours(fd) else None


def _is_ours(fd: int) -> bool:
    """Tell whether we are in the foreground: who reads in the background is stopped."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:  # it has been hung up, or is not what controls us
        return False


async def _read_line(fd: int) -> str | None:
    """Read a line, or None: the user, or the terminal, has no more to say."""
    line = TypedLine(MAX_CHARACTERS)
    typed = Typed.GOES_ON
    while typed is Typed.GOES_ON:
        await anyio.wait_readable(fd)
        if not _is_ours(fd):
            return None
        try:
            data = os.read(fd, 4096)
        except OSError:
            return None
        # Nothing, though it was readable: hung up, or somebody else reads here too.
        typed = line.type(data) if data else Typed.ENDED
    return line.text if typed is Typed.ENTERED else None


@contextlib.contextmanager
def _long_lines(fd: int) -> Generator[None]:
    """Have keys as they are typed: in line mode a line ends after 4 KiB, on macOS after 1 KiB."""
    import termios  # noqa: PLC0415  # not on Windows

    before = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[3] &= ~termios.ICANON  # Ctrl-C still interrupts, and what is typed is seen
    changed[6][termios.VMIN] = changed[6][termios.VTIME] = 0  # a read never blocks
    termios.tcsetattr(fd, termios.TCSANOW, changed)
    try:
        yield
    finally:
        if _is_ours(fd):  # in the background it would stop us
            with contextlib.suppress(termios.error):
                termios.tcsetattr(fd, termios.TCSANOW, before)
