"""The supervisor of functions that run once, each in a process of its own."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast, overload

from supervisors.behaviours.callbacks import Caller
from supervisors.behaviours.dynamic_supervisor import DynamicSupervisor, DynamicSupervisorRef
from supervisors.behaviours.task import Task
from supervisors.behaviours.task_channel import Channel, name_of, new_process
from supervisors.behaviours.task_stream import OnTimeout, StreamOptions, stream_outcomes
from supervisors.machines.children import Entry
from supervisors.machines.dynamic_children import DynamicChildren
from supervisors.runtime.actor_ref import ActorRef
from supervisors.runtime.future import Future
from supervisors.runtime.process import Process
from supervisors.runtime.process_table import Name
from supervisors.runtime.ref import DEFAULT_CALL_TIMEOUT, Ref
from supervisors.runtime.states import DEAD
from supervisors.runtime.tasks import SpawnedProcess
from supervisors.words.directives import NO_REPLY
from supervisors.words.errors import NoProcess
from supervisors.words.specs import WORKER_SHUTDOWN, ChildSpec, RestartType, ShutdownTime
from supervisors.words.tasks import Outcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _RunTask:
    process: SpawnedProcess
    owner: Process | None
    """Whom the task is linked to, besides its supervisor."""
    spec: ChildSpec


class TaskSupervisorRef(DynamicSupervisorRef):
    """A handle on a `TaskSupervisor`.

    A function may be plain or async; it runs in a task of the supervisor's node. A plain one holds
    the event loop while it runs, so what blocks belongs into a thread:
    `anyio.to_thread.run_sync(...)`.
    """

    __slots__ = ()

    def start_child(  # type: ignore[override]  # a task is started from a function
        self,
        function: Callable[..., Any],
        *args: Any,
        restart: RestartType = "temporary",
        shutdown: ShutdownTime = WORKER_SHUTDOWN,
    ) -> Future[Ref]:
        """Run `function(*args)` for what it does; the future has the ref of its process.

        *restart* "transient" runs it again when it fails. *shutdown*: seconds it gets to end when
        it is stopped, None for ever, or `BRUTAL_KILL`. The future fails with `MaxChildren`.
        """
        spec = ChildSpec(
            name_of(function), _Starter(self.process, function, args), restart, shutdown
        )
        return super().start_child(spec)

    @overload
    def async_(
        self,
        function: Callable[..., Awaitable[T]],
        *args: Any,
        shutdown: ShutdownTime = WORKER_SHUTDOWN,
    ) -> Task[T]: ...
    @overload
    def async_(
        self, function: Callable[..., T], *args: Any, shutdown: ShutdownTime = WORKER_SHUTDOWN
    ) -> Task[T]: ...
    def async_(
        self, function: Callable[..., Any], *args: Any, shutdown: ShutdownTime = WORKER_SHUTDOWN
    ) -> Task[Any]:
        """Run `function(*args)` for its value, linked to the calling process: `await task`.

        If the task fails, a caller that does not trap exits ends with it; if the caller fails, the
        task does. What keeps it from starting (`MaxChildren`) comes when the task is awaited.
        """
        channel = Channel(self.process.node, function, args, shutdown)
        return Task(self._run(channel, linked=True))

    @overload
    def async_nolink(
        self,
        function: Callable[..., Awaitable[T]],
        *args: Any,
        shutdown: ShutdownTime = WORKER_SHUTDOWN,
    ) -> Task[T]: ...
    @overload
    def async_nolink(
        self, function: Callable[..., T], *args: Any, shutdown: ShutdownTime = WORKER_SHUTDOWN
    ) -> Task[T]: ...
    def async_nolink(
        self, function: Callable[..., Any], *args: Any, shutdown: ShutdownTime = WORKER_SHUTDOWN
    ) -> Task[Any]:
        """As `async_`, without the link: neither takes the other along."""
        channel = Channel(self.process.node, function, args, shutdown)
        return Task(self._run(channel, linked=False))

    def stream(
        self,
        inputs: Iterable[Any] | AsyncIterable[Any],
        function: Callable[[Any], Any],
        *,
        max_concurrency: int | None = None,
        ordered: bool = True,
        timeout: float | None = DEFAULT_CALL_TIMEOUT,
        on_timeout: OnTimeout = "exit",
        zip_input_on_exit: bool = False,
        shutdown: ShutdownTime = WORKER_SHUTDOWN,
    ) -> AsyncGenerator[Outcome, None]:
        """Run *function* on each of *inputs*, and yield `Done(value)` or `Exited(reason)` for each.

        The tasks are linked to the caller: if one fails, a caller that does not trap exits ends.
        Inputs are taken when there is room for them. Leave it early inside
        `async with contextlib.aclosing(...)`: what still runs is stopped then.

        Args:
            inputs: Any iterable, also an async one.
            function: Plain or async; called with one input.
            max_concurrency: How many run at a time; None for one for each processor.
            ordered: Yield in the order of the inputs; else as they come.
            timeout: Seconds for each task; None for no limit.
            on_timeout: "exit" raises `CallTimeout`; "kill_task" yields `Exited(TimedOut())`.
            zip_input_on_exit: Let `Exited` carry the input.
            shutdown: As of `async_`.

        Raises:
            CallTimeout: A task took too long, and *on_timeout* is "exit".
            MaxChildren: The supervisor has no room for the next task.
            NoProcess: The supervisor is not there.
        """
        return stream_outcomes(
            self._starter(function, shutdown, linked=True),
            inputs,
            StreamOptions(
                _concurrency(max_concurrency),
                ordered,
                timeout,
                on_timeout,
                zip_input_on_exit,
            ),
        )

    def stream_nolink(
        self,
        inputs: Iterable[Any] | AsyncIterable[Any],
        function: Callable[[Any], Any],
        *,
        max_concurrency: int | None = None,
        ordered: bool = True,
        timeout: float | None = DEFAULT_CALL_TIMEOUT,
        on_timeout: OnTimeout = "exit",
        zip_input_on_exit: bool = False,
        shutdown: ShutdownTime = WORKER_SHUTDOWN,
    ) -> AsyncGenerator[Outcome, None]:
        """As `stream`, without links: a task that fails is an `Exited(reason)`, no more."""
        return stream_outcomes(
            self._starter(function, shutdown, linked=False),
            inputs,
            StreamOptions(
                _concurrency(max_concurrency),
                ordered,
                timeout,
                on_timeout,
                zip_input_on_exit,
            ),
        )

    def _starter(
        self, function: Callable[[Any], Any], shutdown: ShutdownTime, *, linked: bool
    ) -> Callable[[Any], Channel]:
        def start(value: Any) -> Channel:
            node = self.process.node
            channel = Channel(node, function, (value,), shutdown, with_messages=False)
            return self._run(channel, linked=linked)

        return start

    def _run(self, channel: Channel, *, linked: bool) -> Channel:
        owner = channel.owner if linked else None
        request = _RunTask(channel.process, owner, _value_spec(channel.shutdown))

        def check(asked: Future[Any]) -> None:
            error = asked.exception()
            if error is not None:
                channel.refuse(error)

        self.call(request, None).add_done_callback(check)
        return channel


class TaskSupervisor(DynamicSupervisor):
    """A supervisor of tasks: `tasks = await TaskSupervisor.start_link()`.

    `await tasks.async_nolink(function, *args)` for a value, `tasks.start_child(function, *args)`
    for what it does, `tasks.stream(inputs, function)` for many.
    """

    ref_class: ClassVar[type[ActorRef[Any]]] = TaskSupervisorRef

    @classmethod
    def start_link(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[TaskSupervisorRef]:
        """Start a supervisor, linked to the calling process; as `DynamicSupervisor.start_link`.

        Without a subclass the arguments are `max_children`, `max_restarts` and `max_seconds`.
        """
        started = super().start_link(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[TaskSupervisorRef]", started)

    @classmethod
    def start_unlinked(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[TaskSupervisorRef]:
        """Start a supervisor without link and parent; otherwise as `start_link`."""
        started = super().start_unlinked(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[TaskSupervisorRef]", started)

    def init(
        self, *, max_children: int | None = None, max_restarts: int = 3, max_seconds: float = 5.0
    ) -> Any:
        """Start empty.

        Args:
            max_children: How many tasks there may be at a time; None for no limit.
            max_restarts: As of `DynamicSupervisor.tree`; only transient tasks are restarted.
            max_seconds: In seconds.
        """
        return self.tree(
            max_children=max_children, max_restarts=max_restarts, max_seconds=max_seconds
        )

    def _answer_request(self, table: DynamicChildren[Ref], request: Any, caller: Caller) -> Any:
        if not isinstance(request, _RunTask):
            return super()._answer_request(table, request, caller)
        table.check_room()
        process, owner = request.process, request.owner
        if process.state == DEAD:
            return None  # its owner has stopped it before it began
        if owner is not None:
            if owner.state == DEAD:
                caller.fail(NoProcess(owner.ref, "a link to its task", owner.reason))
                return NO_REPLY
            process.on_link(owner)
            owner.transmit(owner.on_link, process)
        _begin(process, self._otp_process)
        table.add(Entry(request.spec), process.ref, self.node.now())
        return None


class _Starter:
    """The start function of a task without an owner."""

    __slots__ = ("_args", "_function", "_supervisor")

    def __init__(
        self, supervisor: Process, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        self._supervisor = supervisor
        self._function = function
        self._args = args

    def __call__(self) -> Ref:
        supervisor = self._supervisor
        process = new_process(supervisor.node, self._function, self._function, self._args)
        _begin(process, supervisor)
        return process.ref


def _begin(process: SpawnedProcess, supervisor: Process) -> None:
    """Start *process*, linked to *supervisor*, in the thread of its loop."""
    process.parent = supervisor
    process.on_link(supervisor)
    supervisor.on_link(process)
    process.begin()


def _started_elsewhere() -> None:
    raise AssertionError("a task that has a value runs once")


def _concurrency(limit: int | None) -> int:
    return os.cpu_count() or 1 if limit is None else limit


def _value_spec(shutdown: ShutdownTime) -> ChildSpec:
    if shutdown == WORKER_SHUTDOWN:
        return _TASK
    return ChildSpec("task", _started_elsewhere, "temporary", shutdown)


_TASK = ChildSpec("task", _started_elsewhere, "temporary")
