"""What the kernel asks of an actor, in the actor's turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykka.messages import (
    _ActorStop,  # pyright: ignore[reportPrivateUsage]  # pykka's own way to say stop
)

from supervisors.runtime.future import Future
from supervisors.words.errors import ProcessDead
from supervisors.words.reasons import ExitReason

if TYPE_CHECKING:
    from supervisors.runtime.actor import Actor
    from supervisors.runtime.node import Node


class System:
    """A request to the kernel of a process, through its mailbox: handled also while suspended."""

    __slots__ = ("deed", "done")

    def __init__(self, node: Node, deed: Callable[[Actor], Any]) -> None:
        self.deed = deed
        self.done: Future[Any] = Future(node)

    def server_ended(self, reason: ExitReason) -> None:
        """Called when the process ends with this request unanswered."""
        self.done.try_fail(ProcessDead(f"the process ended: {reason}", reason))


def is_stop(item: Any) -> bool:
    """Whether *item* is pykka's request to stop."""
    return getattr(item, "message", item).__class__ is _ActorStop


def is_system(item: Any) -> bool:
    """Whether *item* is for the kernel."""
    return item.__class__ is System
