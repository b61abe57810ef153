"""A process in which an actor runs: takes its mail and lets the actor handle it, one at a time.

Synchronous handlers run straight from the node's turn. The first handler that returns a coroutine
gets a task, which goes on with the mail until there is none; so only actors that wait cost a task,
and only while they wait. Knows when to run what; what a message means is the actor's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from supervisors.runtime.fence import fence
from supervisors.runtime.future import Future
from supervisors.runtime.here import get_here
from supervisors.runtime.pykka_view import PykkaView
from supervisors.runtime.ref import task_processes
from supervisors.runtime.reports import report
from supervisors.runtime.states import DEAD, NEW, STARTING
from supervisors.runtime.system import is_system
from supervisors.runtime.tracing import trace
from supervisors.words.errors import StartFailed, StartIgnored
from supervisors.words.reasons import KILLED, ExitReason
from supervisors.words.reports import AbandonedReport

if TYPE_CHECKING:
    from supervisors.runtime.actor import Actor
    from supervisors.runtime.loop import Task
    from supervisors.runtime.node import Node
    from supervisors.runtime.timers import TimerHandle

Work = tuple[Coroutine[Any, Any, Any], Any]
"""A coroutine a handler returned, and what it was handling."""

_LOOK_AGAIN = object()


def _let_be(_item: Any) -> None:
    """Handle a message where there is no actor any more."""


class ActorProcess(PykkaView):
    """The process of one actor."""

    __slots__ = (
        "_abandoned",
        "_begun",
        "_grace",
        "_task",
        "_work",
        "ack",
        "actor",
        "actor_class",
        "bounded",
        "busy",
        "doomed",
        "express",
        "handle",
        "handling",
        "idle_timer",
        "ignored",
        "running",
        "special",
        "suspended",
        "tracer",
    )

    def __init__(self, node: Node, actor: Actor) -> None:
        super().__init__(
            node,
            initial_call=type(actor).__name__,
            trapping=bool(getattr(actor, "trap_exit", False)),
        )
        self.actor: Actor | None = actor
        self.actor_class = type(actor)
        # Here, and not looked up with each message, which would take long.
        self.handle: Callable[[Any], Work | None] = actor._otp_handle  # noqa: SLF001  # an actor and its process are one
        self.bounded = False
        """Whether the mailbox has a bound."""
        self.ack: Future[Any] | None = None
        self.ignored = False
        self.doomed: ExitReason | None = None
        self.running = False
        self.busy = False
        # True when the next item is not simply the oldest message, see _next_special().
        self.special = False
        self.suspended = False
        self.express: deque[Any] | None = None
        self.tracer: Callable[[tuple[Any, ...]], object] | None = None
        # What the coroutine that runs is about; it lies in no mailbox any more.
        self.handling: Any = None
        self.idle_timer: TimerHandle | None = None
        self._task: Task | None = None
        self._abandoned = False
        self._begun = False
        self._work: Work | None = None
        self._grace: TimerHandle | None = None

    has_terminate = True

    @property
    def restarts_children(self) -> bool:  # type: ignore[override]  # a constant there
        """Whether the actor is a supervisor."""
        return hasattr(self.actor_class, "tree_children")

    # ---- running

    def begin(self) -> None:
        """Start, in the thread of the loop: the actor's first code runs at once.

        So a plain `init` is through when its starter looks, and costs no turn of the loop.
        """
        self.state = STARTING
        self.scheduled = True
        here = get_here()
        before, here.current = here.current, self
        try:
            more = self.run(1)
        finally:
            here.current = before
        if more:
            self.scheduled = True
            self.node.make_ready(self)

    def run(self, budget: int) -> bool:
        """Do what is due; says whether mail is left that the budget did not allow for."""
        if self.urgent:
            self.take_signals()
        if self.state == DEAD:
            self.scheduled = False
            self.bury()
            return False
        if self.busy:
            # The task goes on with the mail; until then mail need not wake anybody, unless the
            # handler in it waits for some.
            self.scheduled = self.receivers is None
            self.match_receivers()
            return False
        more = self.work(budget)
        if self._work is not None:
            self._go_on_in_a_task()
            return False
        return more

    def work(self, budget: int) -> bool:
        """Handle up to *budget* messages; stops at a coroutine, which it leaves in `_work`."""
        self.scheduled = False
        actor = self.actor
        if actor is None:
            return False
        normal = self.normal
        self.running = True
        work: Work | None
        try:
            if self.state == STARTING:
                work = actor._otp_first()  # noqa: SLF001  # an actor and its process are one
                if work is not None:
                    self._work = work
                    return False
            handle = self.handle
            while budget:
                if normal and not self.attention:
                    item = normal.popleft()
                    if self.attention:  # what its sender did before it sent this comes first
                        normal.appendleft(item)  # type: ignore[unreachable]  # threads set it
                        continue
                elif self.attention:
                    item = self._attend()
                    if item is None:
                        break
                    if item is _LOOK_AGAIN:
                        continue
                else:
                    break
                budget -= 1
                work = handle(item)
                if work is not None:
                    self._work = work
                    return False
        finally:
            self.running = False
        if self.doomed is not None:
            self.die(self.doomed)
            return False
        return bool(normal) and not self.suspended and self.state != DEAD

    # ---- what is not simply the oldest message

    def put_signal(self, message: Any) -> None:
        """Put an `Exit` or a `Down` before the unread messages, if the actor wants that."""
        if not self.actor_class.urgent_signals or self.state == DEAD:
            self.put(message)
            return
        if self.express is None:
            self.express = deque()
        self.express.append(message)
        self.special = self.attention = True
        if not self.scheduled:
            self.schedule()

    def take_item(self, match: Callable[[Any], object] | None, default: Any) -> Any:
        """Take the first unread message that matches, signals first, in its box if it has one."""
        express = self.express
        if express:
            for index, message in enumerate(express):
                if match is None or match(message):
                    del express[index]
                    self.look_special()
                    return message
        return super().take_item(match, default)

    def _attend(self) -> Any:
        """Look at what comes before the next message: an item, or None if it may not go on."""
        self.attention = False
        if self.urgent:
            self.take_signals()
        if self.doomed is not None or self.state == DEAD:
            self.attention = True
            return None
        if self.special:
            self.attention = True
            return self._next_special()
        return _LOOK_AGAIN

    def _next_special(self) -> Any:
        item: Any = None
        if self.suspended:
            item = self.take(is_system)
        elif self.express:
            item = self.express.popleft()
        elif self.normal:
            item = self.normal.popleft()
        if item is not None and self.tracer is not None and not is_system(item):
            trace(self, item)
        self.look_special()
        return item

    def look_special(self) -> None:
        """Find out whether the next item takes a closer look."""
        self.special = self.suspended or self.tracer is not None or bool(self.express)
        if self.special:
            self.attention = True

    def _go_on_in_a_task(self) -> None:
        self.busy = True
        self.scheduled = True
        self._task = self.node.spawn_task(self._drive(), str(self.ref))

    async def _drive(self) -> None:  # noqa: C901, PLR0915  # one loop, whose every end leaves it at once
        """Run the coroutine in `_work`, and go on with the mail, until there is none."""
        if self._work is None:
            return  # it was ended before this task began
        self._begun = True
        task = self.node.loop.current_task()
        task_processes[task] = self
        cancelled = self.node.loop.cancelled
        try:
            while self._work is not None:
                coroutine, item = self._work
                self._work, self.handling = None, item
                try:
                    value = await coroutine
                except cancelled as error:
                    if self.state == DEAD:
                        return
                    if self.doomed is None and not self._cancelled_by_itself():
                        self.doomed = KILLED  # the loop is being taken down
                        self.attention = True
                    if self.doomed is not None:
                        return
                    after = self._resume(item, None, error)
                except BaseException as error:  # noqa: BLE001  # the edge of the actor: every failure is its own
                    if self.doomed is not None or self.state == DEAD:
                        return
                    after = self._resume(item, None, error)
                else:
                    if self.doomed is not None or self.state == DEAD:
                        return
                    after = self._resume(item, value, None)
                if after is not None:
                    self._work = after
                elif self.state != DEAD and not self.doomed:
                    here = get_here()
                    before, here.current = here.current, self
                    try:
                        more = self.work(64)
                    finally:
                        here.current = before
                    if more:
                        break
        finally:
            task_processes.pop(task, None)
            if self._abandoned:
                fence.count -= 1
            self.busy = self._begun = False
            self._task = None
            if self._grace is not None:
                self._grace.cancel()
                self._grace = None
            if self.doomed is not None:
                self.die(self.doomed)
            self.schedule()

    def _resume(self, item: Any, value: Any, error: BaseException | None) -> Work | None:
        actor = self.actor
        if actor is None:
            return None
        self.handling = None
        here = get_here()
        before, here.current = here.current, self
        self.running = True
        try:
            if error is None:
                return actor._otp_resume(item, value)  # noqa: SLF001  # an actor and its process are one
            return actor._otp_fail(item, error)  # noqa: SLF001  # see above
        finally:
            self.running = False
            here.current = before

    def _cancelled_by_itself(self) -> bool:
        """Whether the handler raised the cancellation, and the node goes on."""
        return self.node.running

    # ---- the end

    def doom(self, reason: ExitReason) -> None:
        """End because of a signal: at once, or when the handler that runs has let go."""
        if self.state == NEW:
            self.die(reason)
        elif self.running:
            # Its own synchronous code is on the stack: it ends when that returns.
            if self.doomed is None:
                self.doomed = reason
                self.attention = True
            if self.busy and self._task is not None:
                self._task.cancel()
        elif self.busy and not self._begun:
            # A task that is cancelled before it begins runs nothing at all.
            work, self._work = self._work, None
            self.busy = False
            if work is not None:
                work[0].close()
                self.handling = work[1]
            if self._task is not None:
                self._task.cancel()
                self._task = None
            self.die(reason)
        elif self.busy:
            if self.doomed is None or isinstance(reason, type(KILLED)):
                self.doomed = reason
                self.attention = True
            if self._task is not None:
                self._task.cancel()
            if self._grace is None:
                self._grace = self.node.after(self.node.kill_grace, self._abandon)
        else:
            self.die(reason)

    def _abandon(self) -> None:
        self._grace = None
        if self.state != DEAD:
            report(AbandonedReport(self.ref, self.node.kill_grace))
            self._abandoned = True
            fence.count += 1
            self.die(self.doomed or KILLED)

    def release(self, reason: ExitReason) -> None:
        """Let go of the actor."""
        if self.idle_timer is not None:
            self.idle_timer.cancel()
            self.idle_timer = None
        self.mark_stopping()
        item, self.handling = self.handling, None
        tell = getattr(item, "server_ended", None)
        if tell is not None:
            tell(reason)
        actor = self.actor
        self.actor, self.handle = None, _let_be
        if actor is not None:
            actor._otp_released(reason)  # noqa: SLF001  # an actor and its process are one

    def ended(self, reason: ExitReason) -> None:
        """Tell whoever waits for the start that there will be none."""
        ack, self.ack = self.ack, None
        if ack is not None:
            ack.try_fail(StartIgnored() if self.ignored else StartFailed(reason))
