"""A node: an event loop with its processes, their names, timers and the root of their tree.

Runs on a thread of its own or inside the loop of whoever enters it, on asyncio or trio. Knows how to
run what is ready; knows nothing of what processes do.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Literal, Self

from supervisors.machines.timers import Timer, TimerQueue
from supervisors.runtime.future import Future
from supervisors.runtime.here import Here, get_here
from supervisors.runtime.loop import AsyncioLoop, Loop, Task, TrioLoop, running_backend
from supervisors.runtime.process import DEAD, Process
from supervisors.words.errors import NameTaken, NodeStopped, SpecError
from supervisors.words.reasons import KILL, SHUTDOWN

if TYPE_CHECKING:
    from types import TracebackType

    from supervisors.runtime.ref import Ref
    from supervisors.runtime.watchdog import Watchdog

_log = logging.getLogger("supervisors.node")
_numbers = itertools.count(1)
_get_ident = threading.get_ident

_PATIENCE = 5.0
"""Seconds a process that nobody supervises gets to stop when its node does."""
_CELL_BUDGET = 64
"""Messages one process handles before the next has its turn."""
_TURN = 0.005
"""Seconds the ready processes may use before the loop serves its sockets again."""
_INLINE_TURNS = 64
"""How often in a row a task may run the ready processes instead of being suspended."""

_entered: ContextVar[Node | None] = ContextVar("supervisors_node", default=None)

Backend = Literal["asyncio", "trio"]

root_starter: Callable[[Node], Ref] | None = None
"""Starts a node's root supervisor; the behaviours, which stand above this file, set it."""


class TimerHandle:
    """A deed to be done later, until it is cancelled."""

    __slots__ = ("_node", "_timer", "due")

    def __init__(self, node: Node, due: float) -> None:
        self._node = node
        self._timer: Timer[Callable[[], object]] | None = None
        self.due = due

    def cancel(self) -> bool:
        """Cancel it, from any thread; False if it was done or cancelled already."""
        timer = self._timer
        return timer is not None and self._node.cancel_timer(timer)

    @property
    def pending(self) -> bool:
        """True until it was done or cancelled."""
        return self._timer is None or self._timer.pending


class Node:
    """Where processes live.

    `with Node() as node:` or `Node().start()` gives it a thread of its own; `async with Node():`
    runs it inside the current asyncio or trio loop. Without either, the first actor started makes
    the default node, on a thread of its own, which ends with the program.

    Args:
        name: What reports call it.
        backend: "asyncio" or "trio", for a node with its own thread.
        watchdog: Seconds a handler may hold the loop before it is reported; None turns it off.
        kill_grace: Seconds a killed process gets to let go before it is abandoned.
        clock: What tells the time instead of the machine's monotonic clock; see `testing`.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        backend: Backend = "asyncio",
        watchdog: float | None = 1.0,
        kill_grace: float = 1.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if backend not in ("asyncio", "trio"):
            raise SpecError(f'unknown backend {backend!r}: write Node(backend="asyncio") or "trio"')
        for what, value in (("watchdog", watchdog), ("kill_grace", kill_grace)):
            if value is not None and not value >= 0:
                raise SpecError(f"{what} is in seconds and cannot be {value!r}")
        self.name = name or f"node-{next(_numbers)}"
        self.kill_grace = kill_grace
        self.thread_id: int | None = None
        self.virtual = clock is not None
        self.now: Callable[[], float] = clock or time.monotonic
        self.processes: dict[int, Process] = {}
        self.names: dict[str, Process] = {}
        self.turns = 0
        self._backend = backend
        self._watchdog_limit = watchdog
        self._watchdog: Watchdog | None = None
        self._loop: Loop | None = None
        self._here: Here | None = None
        self._state: Literal["new", "running", "stopping", "stopped"] = "new"
        self._ready: deque[Process] = deque()
        self._posted: deque[Callable[[], object]] = deque()
        self._woken_here = False
        self._woken_from_afar = False
        self._running = False
        self._inline_left = _INLINE_TURNS
        self._signals: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._delivering = False
        self._timers: TimerQueue[Callable[[], object]] = TimerQueue()
        self._root: Ref | None = None
        self._thread: threading.Thread | None = None
        self._stop_wanted: Future[None] = Future()
        self._stopped: Future[None] = Future()
        self._token: Token[Node | None] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Node {self.name} {self._state}>"

    # ---- life: on a thread of its own

    def start(self) -> Self:
        """Run the node on a thread of its own.

        Raises:
            NodeStopped: It was started before; a node runs once.
        """
        with self._lock:
            if self._state != "new":
                raise NodeStopped(f"{self.name} was started before. Make another: `Node().start()`")
            self._state = "running"
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._thread_main, args=(started,), name=f"supervisors {self.name}", daemon=True
        )
        self._thread.start()
        started.get()
        return self

    def _thread_main(self, started: Future[None]) -> None:
        import anyio  # noqa: PLC0415  # costs 30 ms; a program that embeds its node has it anyway

        async def main() -> None:
            await self._enter()
            started.set()
            await self._stop_wanted
            await self._leave()

        options: dict[str, Any] = {}
        if self._backend == "asyncio" and (factory := _uvloop_factory()) is not None:
            options["loop_factory"] = factory
        try:
            anyio.run(main, backend=self._backend, backend_options=options)
        except BaseException as error:  # the edge of the thread: whoever waits has to be told
            if not started.try_fail(error):
                _log.exception("%s ended with an error", self.name)
        finally:
            self._state = "stopped"
            self._stopped.try_set(None)

    def stop(self, timeout: float | None = None) -> None:
        """Stop the tree in order, end what is left, and end the thread; harmless when repeated.

        Raises:
            pykka.Timeout: It took longer than *timeout* seconds; it goes on stopping.
            WouldBlock: Called on the node's own loop; use `async with` or another thread.
        """
        with self._lock:
            if self._state == "new":
                self._state = "stopped"
                self._stopped.try_set(None)
        self._stop_wanted.try_set(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._stopped.get(timeout=timeout)
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        self.start()
        self._token = _entered.set(self)
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._token is not None:
            _entered.reset(self._token)
        self.stop()

    # ---- life: inside the caller's loop

    async def __aenter__(self) -> Self:
        with self._lock:
            if self._state != "new":
                raise NodeStopped(f"{self.name} was started before. Make another: `Node()`")
            self._state = "running"
        await self._enter()
        self._token = _entered.set(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _entered.reset(self._token)
        self._stop_wanted.try_set(None)
        try:
            await self._leave()
        finally:
            self._state = "stopped"
            self._stopped.try_set(None)

    async def _enter(self) -> None:
        self._backend = "trio" if running_backend() == "trio" else "asyncio"
        self._loop = await _open_loop(self._backend)
        self.thread_id = _get_ident()
        self._here = here = get_here()
        here.nodes = (*here.nodes, self)
        if self._watchdog_limit is not None:
            from supervisors.runtime.watchdog import Watchdog  # noqa: PLC0415  # most tests have none

            self._watchdog = Watchdog(self, self._watchdog_limit)
            self._watchdog.start()
        self._wake()

    async def _leave(self) -> None:
        import anyio  # noqa: PLC0415  # see _thread_main

        with anyio.CancelScope(shield=True):
            self._state = "stopping"
            await self._stop_processes()
            if self._watchdog is not None:
                self._watchdog.stop()
            assert self._loop is not None
            for _ in range(100):
                if not self._loop.cancel_all():
                    break
                await anyio.sleep(0.001)
            await self._loop.close()
            here = get_here()
            here.nodes = tuple(node for node in here.nodes if node is not self)
            self.thread_id = None

    async def _stop_processes(self) -> None:
        """Stop what nobody supervises, then the tree, then kill what is left."""
        root = self._root.process if self._root is not None else None
        for process in reversed([p for p in self.processes.values() if self._is_top(p)]):
            if process is not root:
                await self._stop_one(process, None if process.restarts_children else _PATIENCE)
        if root is not None:
            await self._stop_one(root, None)
        left = [process for process in self.processes.values() if process.owned_by_node]
        for process in left:
            process.transmit(process.on_exit_signal, None, KILL, False)
        for process in left:
            await self._wait_for_end(process, self.kill_grace + 1.0)
        for process in list(self.processes.values()):
            process.die(SHUTDOWN)

    @staticmethod
    def _is_top(process: Process) -> bool:
        parent = process.parent
        return process.owned_by_node and (
            parent is None or not parent.owned_by_node or parent.state == DEAD
        )

    async def _stop_one(self, process: Process, patience: float | None) -> None:
        from supervisors.runtime.stopping import stop_process  # noqa: PLC0415  # it needs us

        if process.state != DEAD:
            stop_process(process, SHUTDOWN, None)
            await self._wait_for_end(process, patience)

    async def _wait_for_end(self, process: Process, patience: float | None) -> None:
        import anyio  # noqa: PLC0415  # see _thread_main

        if process.state != DEAD:
            with anyio.move_on_after(patience if patience is not None else math.inf):
                await self.when_down(process)

    # ---- running what is ready

    @property
    def running(self) -> bool:
        """True while processes can be started."""
        return self._state == "running"

    @property
    def current(self) -> Process | None:
        """The process whose synchronous code runs on the loop right now."""
        return self._here.current if self._here is not None else None

    @property
    def loop(self) -> Loop:
        """The loop it runs on.

        Raises:
            NodeStopped: It does not run.
        """
        if self._loop is None or self.thread_id is None:
            raise NodeStopped(f"{self.name} does not run. Start one: `with Node() as node:`")
        return self._loop

    def make_ready(self, process: Process) -> None:
        """Let *process* run soon; from any thread."""
        self._ready.append(process)
        if self.thread_id == _get_ident():
            if not self._woken_here and not self._running:
                self._woken_here = True
                self._loop.soon(self._run_woken_here)  # type: ignore[union-attr]  # it runs: this is its thread
        elif not self._woken_from_afar:
            self._woken_from_afar = True
            self._wake_from_afar()

    def post(self, deed: Callable[[], object]) -> None:
        """Do *deed* soon in the thread of the loop; from any thread.

        Raises:
            NodeStopped: The node does not run.
        """
        if self.thread_id is None:
            raise NodeStopped(f"{self.name} does not run. Start one: `with Node() as node:`")
        self._posted.append(deed)
        self._wake()

    def _wake(self) -> None:
        if self.thread_id == _get_ident():
            if not self._woken_here:
                self._woken_here = True
                self._loop.soon(self._run_woken_here)  # type: ignore[union-attr]  # it runs: this is its thread
        elif not self._woken_from_afar:
            self._woken_from_afar = True
            self._wake_from_afar()

    def _wake_from_afar(self) -> None:
        loop = self._loop
        if loop is None:
            self._woken_from_afar = False  # _enter() wakes once it has a loop
            return
        try:
            loop.soon_from_thread(self._run_woken_from_afar)
        except RuntimeError:
            self._die_with_the_loop()

    def _die_with_the_loop(self) -> None:
        """The loop was closed under us: nobody may wait for ever for its processes."""
        self._state = "stopped"
        self.thread_id = None
        for process in list(self.processes.values()):
            process.state = DEAD
            process.bury()
        self.processes.clear()

    def _run_woken_here(self) -> None:
        self._woken_here = False
        self._inline_left = _INLINE_TURNS
        self._run()

    def _run_woken_from_afar(self) -> None:
        self._woken_from_afar = False
        self._run()

    def run_ready_inline(self) -> None:
        """Run what is ready now, for a task that would have to wait for it otherwise."""
        if self._ready and not self._running and self._inline_left > 0:
            self._inline_left -= 1
            if not self._woken_here:
                # The budget is given back by the loop, so that it must come round for more.
                self._woken_here = True
                self._loop.soon(self._run_woken_here)  # type: ignore[union-attr]  # it runs: this is its thread
            self._run()

    def _run(self) -> None:
        if self._running:
            return
        self._running = True
        ready, posted, local = self._ready, self._posted, self._here
        assert local is not None
        before = local.current
        until = 0.0
        try:
            while posted:
                posted.popleft()()
            while ready:
                process = ready.popleft()
                local.current = process
                self.turns += 1
                if process.run(_CELL_BUDGET):
                    ready.append(process)
                    process.scheduled = True
                if not self.turns & 15:
                    now = time.perf_counter()
                    if not until:
                        until = now + _TURN
                    elif now > until:
                        break
        finally:
            local.current = before
            self._running = False
        if ready or posted:
            self._wake()

    def deliver(self, signal: Callable[..., None], args: tuple[Any, ...]) -> None:
        """Carry out a signal in the thread of the loop; those it causes follow, not nest."""
        signals = self._signals
        signals.append((signal, args))
        if self._delivering:
            return
        self._delivering = True
        try:
            while signals:
                signal, args = signals.popleft()
                signal(*args)
        finally:
            self._delivering = False

    # ---- the tree

    @property
    def root(self) -> Any:
        """The ref of the root supervisor, started when first asked for (and again if it gave up).

        Raises:
            NodeStopped: The node does not run.
        """
        with self._lock:
            root = self._root
            if root is None or not root.is_alive():
                if not self.running or root_starter is None:
                    raise NodeStopped(
                        f"{self.name} does not run. Start one: `with Node() as node:`"
                    )
                root = self._root = root_starter(self)
            return root

    # ---- processes and names

    def adopt(self, process: Process, name: Any) -> None:
        """Take a new process in, in the thread of the loop.

        Raises:
            NameTaken: *name* belongs to a living process.
            NodeStopped: The node does not run (any more).
        """
        if self._state not in ("running", "stopping"):
            raise NodeStopped(f"{self.name} does not run. Start one: `with Node() as node:`")
        if isinstance(name, str):
            self.register(name, process)
        elif name is not None:
            name.register(process)
        self.processes[process.id] = process

    def register(self, name: str, process: Process) -> None:
        """Give *process* the name *name*.

        Raises:
            NameTaken: *name* belongs to a living process, or *process* has a name already.
        """
        holder = self.names.get(name)
        if holder is not None and holder.state != DEAD:
            raise NameTaken(name, holder.ref)
        if process.name is not None:
            raise NameTaken(process.name, process.ref)
        self.names[name] = process
        process.name = name

    def unregister(self, name: str) -> None:
        """Free *name*; nothing happens if nobody has it."""
        process = self.names.pop(name, None)
        if process is not None:
            process.name = None

    def forget(self, process: Process) -> None:
        """Drop a process that has ended."""
        self.processes.pop(process.id, None)
        if process.name is not None and self.names.get(process.name) is process:
            del self.names[process.name]

    def when_down(self, process: Process) -> Future[Any]:
        """The future of the reason *process* ends with; `noproc` if it has ended."""
        down: Future[Any] = Future(self)
        process.transmit(process.on_monitor, down)
        return down

    def spawn_task(self, coroutine: Coroutine[Any, Any, object], name: str) -> Task:
        """Run *coroutine* as a task of the loop; it must catch what it raises."""
        return self.loop.spawn(coroutine, name)

    # ---- timers

    def after(self, seconds: float, deed: Callable[..., object], *args: Any) -> TimerHandle:
        """Do `deed(*args)` in the thread of the loop, *seconds* from now; from any thread.

        Raises:
            NodeStopped: The node does not run.
        """
        handle = TimerHandle(self, self.now() + max(0.0, seconds))

        def ring() -> object:
            return deed(*args)

        if self.thread_id == _get_ident():
            self._set_timer(handle, ring)
        else:
            # The entry is made here, so that cancel() finds it at once; the heap is the loop's.
            handle._timer = Timer(handle.due, ring)  # noqa: SLF001  # its own node
            self.post(lambda: self._add_timer(handle))
        return handle

    def _set_timer(self, handle: TimerHandle, ring: Callable[[], object]) -> None:
        handle._timer = self._timers.add(handle.due, ring)  # noqa: SLF001  # its own node
        self._set_alarm()

    def _add_timer(self, handle: TimerHandle) -> None:
        timer = handle._timer  # noqa: SLF001  # its own node
        if timer is not None and timer.item is not None:
            self._timers.push(timer)
            self._set_alarm()

    def cancel_timer(self, timer: Timer[Callable[[], object]]) -> bool:
        """Cancel a timer, from any thread."""
        if self.thread_id == _get_ident():
            return self._timers.cancel(timer)
        was, timer.item = timer.item, None
        return was is not None

    def _set_alarm(self) -> None:
        if not self.virtual and self._loop is not None:
            self._loop.alarm(self._timers.next_due(), self.ring)

    def ring(self) -> None:
        """Do the deeds that are due."""
        now = self.now()
        timers = self._timers
        while (deed := timers.pop_due(now)) is not None:
            deed()
        self._set_alarm()

    def next_due(self) -> float | None:
        """The moment of the next timer."""
        return self._timers.next_due()


# ---- which node


_default: Node | None = None
_default_lock = threading.Lock()


def default_node() -> Node:
    """The node of programs that made none: started on first use, stopped when the program ends."""
    global _default  # noqa: PLW0603  # there is one for the program
    node = _default
    if node is not None and node.running:
        return node
    with _default_lock:
        if _default is None or not _default.running:
            _default = Node("default").start()
            atexit.register(_default.stop, 10.0)
        return _default


def running_default_node() -> Node | None:
    """The default node if it was needed and still runs."""
    return _default if _default is not None and _default.running else None


def current_node() -> Node:
    """The node things are started on here: the one entered, the one whose loop this is, the default.

    Raises:
        NodeStopped: This code still runs in a node that has been stopped.
    """
    entered = _entered.get()
    if entered is not None and entered.running:
        return entered
    nodes = get_here().nodes
    if nodes:
        return nodes[-1]
    return default_node()


async def _open_loop(backend: Backend) -> Loop:
    return await TrioLoop.open() if backend == "trio" else AsyncioLoop()


def _uvloop_factory() -> Any:
    if sys.platform == "win32":
        return None
    try:
        import uvloop  # noqa: PLC0415  # an optional dependency
    except ImportError:
        return None
    return uvloop.new_event_loop
