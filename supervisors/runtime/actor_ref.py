"""How others hold an actor: a ref that is a `pykka.ActorRef`, so whatever takes those works."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

import pykka
from pykka.messages import (
    ProxySetAttr,
    _ActorStop,  # pyright: ignore[reportPrivateUsage]  # pykka's own way to say stop
)

from supervisors.runtime.fence import fence
from supervisors.runtime.future import Future, failed
from supervisors.runtime.ref import Ref, check_alive, not_found
from supervisors.runtime.requests import REQUESTS, Ask, Told
from supervisors.words.errors import ProcessDead

if TYPE_CHECKING:
    from supervisors.runtime.actor import Actor
    from supervisors.runtime.actor_process import ActorProcess
    from supervisors.runtime.node import Node


A_co = TypeVar("A_co", bound="Actor", covariant=True)


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
            raise not_found(process)
        if fence.count:
            check_alive()
        if message.__class__ in REQUESTS:
            message = Told(message)
        if process.bounded:
            process.put(message)
        else:  # put() written out: this is what programs of actors do most
            process.normal.append(message)
            if not process.scheduled:
                process.schedule()

    def send(self, message: Any) -> None:
        """Put *message* into the mailbox; nothing happens if the actor has ended."""
        if fence.count:
            check_alive()
        process = self.process
        if message.__class__ in REQUESTS:
            message = Told(message)
        if process.bounded:
            process.put(message)
        else:  # as in tell()
            process.normal.append(message)
            if not process.scheduled:
                process.schedule()

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
            future: Future[Any] = failed(not_found(process))
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
            raise not_found(self.process)
        return pykka.ActorProxy(actor_ref=self)


class ServerRef(ActorRef[A_co]):
    """A handle on an actor that is a behaviour of OTP; it shows its class, number and name."""

    __slots__ = ()

    __repr__ = Ref.__repr__
    __str__ = Ref.__str__


def _in_loop_of(node: Node) -> bool:
    return node.thread_id == threading.get_ident()
