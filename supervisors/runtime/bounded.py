"""A process in which an actor runs whose mailbox has a bound."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from supervisors.machines.mailbox import Bound, Verdict
from supervisors.runtime.actor_process import ActorProcess
from supervisors.runtime.requests import refuse
from supervisors.runtime.states import DEAD
from supervisors.runtime.system import is_stop, is_system
from supervisors.words.errors import ProcessDead
from supervisors.words.reasons import NORMAL, ExitReason
from supervisors.words.signals import Down, Exit

if TYPE_CHECKING:
    from supervisors.runtime.actor import Actor
    from supervisors.runtime.node import Node


class BoundedActorProcess(ActorProcess):
    """The process of an actor whose mailbox has a bound."""

    __slots__ = ("_exempt", "_room", "bound")

    def __init__(self, node: Node, actor: Actor, bound: Bound) -> None:
        super().__init__(node, actor)
        self.bounded = True
        self.bound = bound
        self._room = threading.Condition()
        self._exempt = 0
        """At least as many as there are in the mailbox that the bound does not count."""

    def put(self, item: Any) -> None:
        """Put *item* into the mailbox, or do what the bound says if there is no room."""
        normal = self.normal
        if is_system(item) or is_stop(item):
            self._put_exempt(item)
            return
        verdict = self.bound.verdict(len(normal))
        if verdict is not Verdict.TAKE and self._exempt:
            with self._room:
                self._exempt = sum(map(_is_exempt, list(normal)))
            verdict = self.bound.verdict(len(normal) - self._exempt)
        if verdict is not Verdict.TAKE and self.state != DEAD:
            full = f"the mailbox of {self.ref} holds its {self.bound.limit} messages"
            if verdict is Verdict.WAIT:
                if self.node.thread_id == threading.get_ident():
                    refuse(
                        item,
                        f"{full}, and its own event loop cannot wait for room. Await an answer, "
                        "which gives it time: `await ref.ask(message, block=False)`, or send from "
                        "a thread: `await anyio.to_thread.run_sync(ref.tell, message)`.",
                    )
                    return
                with self._room:
                    self._room.wait_for(
                        lambda: len(normal) < self.bound.limit or self.state == DEAD
                    )
                if self.state == DEAD and not hasattr(item, "server_ended"):
                    reason = self.reason or NORMAL
                    raise ProcessDead(f"{self.ref} ended before there was room: {reason}", reason)
            elif verdict is Verdict.REJECT:
                refuse(item, full)
                return
            elif verdict is Verdict.DROP_NEWEST:
                self._drop(item, full)
                return
            else:
                self._drop_oldest(full)
        super().put(item)

    def _drop_oldest(self, full: str) -> None:
        spared: list[Any] = []
        with suppress(IndexError):  # it has been taken meanwhile, so there is room
            while True:
                oldest = self.normal.popleft()
                if not _is_exempt(oldest):
                    self._drop(oldest, full)
                    break
                spared.append(oldest)
        self.normal.extendleft(reversed(spared))

    @staticmethod
    def _drop(item: Any, text: str) -> None:
        if hasattr(item, "server_ended"):
            refuse(item, f"{text}; this request was dropped")

    def put_signal(self, message: Any) -> None:
        """Put an `Exit` or a `Down` into the mailbox, full or not."""
        self._put_exempt(message)

    def _put_exempt(self, item: Any) -> None:
        with self._room:
            self._exempt += 1
        super().put(item)

    def work(self, budget: int) -> bool:
        """Handle up to *budget* messages, and let those in who wait for room."""
        more = super().work(budget)
        with self._room:
            self._room.notify_all()
        return more

    def release(self, reason: ExitReason) -> None:
        """Let go of the actor, and of those who wait for room."""
        super().release(reason)
        with self._room:
            self._room.notify_all()


def _is_exempt(item: Any) -> bool:
    """Whether *item* is no message: not counted, never dropped, and not held up by messages."""
    return is_system(item) or is_stop(item) or isinstance(item, Exit | Down)
