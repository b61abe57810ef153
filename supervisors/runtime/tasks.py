"""Tasks as processes: those spawned on a node, and those of the user's that were found running.

Knows when a task ends; knows nothing of actors, whose tasks are entered here too.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from supervisors.runtime.fence import fence
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref, task_processes
from supervisors.runtime.reports import report, wanted
from supervisors.runtime.states import DEAD, RUNNING
from supervisors.words.errors import SupervisorsError
from supervisors.words.reasons import KILLED, NORMAL, Custom, Error, ExitReason, as_reason
from supervisors.words.reports import AbandonedReport, CrashReport

if TYPE_CHECKING:
    from supervisors.runtime.loop import Task
    from supervisors.runtime.node import Node
    from supervisors.runtime.timers import TimerHandle

_log = logging.getLogger("supervisors.crash")

CANCELLED = Custom("cancelled")
"""The reason of a task that was cancelled."""


class SpawnedProcess(Process):
    """A bare process: one function that runs in a task of the node."""

    __slots__ = ("_abandoned", "_args", "_begun", "_function", "_grace", "_task", "doomed")

    def __init__(
        self, node: Node, function: Callable[..., Any], args: tuple[Any, ...], *, trapping: bool
    ) -> None:
        name = getattr(function, "__qualname__", None) or type(function).__name__
        super().__init__(node, initial_call=name, trapping=trapping)
        self.ref = Ref(self)
        self.doomed: ExitReason | None = None
        self._function = function
        self._args = args
        self._abandoned = False
        self._begun = False
        self._task: Task | None = None
        self._grace: TimerHandle | None = None

    def begin(self) -> None:
        """Start, in the thread of the loop."""
        if self.state == DEAD:
            return
        try:
            self.node.adopt(self, None)
        except SupervisorsError as error:
            self.die(Error(error))
            return
        self.state = RUNNING
        self._task = self.node.spawn_task(self._main(), str(self.ref))
        self.schedule()

    async def _main(self) -> None:
        if self.state == DEAD:
            return
        self._begun = True
        task = self.node.loop.current_task()
        task_processes[task] = self
        reason: ExitReason = NORMAL
        cancelled = self.node.loop.cancelled  # a stopped node has no loop to ask any more
        try:
            if self.doomed is None:
                result = self._function(*self._args)
                if inspect.isawaitable(result):
                    await result
        except cancelled:
            reason = KILLED if self.node.running is False else CANCELLED
        except BaseException as error:  # noqa: BLE001  # the edge of the process: every failure is its own
            reason = as_reason(error)
            if not reason.is_calm and self.doomed is None and self.state != DEAD:
                report_crash(self, reason)
        finally:
            task_processes.pop(task, None)
            if self._abandoned:
                fence.count -= 1
            if self._grace is not None:
                self._grace.cancel()
            self.die(self.doomed or reason)

    def doom(self, reason: ExitReason) -> None:
        """Cancel the task; it ends when it has let go, or is abandoned."""
        if not self._begun:  # a task that is cancelled before it begins runs nothing at all
            if self._task is not None:
                self._task.cancel()
            self.die(reason)
            return
        if self.doomed is None or reason == KILLED:
            self.doomed = reason
        if self._task is not None:
            self._task.cancel()
        if self._grace is None:
            self._grace = self.node.after(self.node.kill_grace, self._abandon)

    def _abandon(self) -> None:
        if self.state != DEAD:
            report(AbandonedReport(self.ref, self.node.kill_grace))
            self._abandoned = True
            fence.count += 1
            self.die(self.doomed or KILLED)


class FoundTask(Process):
    """A task of the user's that asked who it is. It traps exits until it says otherwise."""

    __slots__ = ("_cancel",)
    owned_by_node = False

    def __init__(self, node: Node, name: str, cancel: Callable[[], object]) -> None:
        super().__init__(node, initial_call=name, trapping=True)
        self.ref = Ref(self)
        self.state = RUNNING
        self._cancel = cancel

    def doom(self, reason: ExitReason) -> None:
        """Count as ended at once, and cancel the task."""
        self.die(reason)
        self._cancel()


def process_of_task(task: Any, node: Node) -> Process:
    """The process that *task*, which is running in this thread, is."""
    process = task_processes.get(task)
    if process is None or (process.state == DEAD and not process.owned_by_node):
        make = _found_on_asyncio if hasattr(task, "add_done_callback") else _found_on_trio
        process = make(task, node)
        task_processes[task] = process
        node.post(functools.partial(enter, process))
    return process


def enter(process: Process) -> None:
    """Enter a process that was found running, unless it has ended meanwhile."""
    if process.state != DEAD:
        process.node.processes[process.id] = process


def _found_on_asyncio(task: Any, node: Node) -> Process:
    loop = task.get_loop()

    def cancel() -> None:
        loop.call_soon_threadsafe(task.cancel)

    process = FoundTask(node, f"task {task.get_name()}", cancel)

    def ended(task: Any) -> None:
        if task.cancelled():
            process.leave(CANCELLED)
        else:
            # Not exception(): that would keep asyncio from warning of one nobody looked at.
            error = getattr(task, "_exception", None)
            process.leave(NORMAL if error is None else as_reason(error))

    task.add_done_callback(ended)
    return process


def _found_on_trio(task: Any, node: Node) -> Process:
    trio = sys.modules["trio"]
    token = trio.lowlevel.current_trio_token()

    def cancel() -> None:
        token.run_sync_soon(_cancel_on_trio, task)

    process = FoundTask(node, f"task {task.name}", cancel)
    _trio_ends().add(task, process)
    return process


def _cancel_on_trio(task: Any) -> None:
    """Cancel the outermost scope *task* opened, if it opened one.

    trio has no other way to cancel a task from outside; a task without a scope of its own shares
    that of its nursery, with its siblings, and goes on, counting as ended, as a thread does. The
    scope inside `trio.sleep` is left alone: cancelled, it would only let the task go on too early.
    """
    nursery = task.parent_nursery
    above = nursery._cancel_status if nursery is not None else None  # noqa: SLF001  # see above
    status = task._cancel_status  # noqa: SLF001  # see above
    own: list[Any] = []
    while status is not None and status is not above:
        own.append(status._scope)  # noqa: SLF001  # see above
        status = status.parent
    if _sleeps_on_trio(task):
        del own[:1]
    if own:
        own[-1].cancel()


def _sleeps_on_trio(task: Any) -> bool:
    code = sys.modules["trio"].sleep_until.__code__
    awaited = task.coro
    while awaited is not None:
        if getattr(awaited, "cr_code", None) is code:
            return True
        awaited = getattr(awaited, "cr_await", None)
    return False


class _TrioEnds:
    """Notices the end of trio tasks; one for each trio run."""

    def __init__(self) -> None:
        self._watched: dict[Any, Process] = {}

    def add(self, task: Any, process: Process) -> None:
        self._watched[task] = process

    def task_exited(self, task: Any) -> None:
        process = self._watched.pop(task, None)
        if process is not None:
            process.leave(_reason_on_trio(task))


def _reason_on_trio(task: Any) -> ExitReason:
    """Why *task* has just ended: trio tells only that it did, but the caller knows."""
    trio = sys.modules["trio"]
    frame = sys._getframe()  # noqa: SLF001  # see above
    for _ in range(8):
        outcome = frame.f_locals.get("outcome")
        if frame.f_locals.get("task") is task and hasattr(outcome, "unwrap"):
            error = getattr(outcome, "error", None)
            if error is None:
                return NORMAL
            return CANCELLED if isinstance(error, trio.Cancelled) else as_reason(error)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return NORMAL


_trio_watchers: WeakKeyDictionary[Any, _TrioEnds] = WeakKeyDictionary()


def _trio_ends() -> _TrioEnds:
    trio = sys.modules["trio"]
    root = trio.lowlevel.current_root_task()
    watcher = _trio_watchers.get(root)
    if watcher is None:
        watcher = _trio_watchers[root] = _TrioEnds()
        trio.lowlevel.add_instrument(watcher)
    return watcher


def report_crash(process: Process, reason: ExitReason) -> None:
    """Report that *process* ends abnormally."""
    if wanted(CrashReport):
        report(crash_report(process, reason))


def crash_report(process: Process, reason: ExitReason) -> CrashReport:
    """Who ends abnormally, and why."""
    return CrashReport(
        process.ref,
        process.name,
        process.initial_call,
        "error" if isinstance(reason, Error) else "exit",
        reason,
        ancestors(process),
        tuple(other.ref for other in process.links or ()),
        len(process.normal),
    )


def ancestors(process: Process) -> tuple[Ref, ...]:
    """The parents of *process*, the nearest first."""
    above: list[Ref] = []
    parent = process.parent
    while parent is not None and len(above) < 32:
        above.append(parent.ref)
        parent = parent.parent
    return tuple(above)
