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
from typing import IO, Protocol

from snodo_actors.ports.readiness import Watch, watch_writable
from supervisors import Node

Failed = Callable[[OSError], object]
"""Takes what the pipe failed with; nothing can be written any more."""

ENOUGH_LINES = 32
"""Lines that are worth a write of their own, though there may be more in this turn."""
PIECE_BYTES = 1 << 16
"""The most that several lines are put together to be written at once: what a pipe holds."""


class Writer(Protocol):
    """Writes into a pipe, until that fails or it is closed."""

    unsent_bytes: int
    """How many bytes wait for room."""

    def write(self, data: bytes, key: Hashable = None, *, soon: bool = False) -> bool:
        """Write *data* now or when there is room; False if nothing can be written any more.

        *soon*: not before the next turn of the loop, together with what else there is then.
        """
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
        self._lines: deque[tuple[Hashable, bytes]] = deque()
        self._begun = 0  # how much of the first line has gone out
        self._is_due = False  # whether what waits is written in the next turn
        self._watch: Watch | None = None
        self._open = True
        self.unsent_bytes = 0

    def write(self, data: bytes, key: Hashable = None, *, soon: bool = False) -> bool:
        """Write *data* now or when there is room; False if nothing can be written any more."""
        if not self._open:
            return False
        if not self._lines and not soon:
            try:
                self._begun = os.write(self._fd, data)
            except BlockingIOError:
                self._begun = 0
            except OSError as error:
                self._fail(error)
                return False
            if self._begun == len(data):
                self._begun = 0
                return True
            self.unsent_bytes -= self._begun
            self._watch_for_room()
        self._lines.append((key, data))
        self.unsent_bytes += len(data)
        if soon and self._watch is None:
            self._write_soon()
        return True

    def unsent(self) -> set[Hashable]:
        """The keys of what has not been begun to be written."""
        return {key for index, (key, _) in enumerate(self._lines) if index or not self._begun}

    def withdraw(self, key: Hashable) -> bool:
        """Take back what was given with *key*; False if it has gone out, at least in part."""
        for index, (other, line) in enumerate(self._lines):
            if other == key and (index or not self._begun):
                del self._lines[index]
                self.unsent_bytes -= len(line)
                return True
        return False

    def close(self) -> None:
        """Write no more, not even what waits, and close the pipe; harmless when repeated."""
        self._stop()
        self._lines = deque((key, b"") for key, _ in self._lines)
        self.unsent_bytes = 0

    def _write_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._node.loop.soon(self._write_what_is_due)
        elif len(self._lines) >= ENOUGH_LINES:
            self._write_what_waits()  # so that its reader begins while the others are made

    def _write_what_is_due(self) -> None:
        self._is_due = False
        self._write_what_waits()

    def _write_what_waits(self) -> None:
        if self._open and self._watch is None and not self._write_lines():
            self._watch_for_room()

    def _watch_for_room(self) -> None:
        if self._watch is None:
            self._watch = watch_writable(self._node, self._fd, self._there_is_room)

    def _there_is_room(self) -> None:
        # It may have been closed in the very turn in which there was room.
        if self._open and self._write_lines():
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _write_lines(self) -> bool:
        """Write what waits; False if there is not room for all of it."""
        lines = self._lines
        while lines:
            data = self._next_piece()
            try:
                written = os.write(self._fd, data)
            except BlockingIOError:
                return False
            except OSError as error:
                self._fail(error)
                return True
            self.unsent_bytes -= written
            is_full = written < len(data)
            written += self._begun
            while lines and written >= len(lines[0][1]):
                written -= len(lines.popleft()[1])
            self._begun = written
            if is_full:
                return False
        return True

    def _next_piece(self) -> bytes | memoryview:
        """The next lines together, or as much as is left of a long one."""
        first = self._lines[0][1]
        if self._begun or len(first) >= PIECE_BYTES or len(self._lines) == 1:
            return memoryview(first)[self._begun :]
        lines: list[bytes] = []
        size = 0
        for _, line in self._lines:
            size += len(line)
            if size > PIECE_BYTES:
                break
            lines.append(line)
        return b"".join(lines)

    def _fail(self, error: OSError) -> None:
        self._stop()  # what waits stays: whoever gave it may ask whether it went out
        self._failed(error)

    def _stop(self) -> None:
        self._open = False
        self._stop_watching()
        with contextlib.suppress(OSError):
            self._pipe.close()
