"""The server of OTP: state, requests one at a time, and an end that others can rely on.

Knows how one is started; what it does then, `Serving` knows.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, ClassVar, Self, cast

from supervisors.behaviours.serving import Serving
from supervisors.runtime import pykka_registry
from supervisors.runtime.actor_ref import ActorRef, ServerRef
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.node import Node
from supervisors.runtime.nodes import current_node
from supervisors.runtime.process import Process
from supervisors.runtime.process_table import Name
from supervisors.words import checks
from supervisors.words.directives import UNSET
from supervisors.words.errors import (
    AlreadyStarted,
    NameTaken,
    SpecError,
    StartFailed,
    SupervisorsError,
)
from supervisors.words.reasons import KILL, NORMAL, Error, TimedOut
from supervisors.words.specs import Backoff, ChildSpec, ChildType, RestartType, ShutdownTime


class GenServer(Serving):
    """A server: subclass it, keep state on `self`, implement the callbacks you need.

    Callbacks may be plain or `async def`. While one awaits, the server's other messages wait.
    An exception that leaves a callback ends the server with `Error(exception)`.
    """

    ref_class: ClassVar[type[ActorRef[Any]]] = ServerRef

    @classmethod
    def start_link(
        cls,
        *args: Any,
        name: Name | None = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> Future[ActorRef[Self]]:
        """Start a server, linked to the calling process, which is its parent.

        The future has the ref once `init(*args, **kwargs)` is through. *name* registers it before
        `init` runs; *start_timeout* is in seconds.

        The future fails with `StartFailed` (init stopped, raised or took too long), `StartIgnored`,
        or `AlreadyStarted` (somebody has the name).
        """
        return cls._otp_launch(args, kwargs, name, start_timeout, self_process())

    @classmethod
    def start_unlinked(
        cls,
        *args: Any,
        name: Name | None = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> Future[ActorRef[Self]]:
        """Start a server without link and parent; otherwise as `start_link`."""
        return cls._otp_launch(args, kwargs, name, start_timeout, None)

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> ActorRef[Self]:
        """Start a server as pykka does: at once, unlinked, without waiting for `init`."""
        return cls.start_on(current_node(), *args, **kwargs)

    @classmethod
    def start_on(cls, node: Node, *args: Any, **kwargs: Any) -> ActorRef[Self]:
        """As `start`, on the given node.

        Raises:
            NodeStopped: It does not run.
        """
        node.loop  # noqa: B018  # raises if there is none
        server = cls._otp_new(args, kwargs)
        process = server._otp_process  # noqa: SLF001  # of this very class
        process.node = node
        server._otp_in_registry = True  # noqa: SLF001  # of this very class
        pykka_registry.enter(server.ref)
        _in_loop(node, lambda: _begin(server, None, None, None))
        return cast("ActorRef[Self]", process.ref)

    @classmethod
    def child_spec(
        cls,
        *args: Any,
        id: Any = None,
        restart: RestartType = "permanent",
        shutdown: ShutdownTime = UNSET,
        significant: bool = False,
        type: ChildType | None = None,
        restart_delay: Backoff | None = None,
        name: Name | None = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> ChildSpec:
        """The spec that lets a supervisor start this server with the given arguments.

        *id* is by default the name, or the class.
        """
        checks.seconds("start_timeout", start_timeout)
        if name is not None:
            checks.name(name)
            kwargs["name"] = name
        if start_timeout is not None:
            kwargs["start_timeout"] = start_timeout
        options: dict[str, Any] = {} if shutdown is UNSET else {"shutdown": shutdown}
        return ChildSpec(
            id=id if id is not None else (name or cls),
            start=partial(cls.start_link, **kwargs) if kwargs else cls.start_link,
            args=args,
            restart=restart,
            type=type or cls._otp_child_type,
            significant=significant,
            restart_delay=restart_delay,
            **options,
        )

    _otp_child_type: ClassVar[ChildType] = "worker"

    @classmethod
    def _otp_new(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Self:
        try:
            server = cls()
        except TypeError as error:
            raise SpecError(
                f"{cls.__name__}.__init__() takes no arguments; what start gives goes to init(). "
                "Write `def init(self, start): ...`."
            ) from error
        server._otp_args = args
        server._otp_kwargs = kwargs
        return server

    @classmethod
    def _otp_launch(
        cls,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: Name | None,
        start_timeout: float | None,
        parent: Process | None,
    ) -> Future[ActorRef[Self]]:
        checks.seconds("start_timeout", start_timeout)
        if name is not None:
            checks.name(name)
        server = cls._otp_new(args, kwargs)
        process = server._otp_process  # noqa: SLF001  # of this very class
        ack: Future[Any] = Future(process.node)
        process.ack = ack
        _in_loop(process.node, lambda: _begin(server, name, start_timeout, parent))
        return ack


def _in_loop(node: Node, deed: Any) -> None:
    if node.thread_id == threading.get_ident():
        deed()
    else:
        node.post(deed)


def _begin(
    server: GenServer, name: Name | None, start_timeout: float | None, parent: Process | None
) -> None:
    process = server._otp_process  # noqa: SLF001  # its own module
    ack = process.ack
    try:
        process.node.adopt(process, name)
    except NameTaken as error:
        process.ack = None
        process.die(NORMAL)
        if ack is not None:
            ack.try_fail(AlreadyStarted(error.ref))
        return
    except SupervisorsError as error:  # the node, or the registry it was to be named in, is gone
        process.ack = None
        process.die(Error(error))
        if ack is not None:
            ack.try_fail(StartFailed(Error(error)))
        return
    if parent is not None:
        process.parent = parent
        process.on_link(parent)
        parent.transmit(parent.on_link, process)
    if start_timeout is not None and ack is not None:
        timer = process.node.after(start_timeout, lambda: _too_slow(server))
        ack.add_done_callback(lambda _ack: timer.cancel())
    process.begin()


def _too_slow(server: GenServer) -> None:
    process = server._otp_process  # noqa: SLF001  # its own module
    ack, process.ack = process.ack, None
    if ack is not None:
        down = process.node.when_down(process)
        down.add_done_callback(lambda _down: ack.try_fail(StartFailed(TimedOut())))
        process.transmit(process.on_exit_signal, None, KILL, False)
