"""Threads as processes, pykka's ThreadingActors among them.

Knows when a thread ends or a pykka actor stops. A thread cannot be stopped from outside, so it
traps exits until it says otherwise, and a signal that ends it only makes it count as ended.
"""

from __future__ import annotations

import functools
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pykka

from supervisors.runtime.here import get_here
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.requests import Ask, Cast, unboxed
from supervisors.runtime.states import DEAD, RUNNING
from supervisors.runtime.tasks import enter
from supervisors.words.errors import SpecError
from supervisors.words.reasons import NORMAL, ExitReason

if TYPE_CHECKING:
    from supervisors.runtime.node import Node


class FoundThread(Process):
    """A thread that asked who it is."""

    __slots__ = ()
    owned_by_node = False

    def __init__(self, node: Node, name: str) -> None:
        super().__init__(node, initial_call=name, trapping=True)
        self.ref = Ref(self)
        self.state = RUNNING


class _Ending:
    """Stands in the record of a thread; when the thread ends, the record goes, and this with it."""

    __slots__ = ("_process",)

    def __init__(self, process: Process) -> None:
        self._process = process

    def __del__(self) -> None:
        process = self._process
        if process.state != DEAD and process.node.running:
            process.leave(NORMAL)


def process_of_thread(node: Node) -> Process:
    """The process that this thread is."""
    here = get_here()
    own = here.own
    if own is None or own.state == DEAD:
        own = here.own = FoundThread(node, f"thread {threading.current_thread().name}")
        here.ending = _Ending(own)
        node.post(functools.partial(enter, own))
    return own


class ForeignActor(Process):
    """An actor of pykka's own, seen from our side: it takes messages, and its stop is noticed."""

    __slots__ = ("_pykka_ref",)
    owned_by_node = False

    def __init__(self, node: Node, ref: pykka.ActorRef[Any]) -> None:
        super().__init__(node, initial_call=str(ref), trapping=True)
        self.ref = Ref(self)
        self.state = RUNNING
        self._pykka_ref = ref

    def release(self, reason: ExitReason) -> None:
        """Forget the actor: the table holds its ref weakly, but this process holds it."""
        _foreign.pop(self._pykka_ref, None)

    def put(self, item: Any) -> None:
        """Tell the actor *item*, in pykka's way."""
        if isinstance(item, Ask):
            item.fail(
                SpecError(
                    f"{self.ref} is an actor of pykka's own, which answers no calls. Ask it with "
                    "its own ref: `ref.ask(message, block=False)`."
                )
            )
            return
        try:
            self._pykka_ref.tell(item.request if isinstance(item, Cast) else unboxed(item))
        except pykka.ActorDeadError:
            self.leave(NORMAL)

    def on_exit_signal(self, sender: Process | None, reason: ExitReason, linked: bool) -> None:
        """Stop the actor, which knows nothing of signals, and count as ended."""
        if linked and (self.links is None or sender not in self.links):
            return
        if self.state != DEAD and not reason.is_normal:
            self._pykka_ref.stop(block=False)
            self.die(reason)


_foreign: weakref.WeakKeyDictionary[pykka.ActorRef[Any], ForeignActor] = weakref.WeakKeyDictionary()


def process_of_foreign(ref: pykka.ActorRef[Any], node: Node) -> Process:
    """The process that stands for an actor of pykka's own."""
    process = _foreign.get(ref)
    if process is None or process.node.thread_id is None:
        process = _foreign[ref] = ForeignActor(node, ref)
        noticed = process
        node.post(functools.partial(enter, process))
        stopped = ref.actor_stopped
        tell_stopped = stopped.set

        def set_and_tell() -> None:
            tell_stopped()
            noticed.leave(NORMAL)

        # pykka tells nobody that an actor stopped; it sets this event, so that is where to listen.
        stopped.set = set_and_tell  # type: ignore[method-assign]  # see above
        if not ref.is_alive():  # it stopped before anybody listened
            process.leave(NORMAL)
    return process
