"""Actors as pykka has them, on a shared event loop.

Everything of `pykka.Actor` works: on_start, on_receive, on_stop, on_failure, proxies, the registry.
Handlers may be plain functions or coroutines. What differs is on purpose: a failure never stops
other actors, whatever was raised.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import CoroutineType, TracebackType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import pykka
from pykka.messages import (
    ProxyCall,
    ProxyGetAttr,
    ProxySetAttr,
    _ActorStop,  # pyright: ignore[reportPrivateUsage]  # pykka's own way to say stop
)

from supervisors.machines.mailbox import Bound
from supervisors.runtime import pykka_registry
from supervisors.runtime.actor_process import ActorProcess, Work
from supervisors.runtime.actor_ref import ActorRef
from supervisors.runtime.bounded import BoundedActorProcess
from supervisors.runtime.fence import fence
from supervisors.runtime.future import Future
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node
from supervisors.runtime.ref import Ref, check_alive
from supervisors.runtime.reports import publish
from supervisors.runtime.requests import Ask, Call, Cast, Told
from supervisors.runtime.states import RUNNING, STOPPING
from supervisors.runtime.system import System
from supervisors.runtime.tasks import crash_report
from supervisors.words import checks
from supervisors.words.directives import Stop
from supervisors.words.errors import ExitProcess, NodeStopped, SpecError
from supervisors.words.reasons import NORMAL, Error, ExitReason, as_reason

logger = logging.getLogger("pykka")

Match: TypeAlias = Callable[[Any], object] | type[object] | tuple[type[object], ...] | None
"""Which messages are meant: those a predicate accepts, those of a type, or, with None, any."""

_PYKKA_ON_START = pykka.Actor.on_start
_PYKKA_MESSAGES = frozenset((_ActorStop, ProxyCall, ProxyGetAttr, ProxySetAttr))


class _OnStop:
    """Stands for what is being handled while on_stop or on_failure runs."""

    __slots__ = ("asked", "reason")

    def __init__(self, asked: Ask | None, reason: ExitReason) -> None:
        self.asked = asked
        self.reason = reason

    def server_ended(self, reason: ExitReason) -> None:
        """Called when the actor is killed meanwhile: it has stopped all the same."""
        if self.asked is not None:
            self.asked.reply(None)


class Actor(pykka.Actor):
    """An actor that shares an event loop with thousands of others.

    Define it as any pykka actor. `on_receive`, the hooks and proxied methods may be `async def`;
    the actor's next message waits until the coroutine is done.
    """

    trap_exit: ClassVar[bool] = False
    """Whether exit signals come as `Exit` messages instead of ending the actor."""
    urgent_signals: ClassVar[bool] = True
    """Whether `Exit` and `Down` messages overtake all unread messages, also those that the process
    they tell of had sent. OTP's behaviours, whose order is OTP's, have it off."""
    mailbox_bound: ClassVar[Bound | None] = None
    """The bound of the mailbox, for example `Bound(1_000, "drop_oldest")`; None for no bound."""
    ref_class: ClassVar[type[ActorRef[Any]]] = ActorRef

    _otp_process: ActorProcess

    if TYPE_CHECKING:  # in pykka the hooks return None; here they may also return a coroutine

        def on_start(self) -> Any:
            """Set the actor up, before its first message."""

        def on_stop(self) -> Any:
            """Clean up, after the actor was told to stop."""

        def on_failure(
            self,
            exception_type: type[BaseException] | None,
            exception_value: BaseException | None,
            traceback: TracebackType | None,
        ) -> Any:
            """Clean up, after an exception that no caller waits for."""

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> ActorRef[Self]:  # pyright: ignore[reportIncompatibleMethodOverride]  # pykka's ref is invariant, and typed on its own class
        """Start an actor on the current node and enter it in `pykka.ActorRegistry`.

        The arguments go to the constructor. `on_start` runs on the loop, after this returns.

        Raises:
            NodeStopped: The node this code runs in has been stopped.
        """
        actor = cls(*args, **kwargs)
        process = getattr(actor, "_otp_process", None)
        if process is None:
            raise SpecError(
                f"{cls.__name__}.__init__() did not call super().__init__(). "
                "Write it as its first line: `super().__init__()`."
            )
        pykka_registry.enter(process.ref)
        actor._otp_in_registry = True
        logger.debug("Starting %s", actor)
        actor._start_actor_loop()
        return cast("ActorRef[Self]", process.ref)

    _otp_in_registry = False

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        if fence.count:
            check_alive()
        node = current_node()
        bound = self.mailbox_bound
        if bound is not None:
            checks.instance("mailbox_bound", bound, Bound, 'Bound(1_000, "drop_oldest")')
        process = (
            ActorProcess(node, self) if bound is None else BoundedActorProcess(node, self, bound)
        )
        process.ref = self.ref_class(process)
        self._otp_process = process

    @staticmethod
    def _create_actor_inbox() -> Any:
        raise SpecError("the mailbox of a loop actor is made with its process; start the actor")

    @staticmethod
    def _create_future() -> Future[Any]:
        return Future()

    def _start_actor_loop(self) -> None:
        process = self._otp_process
        node = process.node

        def begin() -> None:
            try:
                node.adopt(process, None)
            except NodeStopped as error:
                process.die(Error(error))
                raise
            if type(self).on_start is _PYKKA_ON_START:
                process.state = RUNNING  # there is nothing to run
                if process.normal or process.urgent:
                    process.schedule()
            else:
                process.begin()

        if node.thread_id == threading.get_ident():
            begin()
        else:
            node.post(begin)

    @property
    def actor_ref(self) -> ActorRef[Self]:  # pyright: ignore[reportIncompatibleMethodOverride]  # see start()
        """The actor's ref."""
        return cast("ActorRef[Self]", self._otp_process.ref)

    @property
    def ref(self) -> ActorRef[Self]:
        """The actor's ref."""
        return cast("ActorRef[Self]", self._otp_process.ref)

    @property
    def node(self) -> Node:
        """The node the actor lives on."""
        return self._otp_process.node

    @property
    def parent(self) -> Ref | None:
        """The ref of the process that started it with a link."""
        parent = self._otp_process.parent
        return parent.ref if parent is not None else None

    @property
    def actor_urn(self) -> str:  # type: ignore[override]  # made when first asked for
        """The actor's universally unique name."""
        return self._otp_process.urn()

    @property
    def actor_inbox(self) -> Any:  # type: ignore[override]  # the process takes the mail
        """The mailbox as pykka sees it."""
        return self._otp_process

    @property
    def actor_stopped(self) -> threading.Event:  # type: ignore[override]  # made when first asked for
        """An event that is set when the actor takes no more messages."""
        return self._otp_process.stopped_event()

    def __str__(self) -> str:
        return f"{type(self).__name__} ({self.actor_urn})"

    def take(self, match: Match = None) -> Any:
        """Take the first unread message that matches out of the mailbox, or return None.

        *match* is a predicate or a type; without it, any message matches.
        """
        return self._otp_process.take(matcher(match))

    # ---- what the process asks of the actor

    def _otp_first(self) -> Work | None:
        return self._otp_handle(_START)

    def _otp_handle(self, item: Any) -> Work | None:
        """Handle one item of the mailbox; returns the coroutine it takes, if it takes one."""
        if item.__class__ in _NO_PLAIN_MESSAGES:
            return self._otp_handle_request(item)
        try:
            value: Any = self.on_receive(item)
        except BaseException as error:  # noqa: BLE001  # the edge of the actor: every failure is its own
            return self._otp_fail(item, error)
        if value.__class__ is CoroutineType:
            return value, item
        return None

    def _otp_handle_request(self, item: Any) -> Work | None:
        """Handle what is not simply a message."""
        message = item
        kind = item.__class__
        if kind is Ask or kind is Call or kind is Told:
            message = item.message
        elif kind is Cast:
            message = item.request
        elif kind is System:
            return self._otp_handle_system(item)
        try:
            if item is _START:
                self._otp_process.state = RUNNING
                value: Any = self.on_start()
            elif message.__class__ in _PYKKA_MESSAGES:
                if message.__class__ is _ActorStop:
                    return self._otp_stop_in_order(item if kind is Ask else None)
                value = self._handle_receive(message)
            else:
                value = self.on_receive(message)
        except BaseException as error:  # noqa: BLE001  # the edge of the actor: every failure is its own
            return self._otp_fail(item, error)
        if value.__class__ is CoroutineType:
            return value, item
        if kind is Ask or kind is Call:
            item.reply(value)
        return None

    def _otp_resume(self, item: Any, value: Any) -> Work | None:
        """Go on after the coroutine that handled *item* returned *value*."""
        if item.__class__ is _OnStop:
            self._otp_stopped(item)
        elif isinstance(item, Ask):
            item.reply(value)
        return None

    def _otp_fail(self, item: Any, error: BaseException) -> Work | None:
        """Go on after handling *item* raised *error*."""
        if item.__class__ is _OnStop:
            logger.error("Unhandled exception in %s:", self, exc_info=error)
            self._otp_stopped(item)
            return None
        reason = as_reason(error)
        if isinstance(error, ExitProcess) and error.signalled:
            self._otp_process.die(reason)
            return None
        if isinstance(item, Ask) and isinstance(error, Exception) and isinstance(reason, Error):
            logger.info("Exception returned from %s to caller:", self, exc_info=error)
            item.fail(error)
            return None
        if isinstance(item, Ask) and isinstance(reason, Error):
            item.fail(error)
        return self._otp_crash(reason)

    def _otp_crash(self, reason: ExitReason) -> Work | None:
        process = self._otp_process
        error = getattr(reason, "exception", None)
        if error is not None and not isinstance(error, Exception):
            # pykka's words for it, though here nobody else is stopped.
            logger.debug("%r in %s. Stopping all actors.", error, self)
        elif error is not None:
            logger.error("Unhandled exception in %s:", self, exc_info=error)
        if process.state < STOPPING:
            process.state = STOPPING
            self._otp_leave_registry()
            process.mark_stopping()
        if not isinstance(error, Exception):
            logger.debug("Stopped %s", self)
            return self._otp_run_hook(self.on_stop, None, reason)
        kind, traceback = type(error), error.__traceback__
        return self._otp_run_hook(lambda: self.on_failure(kind, error, traceback), None, reason)

    def _otp_stop_in_order(self, asked: Ask | None, reason: ExitReason = NORMAL) -> Work | None:
        process = self._otp_process
        if process.state >= STOPPING:
            if asked is not None:
                asked.reply(None)
            return None
        process.state = STOPPING
        self._otp_leave_registry()
        process.mark_stopping()
        logger.debug("Stopped %s", self)
        return self._otp_run_hook(self.on_stop, asked, reason)

    def _otp_run_hook(self, hook: Any, asked: Ask | None, reason: ExitReason) -> Work | None:
        item = _OnStop(asked, reason)
        try:
            value = hook()
        except BaseException as error:  # noqa: BLE001  # the edge of the actor: every failure is its own
            return self._otp_fail(item, error)
        if value.__class__ is CoroutineType:
            return value, item
        self._otp_stopped(item)
        return None

    def _otp_stopped(self, item: _OnStop) -> None:
        process = self._otp_process
        if not item.reason.is_calm:
            publish(crash_report(process, item.reason))
        process.die(item.reason)
        if item.asked is not None:
            item.asked.reply(None)

    def _otp_handle_system(self, system: System) -> Work | None:
        try:
            value = system.deed(self)
        except Exception as error:  # noqa: BLE001  # it is the requester's failure, not the actor's
            system.done.try_fail(error)
            return None
        system.done.try_set(value)
        return (
            self._otp_stop_in_order(None, as_reason(value.reason))
            if isinstance(value, Stop)
            else None
        )

    def _otp_leave_registry(self) -> None:
        if self._otp_in_registry:
            self._otp_in_registry = False
            pykka_registry.leave(self.ref)

    def _otp_released(self, reason: ExitReason) -> None:
        """Called when the process has ended, whatever the way."""
        self._otp_leave_registry()


class _Start:
    __slots__ = ()


_START = _Start()

_NO_PLAIN_MESSAGES = _PYKKA_MESSAGES | {Ask, Call, Cast, Told, System, _Start}


def matcher(match: Match) -> Callable[[Any], object] | None:
    """What `match` means: any message, a type, or a predicate."""
    if match is None:
        return None
    if not isinstance(match, type | tuple | UnionType):
        return checks.function("receive", match)

    def is_one(message: Any) -> bool:
        return isinstance(message, match)

    return is_one
