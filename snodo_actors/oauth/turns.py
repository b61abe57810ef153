"""Whose turn it is with a key, within this process.

Knows tasks of any loop in any thread, first come first served; knows nothing of files and of other
processes.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable

from supervisors import Future

Turn = Future[None]


class Turns:
    """A queue for each key: its head has the turn."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        # Reentrant: the collector may end a forgotten task, which then leaves, at any line.
        self._guard = threading.RLock()
        self._queues: dict[str, deque[Turn]] = {}

    async def take(self, key: str) -> Callable[[], None]:
        """Wait for the turn with *key*; return the function that ends it, from any thread."""
        turn = self._queue_up(key)
        try:
            await turn
        except BaseException:
            self._leave(key, turn)
            raise
        return functools.partial(self._leave, key, turn)

    def _queue_up(self, key: str) -> Turn:
        if self._pid != os.getpid():
            self._start()  # whose turn it was when this process was forked is in the other process
        turn = Turn()
        with self._guard:
            queue = self._queues.setdefault(key, deque())
            queue.append(turn)
            first = queue[0] is turn
        if first:
            turn.set()
        return turn

    def _leave(self, key: str, turn: Turn) -> None:
        with self._guard:
            queue = self._queues.get(key)
            if queue is None or turn not in queue:
                return  # queued up before this process was forked
            had_the_turn = queue[0] is turn
            queue.remove(turn)
            if not queue:
                del self._queues[key]
            next_ = queue[0] if queue and had_the_turn else None
        if next_ is not None:
            next_.set()
