"""What comes for one call, from the node's loop to wherever the call is awaited."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from supervisors import Future, Node

T = TypeVar("T")


class Inbox(Generic[T]):
    """A queue with one reader, which may be in another thread, on another loop."""

    __slots__ = ("_bell", "_items", "_node")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._items: deque[T] = deque()
        self._bell: Future[None] | None = None

    def put(self, item: T) -> None:
        """Add *item*, in any thread."""
        self._items.append(item)
        bell = self._bell
        if bell is not None:
            bell.try_set(None)

    async def take(self) -> T:
        """Wait for the next item."""
        while not self._items:
            bell = self._bell = Future(self._node)
            if not self._items:
                await bell
        return self._items.popleft()
