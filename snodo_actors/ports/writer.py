"""Bytes into a pipe: at once where there is room, else when there is, on the loop of a node.

Knows descriptors; knows nothing of processes or of what the bytes mean. What waits is kept line by
line under the key it was given with, so that a line nobody wants any more can be taken back, and
those who gave the others can be told that nothing of them went out.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Hashable
from itertools import islice
from typing import IO, Protocol

from snodo_actors.ports.readiness import Watch, watch_writable
from supervisors import Node

Failed = Callable[[OSError], object]
"""Takes what the pipe failed with; nothing can be written any more."""

_MAX_PIECES = 64
"""Lines that go out in one write; fewer than any system's IOV_MAX."""


class Writer(Protocol):
    """Writes into a pipe, until that fails or it is closed."""

    unsent_bytes: int
    """How many bytes wait for room."""

    def write(self, data: bytes, key: Hashable = None) -> bool:
        """Write *data* now or when there is room; False if nothing can be written any more."""
        ...

    def unsent(self) -> set[Hashable]:
        """The keys of what has not been begun to be written; also after the end."""
        ...

    def withdraw(self, key: Hashable) -> bool:
        """Take back what was given with *key*; False if it has gone out, at least in part."""
        ...

    def close(self) -> None:
        """Write no more, not even what waits, and close the pipe; harmless when repeated."""


class PolledWriter:
    """Writes where the loop says that there is room."""

    def __init__(self, node: Node, pipe: IO[bytes], failed: Failed) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._node = node
        self._pipe = pipe
        self._fd = pipe.fileno()
        self._failed = failed
        self._lines: deque[tuple[Hashable, memoryview]] = deque()
        self._begun = False  # whether a part of the first line has gone out
        self._watch: Watch | None = None
        self._open = True
        self.unsent_bytes = 0

    def write(self, data: bytes, key: Hashable = None) -> bool:
        """Write *data* now or when there is room; False if nothing can be written any more."""
        if not self._open:
            return False
        written = 0
        if not self._lines:
            try:
                written = os.write(self._fd, data)
            except BlockingIOError:
                pass
            except OSError as error:
                self._fail(error)
                return False
            if written == len(data):
                return True
            self._begun = written > 0
            if self._watch is None:
                self._watch = watch_writable(self._node, self._fd, self._ready)
        self._lines.append((key, memoryview(data)[written:]))
        self.unsent_bytes += len(data) - written
        return True

    def unsent(self) -> set[Hashable]:
        """The keys of what has not been begun to be written."""
        return {key for index, (key, _) in enumerate(self._lines) if index or not self._begun}

    def withdraw(self, key: Hashable) -> bool:
        """Take back what was given with *key*; False if it has gone out, at least in part."""
        for index, (other, view) in enumerate(self._lines):
            if other == key and (index or not self._begun):
                del self._lines[index]
                self.unsent_bytes -= len(view)
                return True
        return False

    def close(self) -> None:
        """Write no more, not even what waits, and close the pipe; harmless when repeated."""
        self._stop()
        self._lines = deque((key, memoryview(b"")) for key, _ in self._lines)
        self.unsent_bytes = 0

    def _ready(self) -> None:
        if self._watch is None:
            return  # it was stopped in the very turn in which the descriptor was ready
        lines = self._lines
        while lines:
            try:
                written = _write_some(self._fd, lines)
            except BlockingIOError:
                return
            except OSError as error:
                self._fail(error)
                return
            self.unsent_bytes -= written
            while lines and written >= len(lines[0][1]):
                written -= len(lines.popleft()[1])
                self._begun = False
            if written:
                key, view = lines[0]
                lines[0] = (key, view[written:])
                self._begun = True
                return
        self._watch.stop()
        self._watch = None

    def _fail(self, error: OSError) -> None:
        self._stop()  # what waits stays: whoever gave it may ask whether it went out
        self._failed(error)

    def _stop(self) -> None:
        self._open = False
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        with contextlib.suppress(OSError):
            self._pipe.close()


def _write_some(fd: int, lines: deque[tuple[Hashable, memoryview]]) -> int:
    if len(lines) == 1 or not hasattr(os, "writev"):
        return os.write(fd, lines[0][1])
    return os.writev(fd, [view for _, view in islice(lines, _MAX_PIECES)])
