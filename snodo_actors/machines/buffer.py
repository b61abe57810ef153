"""Events on their way to an owner who says how many it wants.

Knows demand, overflow and the end of the stream; knows nothing of where events come from. What goes
out are the owner's payloads, in order: the events as they came, ``("dropped", n)`` before the event
that follows a gap, and ``("closed", reason)`` as the very last.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Literal, TypeAlias, TypeVar

from snodo_actors.words.errors import Error
from snodo_actors.words.types import Closed, Dropped, Overflow

E = TypeVar("E")

Reason: TypeAlias = Literal["complete"] | Error


class EventBuffer(Generic[E]):
    """At most *max_buffer* events, held until the owner asks for them."""

    __slots__ = ("_closed", "_demand", "_dropped", "_max_buffer", "_overflow", "_queue", "_told")

    def __init__(self, max_buffer: int, overflow: Overflow) -> None:
        self._max_buffer = max_buffer
        self._overflow = overflow
        # Made when first needed: most streams have nothing queued, and an empty one is 760 bytes.
        self._queue: deque[E] | None = None
        self._demand = 0
        self._dropped = 0
        self._closed: Closed | None = None
        self._told = False

    def event(self, event: E) -> list[E | Dropped | Closed]:
        """Take one more *event*; after the end of the stream it is ignored."""
        if self._closed is not None:
            return []
        if self._demand > 0:  # then nothing is queued, so there is no gap to tell of
            self._demand -= 1
            return [event]
        queue = self._queue
        if queue is None:
            queue = self._queue = deque()
        if len(queue) >= self._max_buffer:
            self._dropped += 1
            if self._overflow == "drop_newest":
                return []
            queue.popleft()
        queue.append(event)
        return []

    def demand(self, count: object) -> list[E | Dropped | Closed]:
        """Let the owner have *count* more events; anything but a positive integer is ignored."""
        if type(count) is not int or count < 1:
            return []
        self._demand += count
        payloads: list[E | Dropped | Closed] = []
        queue = self._queue
        while self._demand > 0 and queue:
            if self._dropped:
                payloads.append(("dropped", self._dropped))
                self._dropped = 0
            payloads.append(queue.popleft())
            self._demand -= 1
        if not queue:
            self._queue = None
        return payloads + self._end()

    def close(self, reason: Reason) -> list[E | Dropped | Closed]:
        """End the stream behind what is queued; only the first reason counts."""
        if self._closed is not None:
            return []
        self._closed = ("closed", reason)
        return self._end()

    def abort(self, reason: Reason) -> list[E | Dropped | Closed]:
        """End the stream now: what is queued is thrown away, and with it an end that waits."""
        self._queue = None
        self._closed = ("closed", reason)
        return self._end()

    def _end(self) -> list[E | Dropped | Closed]:
        if self._closed is None or self._told or self._queue:
            return []
        self._told = True
        return [self._closed]

    @property
    def ended(self) -> bool:
        """True once the owner has been told of the end."""
        return self._told

    def __len__(self) -> int:
        return 0 if self._queue is None else len(self._queue)
