"""Pipes that no loop watches, as on Windows: a thread for each end, which may block.

The thread alone closes its pipe: to close one in which another thread is blocked would block too.
It ends when the pipe does, that is with the process at its other end.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import IO

from snodo_actors.ports.reader import READ_BYTES, Received
from snodo_actors.ports.writer import Failed
from supervisors import Node, NodeStopped


def post(node: Node, deed: Callable[[], object]) -> None:
    """Do *deed* in the thread of the node's loop, if the node still runs."""
    with contextlib.suppress(NodeStopped):
        node.post(deed)


class ThreadedReader:
    """Reads in a thread of its own."""

    def __init__(self, node: Node, pipe: IO[bytes], received: Received) -> None:
        self._node = node
        self._pipe = pipe
        self._received = received
        self._may_read = threading.Event()
        self._may_read.set()
        self._closed = False
        self._ended = False
        threading.Thread(target=self._run, name=f"reads {pipe.fileno()}", daemon=True).start()

    def pause(self) -> None:
        """Read no more for now."""
        self._may_read.clear()

    def resume(self) -> None:
        """Read again."""
        self._may_read.set()

    def drain(self) -> bool:
        """Say whether all there is was handed over: the end is, when it comes."""
        return self._ended

    def close(self) -> None:
        """Hand over no more; the thread ends, and closes the pipe, when its read does."""
        self._closed = True
        self._may_read.set()

    def _run(self) -> None:
        data = b"-"
        while data and not self._closed:
            self._may_read.wait()
            try:
                data = os.read(self._pipe.fileno(), READ_BYTES)
            except OSError:
                data = b""
            post(self._node, self._deed(data))
        self._pipe.close()

    def _deed(self, data: bytes) -> Callable[[], None]:
        def hand_over() -> None:
            self._ended = self._ended or not data
            if not self._closed:
                self._received(data)

        return hand_over


class ThreadedWriter:
    """Writes in a thread of its own."""

    def __init__(self, node: Node, pipe: IO[bytes], failed: Failed) -> None:
        self._node = node
        self._pipe = pipe
        self._failed = failed
        self._lines: deque[tuple[Hashable, bytes]] = deque()
        self._change = threading.Condition()
        self._open = True
        self.unsent_bytes = 0
        threading.Thread(target=self._run, name=f"writes {pipe.fileno()}", daemon=True).start()

    def write(self, data: bytes, key: Hashable = None, *, soon: bool = False) -> bool:
        """Write *data* now or when there is room; False if nothing can be written any more."""
        with self._change:
            if self._open:
                self._lines.append((key, data))
                self.unsent_bytes += len(data)
                self._change.notify()
            return self._open

    def unsent(self) -> set[Hashable]:
        """The keys of what has not been begun to be written."""
        with self._change:
            return {key for key, _ in self._lines}

    def withdraw(self, key: Hashable) -> bool:
        """Take back what was given with *key*; False if it has gone out, at least in part."""
        with self._change:
            for line in self._lines:
                if line[0] == key:
                    self._lines.remove(line)
                    self.unsent_bytes -= len(line[1])
                    return True
        return False

    def close(self) -> None:
        """Write no more, not even what waits; the thread closes the pipe when its write is over."""
        with self._change:
            self._open = False
            self._lines = deque((key, b"") for key, _ in self._lines)
            self.unsent_bytes = 0
            self._change.notify()

    def _run(self) -> None:
        try:
            while (data := self._next()) is not None:
                left = memoryview(data)
                while left:
                    written = os.write(self._pipe.fileno(), left)
                    left = left[written:]
                    with self._change:
                        self.unsent_bytes -= written
        except OSError as error:
            failure = error
            with self._change:
                was_open, self._open = self._open, False
            if was_open:
                post(self._node, lambda: self._failed(failure))
        finally:
            with contextlib.suppress(OSError):
                self._pipe.close()

    def _next(self) -> bytes | None:
        with self._change:
            self._change.wait_for(lambda: self._lines or not self._open)
            return self._lines.popleft()[1] if self._open else None
