"""How what comes of a task gets to its owner: into the hands of who waits, or into the mailbox.

Knows the process the task runs in and the process that owns it; who starts it, it does not.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.node import Node
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.sending import send
from supervisors.runtime.states import DEAD
from supervisors.runtime.tasks import SpawnedProcess
from supervisors.runtime.watches import Monitor
from supervisors.words.errors import CallExit
from supervisors.words.reasons import KILL, NOPROC, SHUTDOWN, Error, ExitReason
from supervisors.words.signals import Down
from supervisors.words.specs import BRUTAL_KILL, ShutdownTime
from supervisors.words.tasks import Done, Exited, Outcome, TaskReply


class Channel:
    """One task between the process it runs in and its owner, the process that made this."""

    __slots__ = ("_refusal", "_sent", "_told", "done", "monitor", "owner", "process", "shutdown")

    def __init__(
        self,
        node: Node,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        shutdown: ShutdownTime,
        *,
        with_messages: bool = True,
    ) -> None:
        self.owner: Process = self_process()
        self.process = new_process(node, function, self._work, (function, args))
        self.shutdown: ShutdownTime = shutdown
        """Seconds it gets to end when it is stopped."""
        self.done: Future[Any] = Future(node)
        """The value of the task, or the error that says why it has none."""
        self.monitor: Monitor | None = None
        """What messages to the owner carry; None if none are wanted."""
        self._refusal: BaseException | None = None  # why it was not started
        self._sent = False  # the owner got a message with the value
        self._told = False  # the owner has the outcome, or does not want it any more
        if with_messages:
            self.monitor = self.owner.monitor(self.process, self.process.ref, "demonitor")
        self.process.before_end(self._otp_ended)

    @property
    def ref(self) -> Ref:
        """The ref of the task's process."""
        return self.process.ref

    def let_go(self) -> None:
        """Leave the owner alone: it has the outcome, or does not want it."""
        self._told = True
        monitor = self.monitor
        if monitor is not None:
            was_active = self.owner.demonitor(monitor, self.process)
            if self._sent:
                self.owner.take(lambda m: isinstance(m, TaskReply) and m.monitor is monitor)
            if not was_active:
                self.owner.take(lambda m: isinstance(m, Down) and m.monitor is monitor)

    def signal(self, reason: ExitReason) -> None:
        """Send the task an exit signal."""
        self.process.transmit(self.process.on_exit_signal, self.owner, reason, False)

    def stop(self) -> None:
        """Stop a task nobody waits for any more, within its shutdown time, and tell nobody."""
        self.let_go()
        self.owner.unlink(self.process)
        self.signal(KILL if self.shutdown == BRUTAL_KILL else SHUTDOWN)
        if isinstance(self.shutdown, int | float) and self.process.state != DEAD:
            timer = self.process.node.after(self.shutdown, self.signal, KILL)

            def cancel(_process: Process) -> None:
                timer.cancel()

            self.process.before_end(cancel)

    def refuse(self, error: BaseException) -> None:
        """The task was not started: whoever waits gets *error*, else the owner a `Down`."""
        self._refusal = error
        self.done.try_fail(error)
        self.process.leave(Error(error))

    def outcome(self) -> Outcome | BaseException:
        """How it came out, or the error that kept it from starting; only once it is done."""
        error = self.done.exception()
        if error is None:
            return Done(self.done.get())
        if isinstance(error, CallExit) and error is not self._refusal:
            return Exited(error.reason)
        return error

    async def _work(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        value = function(*args)
        if inspect.isawaitable(value):
            value = await value
        if self.owner.trapping:
            self.owner.unlink(self.process)  # a normal end is no news to who has the value
        if self.done.try_set(value) and not self._told and self.monitor is not None:
            self._sent = True
            send(self.monitor, TaskReply(self.monitor, value))

    def _otp_ended(self, process: Process) -> None:
        """Called at the death of the task's process, before its watchers are told."""
        reason = process.reason or NOPROC
        if self.done.done() or self._takes_the_owner_along(reason):
            return
        self.done.try_fail(CallExit(reason, process.ref, "a task's value"))

    def _takes_the_owner_along(self, reason: ExitReason) -> bool:
        """Whether the link will end the owner, so that its code must not run on until then."""
        owner, links = self.owner, self.process.links
        linked = links is not None and owner in links
        return linked and owner.owned_by_node and not owner.trapping and not reason.is_normal


def new_process(
    node: Node, function: Callable[..., Any], work: Callable[..., Any], args: tuple[Any, ...]
) -> SpawnedProcess:
    """A process that will run `work(*args)` and is called after *function*."""
    process = SpawnedProcess(node, work, args, trapping=False)
    process.initial_call = name_of(function)
    return process


def name_of(function: Callable[..., Any]) -> str:
    """What a task that runs *function* is called."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__name__
