"""A process: an identity with links, monitors and a mailbox, until it ends.

Knows nothing of pykka or of what the process does. Its state is touched in one thread only, that
of its node's loop; whoever is elsewhere leaves a signal in the urgent lane instead, so that what
one sender does arrives in the order it was done (the guarantee of OTP). Messages go straight to
the other lane from anywhere.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from supervisors.machines.exits import Fate, fate
from supervisors.runtime.future import Future
from supervisors.runtime.receiving import Receive
from supervisors.runtime.requests import REQUESTS, Told, unboxed
from supervisors.runtime.states import DEAD, NEW, STATES
from supervisors.runtime.watches import Monitor
from supervisors.words.errors import NoProcess, ProcessDead, ReceiveTimeout
from supervisors.words.reasons import NOPROC, NORMAL, ExitReason
from supervisors.words.signals import Down, Exit

if TYPE_CHECKING:
    from supervisors.runtime.node import Node
    from supervisors.runtime.ref import Ref

_ids = itertools.count(1)
_get_ident = threading.get_ident


class Process:
    """The part every process has, whatever runs in it."""

    busy = False
    """Whether a task of the process waits for something."""
    has_terminate = False
    """Whether it is an actor, which may have something to put in order at its end."""
    restarts_children = False
    """Whether it is a supervisor, which takes as long to stop as its children do."""
    owned_by_node = True
    """False for a task or thread of the user's, which the node did not start and does not stop."""

    __slots__ = (
        "__weakref__",
        "at_death",
        "attention",
        "id",
        "initial_call",
        "links",
        "monitors",
        "name",
        "node",
        "normal",
        "parent",
        "reason",
        "receivers",
        "ref",
        "scheduled",
        "state",
        "stopping",
        "trapping",
        "urgent",
        "watching",
    )

    def __init__(self, node: Node, *, initial_call: str, trapping: bool = False) -> None:
        self.id = next(_ids)
        self.node = node
        self.initial_call = initial_call
        self.trapping = trapping
        self.state = NEW
        # True when there may be something to look at before the next message.
        self.attention = False
        self.stopping = False
        self.reason: ExitReason | None = None
        self.ref: Ref
        self.name: str | None = None
        self.parent: Process | None = None
        self.normal: deque[Any] = deque()
        self.urgent: deque[tuple[Callable[..., None], tuple[Any, ...]]] | None = None
        self.scheduled = False
        # The rarely used are made when first used: a process is about a kilobyte.
        self.links: dict[Process, None] | None = None
        self.monitors: dict[Monitor | Future[ExitReason], None] | None = None
        self.watching: dict[Monitor, None] | None = None
        self.receivers: list[Receive] | None = None
        self.at_death: list[Callable[[Process], None]] | None = None

    def __repr__(self) -> str:
        return f"<process {self.ref} {STATES[self.state]}>"

    # ---- mail

    def put(self, item: Any) -> None:
        """Put *item* into the mailbox, from any thread."""
        self.normal.append(item)
        if not self.scheduled:
            self.schedule()

    def put_message(self, message: Any) -> None:
        """Put what a user sent into the mailbox: it stays a message, whatever it looks like."""
        self.put(Told(message) if message.__class__ in REQUESTS else message)

    def schedule(self) -> None:
        """Let the node run this process soon."""
        if self.state == DEAD:
            self.bury()
        elif self.state != NEW:
            self.scheduled = True
            self.node.make_ready(self)

    def bury(self) -> None:
        """Answer what lies in the mailbox of a dead process."""
        normal = self.normal
        reason = self.reason or NOPROC
        while normal:
            try:
                item = normal.popleft()
            except IndexError:
                return  # another thread took the last one
            ended = getattr(item, "server_ended", None)
            if ended is not None:
                ended(reason)

    def run(self, budget: int) -> bool:
        """Do what is due; says whether mail is left that the budget did not allow for."""
        self.scheduled = False
        if self.urgent:
            self.take_signals()
        if self.state == DEAD:
            self.bury()
        elif self.receivers:
            self.match_receivers()
        return False

    # ---- signals

    def transmit(self, signal: Callable[..., None], *args: Any) -> None:
        """Let `signal(*args)` happen in this process, in the thread of its node."""
        node = self.node
        if node.thread_id == _get_ident():
            if self.urgent:
                self.take_signals()
            node.deliver(signal, args)
            return
        if self.urgent is None:
            self.urgent = deque()
        self.urgent.append((signal, args))
        self.attention = True
        if node.thread_id is None and self.state == DEAD:
            self.take_signals()  # its node is over, and whoever is dead only answers
        else:
            self.scheduled = True
            node.make_ready(self)

    def take_signals(self) -> None:
        """Carry out the signals that came from other threads."""
        urgent = self.urgent
        while urgent:
            try:
                signal, args = urgent.popleft()
            except IndexError:
                return  # another thread took the last one, of a process whose node is over
            self.node.deliver(signal, args)

    def on_exit_signal(self, sender: Process | None, reason: ExitReason, linked: bool) -> None:
        """Receive an exit signal: *linked* tells of a linked process's end."""
        if self.state == DEAD:
            return
        if linked:
            if self.links is None or sender not in self.links:
                return  # unlinked while the signal was on its way
            del self.links[sender]
        what, reason = fate(reason, trapping=self.trapping, from_self=sender is self, linked=linked)
        if what is Fate.DIE:
            self.doom(reason)
        elif what is Fate.MESSAGE:
            self.put_signal(Exit(sender.ref if sender is not None else None, reason))

    def put_signal(self, message: Any) -> None:
        """Put an `Exit` or a `Down` into the mailbox."""
        self.put(message)

    def doom(self, reason: ExitReason) -> None:
        """End because of a signal, without any more code of the user's."""
        self.die(reason)

    def on_link(self, other: Process) -> None:
        """Be linked with *other* from now on; if it is too late, *other* gets `noproc`."""
        if self.state == DEAD:
            other.transmit(other.on_exit_signal, self, NOPROC, True)
        elif other is not self:
            if self.links is None:
                self.links = {}
            self.links[other] = None

    def on_unlink(self, other: Process) -> None:
        """Be linked with *other* no more."""
        if self.links is not None:
            self.links.pop(other, None)

    def on_monitor(self, monitor: Monitor | Future[ExitReason]) -> None:
        """Tell *monitor* of the end when it comes; at once if it has come."""
        if self.state == DEAD:
            self._tell_end(monitor, NOPROC)
        else:
            if self.monitors is None:
                self.monitors = {}
            self.monitors[monitor] = None

    def on_demonitor(self, monitor: Monitor | Future[ExitReason]) -> None:
        """Tell *monitor* nothing any more."""
        if self.monitors is not None:
            self.monitors.pop(monitor, None)

    def on_watch(self, monitor: Monitor) -> None:
        """Remember a monitor of its own, to take it back at its end."""
        if self.watching is None:
            self.watching = {}
        if monitor.active:
            self.watching[monitor] = None

    def on_unwatch(self, monitor: Monitor) -> None:
        """Forget a monitor of its own."""
        if self.watching is not None:
            self.watching.pop(monitor, None)

    def on_down(self, monitor: Monitor, what: Any, reason: ExitReason) -> None:
        """Receive the news that *what* has ended, unless *monitor* was taken back meanwhile."""
        self.on_unwatch(monitor)
        if monitor.active and self.state != DEAD:
            monitor.active = False
            if monitor.alias != "explicit":
                monitor.open = False
            self.put_signal(Down(monitor, what, reason))

    def _tell_end(self, monitor: Monitor | Future[ExitReason], reason: ExitReason) -> None:
        if isinstance(monitor, Future):
            monitor.try_set(reason)
        else:
            watcher = monitor.watcher
            watcher.transmit(watcher.on_down, monitor, monitor.target, reason)

    # ---- what the process does itself, in its own thread whichever that is

    def link(self, other: Process) -> None:
        """Link this process, which is the one running, with *other*."""
        if other is self:
            return
        if other.state == DEAD and not self.trapping:
            raise NoProcess(other.ref, "a link", other.reason)
        self.transmit(self.on_link, other)
        other.transmit(other.on_link, self)

    def unlink(self, other: Process) -> None:
        """Take the link with *other* back. An `Exit` that has arrived stays."""
        self.transmit(self.on_unlink, other)
        other.transmit(other.on_unlink, self)

    def monitor(self, target: Process, what: Any, alias: str | None) -> Monitor:
        """Watch *target*; a `Down` that names *what* tells of its end."""
        monitor = Monitor(self, what, alias)
        self.transmit(self.on_watch, monitor)
        target.transmit(target.on_monitor, monitor)
        return monitor

    def demonitor(self, monitor: Monitor, target: Process | None) -> bool:
        """Stop watching; False if the `Down` was sent already or the monitor taken back."""
        was_active, monitor.active = monitor.active, False
        if monitor.alias != "explicit":
            monitor.open = False
        self.transmit(self.on_unwatch, monitor)
        if target is not None:
            target.transmit(target.on_demonitor, monitor)
        return was_active

    # ---- selective receive

    def receive(self, match: Callable[[Any], object] | None, timeout: float | None) -> Future[Any]:
        """The future of the first message that matches."""
        wait = Receive(self, match)
        if self._give(wait):
            return wait
        if self.receivers is None:
            self.receivers = []
        self.receivers.append(wait)
        if timeout is not None:

            def expire() -> None:
                if wait.try_fail(ReceiveTimeout(timeout)):
                    self.forget_receiver(wait)

            wait.timer = self.node.after(timeout, expire)
            wait.add_done_callback(lambda _wait: wait.timer.cancel() if wait.timer else None)
        self.await_mail()
        return wait

    def await_mail(self) -> None:
        """Look at the mailbox once more, and whenever something arrives."""
        self.schedule()

    def _give(self, wait: Receive) -> bool:
        try:
            item = self.take_item(wait.match, _NOTHING)
        except Exception as error:  # noqa: BLE001  # the predicate's failure is its process's own
            wait.try_fail(error)
            return True
        if item is _NOTHING:
            return False
        if self.urgent and self.node.thread_id == _get_ident():
            self.take_signals()  # what its sender did before it sent this comes first
        wait.item = item
        if not wait.try_set(unboxed(item)):
            self.normal.appendleft(item)
        return True

    def take(self, match: Callable[[Any], object] | None, default: Any = None) -> Any:
        """Take the first unread message that matches out of the mailbox, or return *default*."""
        return unboxed(self.take_item(match, default))

    def take_item(self, match: Callable[[Any], object] | None, default: Any) -> Any:
        """Do as `take`, but leave the message in its box if it came in one."""
        normal = self.normal
        if match is None:
            try:
                return normal.popleft()
            except IndexError:
                return default
        for index in range(len(normal)):
            item = normal[index]
            found = match(unboxed(item))
            if found is not NotImplemented and found:  # the former is what `"a".__eq__(1)` says
                del normal[index]
                return item
        return default

    def match_receivers(self) -> None:
        """Give waiting receivers what has come for them."""
        receivers = self.receivers
        if receivers:
            for wait in tuple(receivers):
                if wait.done() or self._give(wait):
                    self.forget_receiver(wait)

    def forget_receiver(self, wait: Receive) -> None:
        """Drop a receiver that no longer waits."""
        if self.receivers is not None and wait in self.receivers:
            self.receivers.remove(wait)

    # ---- the end

    def before_end(self, deed: Callable[[Process], None]) -> None:
        """Let `deed(process)` happen when it ends, before anybody is told."""
        deeds = self.at_death
        if deeds is None:
            deeds = self.at_death = []
        deeds.append(deed)
        if self.state == DEAD:
            deed(self)

    def die(self, reason: ExitReason) -> None:
        """End with *reason*: names free, mail answered, then watchers and links are told."""
        if self.state == DEAD:
            return
        self.state = DEAD
        self.attention = True
        self.stopping = True
        self.scheduled = False  # from now on every put() looks here, and is answered
        self.reason = reason
        self.node.forget(self)
        deeds, self.at_death = self.at_death, None
        if deeds is not None:
            for deed in deeds:
                deed(self)
        self.release(reason)
        self.bury()
        if self.watching is not None:
            watching, self.watching = self.watching, None
            for monitor in watching:
                monitor.active = False
                target = monitor.target
                process = getattr(target, "process", None)
                if process is not None:
                    process.transmit(process.on_demonitor, monitor)
        if self.monitors is not None:
            monitors, self.monitors = self.monitors, None
            for watch in monitors:
                self._tell_end(watch, reason)
        if self.links is not None:
            links, self.links = self.links, None
            for other in links:
                other.transmit(other.on_exit_signal, self, reason, True)
        if self.receivers is not None:
            for wait in self.receivers:
                wait.try_fail(ProcessDead(f"{self.ref} ended: {reason}", reason))
            self.receivers = None
        self.ended(reason)

    def release(self, reason: ExitReason) -> None:
        """Let go of what ran in the process; called before anybody is told of its end."""

    def ended(self, reason: ExitReason) -> None:
        """Called when everybody has been told of its end."""

    def leave(self, reason: ExitReason = NORMAL) -> None:
        """End from the inside, in whatever thread."""
        self.transmit(self.die, reason)


class _Nothing:
    __slots__ = ()


_NOTHING = _Nothing()
