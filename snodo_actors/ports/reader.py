"""Bytes out of a pipe: read when there are some, on the loop of a node.

Knows descriptors; knows nothing of processes or of what the bytes mean.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import IO, Protocol

from snodo_actors.ports.readiness import Watch, watch_readable
from supervisors import Node

if sys.platform == "linux":
    import fcntl

READ_BYTES = 1 << 16
"""The most bytes a read takes: what a pipe holds, unless it was made larger."""
LARGE_PIPE = 1 << 20
"""How much a pipe is made to hold once it was found full."""
MAX_LARGE_PIPES = 16
"""How many pipes are made large: all pipes of a user share one allowance, most often 64 MiB."""

Received = Callable[[bytes], object]
"""Takes what was read; no bytes are the end."""


class Reader(Protocol):
    """Reads a pipe and hands over what comes, until closed."""

    def pause(self) -> None:
        """Read no more for now."""

    def resume(self) -> None:
        """Read again."""

    def drain(self) -> bool:
        """Read what is there now that whoever wrote it has ended; False: it comes later."""
        ...

    def close(self) -> None:
        """Read no more, and close the pipe; harmless when repeated."""


class PolledReader:
    """Reads when the loop says that there is something to read."""

    def __init__(self, node: Node, pipe: IO[bytes], received: Received) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._node = node
        self._pipe = pipe
        self._received = received
        self._size = READ_BYTES
        self._is_large = False
        self._watch: Watch | None = None
        self.resume()

    def pause(self) -> None:
        """Read no more for now."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def resume(self) -> None:
        """Read again."""
        if self._watch is None and not self._pipe.closed:
            self._watch = watch_readable(self._node, self._pipe.fileno(), self._ready)

    def drain(self) -> bool:
        """Read what is there now that whoever wrote it has ended."""
        left = 4 * LARGE_PIPE  # somebody else may hold the other end and write for ever
        while not self._pipe.closed and left > 0:
            data = self._read()
            if data is None:
                break
            left -= len(data)
            self._hand_over(data)
        return True

    def close(self) -> None:
        """Read no more, and close the pipe; harmless when repeated."""
        self.pause()
        if not self._pipe.closed:
            if self._is_large:
                _large_pipes.count -= 1
            with contextlib.suppress(OSError):
                self._pipe.close()

    def _ready(self) -> None:
        # What this causes is done in this turn of the loop, not in the next.
        self._node.do_at_once(self._read_what_is_ready)

    def _read_what_is_ready(self) -> None:
        if self._watch is None:
            return  # it was stopped in the very turn in which the descriptor was ready
        data = self._read()
        if data is not None:
            self._hand_over(data)

    def _read(self) -> bytes | None:
        try:
            data = os.read(self._pipe.fileno(), self._size)
        except BlockingIOError:
            return None
        except OSError:
            return b""  # whatever broke it, nothing comes any more
        if len(data) == READ_BYTES and self._size == READ_BYTES:
            self._enlarge()
        return data

    def _hand_over(self, data: bytes) -> None:
        if not data:
            self.close()
        self._received(data)

    def _enlarge(self) -> None:
        """Make the pipe large: a writer that filled it waits less, and its reader wakes less."""
        self._size = LARGE_PIPE
        if sys.platform == "linux" and _large_pipes.count < MAX_LARGE_PIPES:
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._pipe.fileno(), fcntl.F_SETPIPE_SZ, LARGE_PIPE)
                self._is_large = True
                _large_pipes.count += 1


class _LargePipes:
    """How many pipes of this program are large right now."""

    count = 0


_large_pipes = _LargePipes()
