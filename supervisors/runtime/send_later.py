"""Messages that will be sent, unless they are cancelled before."""

from __future__ import annotations

import contextlib
from typing import Any

from supervisors.runtime.lookup import Dest
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node
from supervisors.runtime.sending import check_destination, send
from supervisors.runtime.timers import TimerHandle
from supervisors.words import checks
from supervisors.words.errors import NoSuchName
from supervisors.words.signals import TimerFired


class SentLater:
    """A message that will be sent. Its identity tells one timer's message from another's."""

    __slots__ = ("_handle", "_node")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._handle: TimerHandle | None = None

    def left(self) -> float | None:
        """Seconds until it is sent; None if it was sent or cancelled."""
        handle = self._handle
        return max(0.0, handle.due - self._node.now()) if handle and handle.pending else None


def send_after(seconds: float, dest: Dest, message: Any) -> SentLater:
    """Send *message* in *seconds*. A name is looked up then; nothing happens if nobody has it."""
    return _later(seconds, dest, message, wrapped=False)


def start_timer(seconds: float, dest: Dest, message: Any) -> SentLater:
    """As `send_after`, but what comes is `TimerFired(timer, message)`."""
    return _later(seconds, dest, message, wrapped=True)


def cancel_timer(timer: SentLater) -> float | None:
    """Cancel a timer: returns the seconds that were left, or None if it was too late."""
    checks.instance("a timer", timer, SentLater, "cancel_timer(send_after(5.0, ref, message))")
    left = timer.left()
    handle = timer._handle  # noqa: SLF001  # its own module
    return left if handle is not None and handle.cancel() else None


def _later(seconds: float, dest: Dest, message: Any, *, wrapped: bool) -> SentLater:
    checks.some_seconds("seconds", seconds)
    check_destination(dest)
    node = current_node()
    timer = SentLater(node)
    what = TimerFired(timer, message) if wrapped else message

    def fire() -> None:
        with contextlib.suppress(NoSuchName):  # nobody has the name now
            send(dest, what)

    timer._handle = node.after(seconds, fire)  # noqa: SLF001  # its own module
    return timer
