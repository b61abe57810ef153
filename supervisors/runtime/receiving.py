"""How a process waits for a message that matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from supervisors.runtime.future import Future
from supervisors.words.errors import ReceiveTimeout

if TYPE_CHECKING:
    from supervisors.runtime.process import Process
    from supervisors.runtime.timers import TimerHandle


class Receive(Future[Any]):
    """A wait for the first message that matches; withdrawn when nobody waits any more."""

    __slots__ = ("item", "match", "owner", "timer")

    def __init__(self, owner: Process, match: Callable[[Any], object] | None) -> None:
        super().__init__(owner.node)
        self.owner = owner
        self.match = match
        self.timer: TimerHandle | None = None
        self.item: Any = None
        """What it was given, as it lay in the mailbox."""

    def _withdrawn(self) -> None:
        if self.try_fail(ReceiveTimeout(None)):
            self.owner.forget_receiver(self)
        elif self._state == 1:
            # It had been given a message in the very moment it was cancelled: put it back.
            self.owner.normal.appendleft(self.item)
