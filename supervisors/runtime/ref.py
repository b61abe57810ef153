"""How others hold a process: a small handle that names one incarnation for ever.

One ref object for each process, compared by identity. `ActorRef` is a `pykka.ActorRef`, so whatever
works with pykka's refs works with ours.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload
from weakref import WeakKeyDictionary

import pykka
from pykka.messages import (
    ProxySetAttr,
    _ActorStop,  # pyright: ignore[reportPrivateUsage]  # pykka's own way to say stop
)

from supervisors.runtime.future import Future, failed
from supervisors.runtime.here import get_here
from supervisors.runtime.loop import any_current_task
from supervisors.runtime.process import Process
from supervisors.runtime.requests import Ask, Call, Cast, Told
from supervisors.runtime.states import DEAD
from supervisors.words.errors import CallingSelf, NoProcess, ProcessDead
from supervisors.words.reasons import NORMAL

if TYPE_CHECKING:
    from supervisors.runtime.actor import Actor
    from supervisors.runtime.actor_process import ActorProcess
    from supervisors.runtime.node import Node

A_co = TypeVar("A_co", bound="Actor", covariant=True)

DEFAULT_CALL_TIMEOUT = 5.0


def _not_found(process: Process) -> ProcessDead:
    reason = process.reason or NORMAL
    why = "" if reason.is_normal else f": it ended: {reason}"
    return ProcessDead(f"{process.ref} not found{why}", reason)


class Ref:
    """A handle on a process: an actor, a task, a thread."""

    __slots__ = ("process",)

    process: Process

    def __init__(self, process: Process) -> None:
        self.process = process

    @property
    def id(self) -> int:
        """A number no other process of this program has, had or will have."""
        return self.process.id

    @property
    def name(self) -> str | None:
        """The name it is registered under, if any."""
        return self.process.name

    @property
    def node(self) -> Node:
        """The node it belongs to."""
        return self.process.node

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        process = self.process
        name = f" {process.name!r}" if process.name is not None else ""
        return f"{process.initial_call}#{process.id}{name}"

    def is_alive(self) -> bool:
        """True until it has ended."""
        return self.process.state != DEAD

    def tell(self, message: Any) -> None:
        """Put *message* into its mailbox.

        Raises:
            ProcessDead: It has ended.
            MailboxFull: Its mailbox has a bound and rejects.
        """
        process = self.process
        if process.state == DEAD:
            raise _not_found(process)
        process.put(message)

    def send(self, message: Any) -> None:
        """Put *message* into its mailbox; nothing happens if it has ended."""
        self.process.put(message)

    def cast(self, request: Any) -> None:
        """Send a request that is not answered; nothing happens if it has ended."""
        self.process.put(Cast(request))

    def call(self, request: Any, timeout: float | None = DEFAULT_CALL_TIMEOUT) -> Future[Any]:
        """Send a request; the future has the reply.

        *timeout* in seconds, None for no limit. The future fails with `CallExit` when the server
        ends first, `NoProcess` when it is not there, `CallTimeout`, or `CallingSelf`.
        """
        process = self.process
        if get_here().current is process or (process.busy and is_current_task(process)):
            return failed(CallingSelf(self, request))
        if process.state == DEAD:
            return failed(NoProcess(self, request, process.reason))
        call = Call(process, request, timeout)
        process.put(call)
        return call


task_processes: WeakKeyDictionary[Any, Process] = WeakKeyDictionary()
"""Which process a task is."""


def _in_loop_of(node: Node) -> bool:
    return node.thread_id == threading.get_ident()


def is_current_task(process: Process) -> bool:
    """Whether the task that is running here is the one of *process*."""
    task = any_current_task()
    return task is not None and task_processes.get(task) is process


class ActorRef(Ref, pykka.ActorRef[A_co], Generic[A_co]):  # type: ignore[type-var]  # nobody assigns `actor_class`, which makes pykka's invariant
    """A handle on an actor, as pykka has it."""

    __slots__ = ()

    if TYPE_CHECKING:
        process: ActorProcess

    def __init__(self, process: ActorProcess) -> None:
        self.process = process  # pyright: ignore[reportIncompatibleVariableOverride]  # nobody sets it again

    @property
    def actor_class(self) -> type[A_co]:  # type: ignore[override]  # computed here, stored there
        """The class of the actor."""
        return cast("type[A_co]", self.process.actor_class)

    @property
    def actor_urn(self) -> str:  # type: ignore[override]  # computed here, stored there
        """The actor's universally unique name, made when first asked for."""
        return self.process.urn()

    @property
    def actor_inbox(self) -> Any:  # type: ignore[override]  # computed here, stored there
        """The mailbox as pykka sees it."""
        return self.process

    @property
    def actor_stopped(self) -> threading.Event:  # type: ignore[override]  # computed here, stored there
        """An event that is set when the actor takes no more messages."""
        return self.process.stopped_event()

    def _actor_weakref(self) -> A_co | None:  # type: ignore[override]  # called like the weakref there
        return cast("A_co | None", self.process.actor)

    def __repr__(self) -> str:
        return super(Ref, self).__repr__()

    def __str__(self) -> str:
        return super(Ref, self).__str__()

    def is_alive(self) -> bool:
        """True until it stops (pykka) or has ended (OTP's behaviours)."""
        return not self.process.stopping

    def tell(self, message: Any) -> None:
        """Put *message* into the mailbox.

        Raises:
            ProcessDead: The actor has stopped. It is a `pykka.ActorDeadError`.
            MailboxFull: The mailbox has a bound and rejects.
        """
        process = self.process
        if process.stopping:
            raise _not_found(process)
        if isinstance(message, (Ask, Cast)):
            message = Told(message)
        process.put(message)

    @overload
    def ask(
        self, message: Any, *, block: Literal[False], timeout: float | None = None
    ) -> Future[Any]: ...
    @overload
    def ask(self, message: Any, *, block: Literal[True], timeout: float | None = None) -> Any: ...
    @overload
    def ask(
        self, message: Any, *, block: bool = True, timeout: float | None = None
    ) -> Any | Future[Any]: ...
    def ask(self, message: Any, *, block: bool = True, timeout: float | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # the overloads are pykka's own; pyright does not see it for the `Any`
        """Send *message* and get the reply: the value, or with `block=False` its future.

        Raises:
            WouldBlock: A blocking ask on the loop that has to answer it.
            pykka.Timeout: No reply within *timeout* seconds.
            ProcessDead: The actor has stopped, or stopped before it answered.
            Exception: What the actor's handler raised.
        """
        process = self.process
        if process.stopping:
            future: Future[Any] = failed(_not_found(process))
        else:
            future = Ask(process, message)
            process.put(future)
            if block and type(message) is ProxySetAttr and _in_loop_of(process.node):
                # `proxy.attribute = value` cannot be awaited, so on the loop it is only sent; what
                # is asked afterwards comes after it.
                return None
        return future.get(timeout=timeout) if block else future

    @overload
    def stop(self, *, block: Literal[True], timeout: float | None = None) -> bool: ...
    @overload
    def stop(self, *, block: Literal[False], timeout: float | None = None) -> Future[bool]: ...
    @overload
    def stop(self, *, block: bool = True, timeout: float | None = None) -> bool | Future[bool]: ...
    def stop(self, *, block: bool = True, timeout: float | None = None) -> bool | Future[bool]:
        """Ask the actor to stop once it has handled what was sent before.

        True when it has stopped (or was stopping), False if it had already; with `block=False`
        the future of that.

        Raises:
            WouldBlock: A blocking stop on the loop of the actor.
            pykka.Timeout: It did not stop within *timeout* seconds.
        """
        asked: Future[Any] = self.ask(_ActorStop(), block=False)
        stopped: Future[bool] = Future(self.process.node)

        def tell(done: Future[Any]) -> None:
            error = done.exception()
            if isinstance(error, ProcessDead):
                stopped.try_set(False)
            elif error is not None:
                stopped.try_fail(error)
            else:
                stopped.try_set(True)

        asked.add_done_callback(tell)
        return stopped.get(timeout=timeout) if block else stopped

    def proxy(self) -> pykka.ActorProxy[A_co]:
        """A proxy whose attributes and methods are the actor's; each use gives a future.

        Raises:
            ProcessDead: The actor has stopped.
        """
        if not self.is_alive():
            raise _not_found(self.process)
        return pykka.ActorProxy(actor_ref=self)


class ServerRef(ActorRef[A_co]):
    """A handle on an actor that is a behaviour of OTP; it shows its class, number and name."""

    __slots__ = ()

    __repr__ = Ref.__repr__
    __str__ = Ref.__str__
