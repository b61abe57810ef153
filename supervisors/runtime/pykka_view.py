"""A process as pykka wants to see an actor's: its URN, its mailbox, whether it was stopped."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING

from supervisors.runtime.process import Process

if TYPE_CHECKING:
    from supervisors.runtime.node import Node

_stopped_lock = threading.Lock()


class PykkaView(Process):
    """The part of an actor's process that pykka looks at."""

    __slots__ = ("_stopped", "_urn")

    def __init__(self, node: Node, *, initial_call: str, trapping: bool) -> None:
        super().__init__(node, initial_call=initial_call, trapping=trapping)
        self._urn: str | None = None
        self._stopped: threading.Event | None = None

    def urn(self) -> str:
        """The actor's URN, made when first asked for."""
        with _stopped_lock:
            if self._urn is None:
                self._urn = uuid.uuid4().urn
            return self._urn

    def stopped_event(self) -> threading.Event:
        """pykka's `actor_stopped`, made when first asked for."""
        with _stopped_lock:
            if self._stopped is None:
                self._stopped = threading.Event()
                if self.stopping:
                    self._stopped.set()
            return self._stopped

    def mark_stopping(self) -> None:
        """Take no more messages, as pykka has it."""
        with _stopped_lock:
            self.stopping = True
            if self._stopped is not None:
                self._stopped.set()

    def empty(self) -> bool:
        """Whether the mailbox is empty."""
        return not self.normal
