"""A node: where processes live, from its start until its last process has ended.

Runs on a thread of its own or inside the loop of whoever enters it, on asyncio or trio. What is
ready, what is due and who has which name, the files it is built from know.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from contextvars import Token
from typing import TYPE_CHECKING, Any, Literal, Self

from supervisors.runtime.backends import Backend, open_loop, run_loop
from supervisors.runtime.future import Future
from supervisors.runtime.here import entered, get_here
from supervisors.runtime.loop import running_backend
from supervisors.runtime.process import Process
from supervisors.runtime.process_table import Name, ProcessTable
from supervisors.runtime.shutdown import take_down
from supervisors.runtime.timers import Timers
from supervisors.runtime.watches import WhenDown
from supervisors.words import checks
from supervisors.words.errors import NodeStopped, SpecError, WouldBlock
from supervisors.words.reasons import NOCONNECTION, SHUTDOWN, ExitReason

if TYPE_CHECKING:
    from types import TracebackType

    from supervisors.runtime.ref import Ref
    from supervisors.runtime.watchdog import Watchdog

_log = logging.getLogger("supervisors.node")
_numbers = itertools.count(1)

_FAREWELL = 2.0
"""Seconds a node's thread gets to end once its processes have."""

State = Literal["new", "running", "stopping", "closing", "stopped"]

root_starter: Callable[[Node], Ref] | None = None
"""Starts a node's root supervisor; the behaviours, which stand above this file, set it."""


class Node(Timers, ProcessTable):
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
        self._state: State = "stopped"  # what it is if it is refused
        self.name = name or "a node"
        if backend not in ("asyncio", "trio"):
            raise SpecError(f'unknown backend {backend!r}: write Node(backend="asyncio") or "trio"')
        checks.seconds("watchdog", watchdog)
        checks.some_seconds("kill_grace", kill_grace)
        if clock is not None:
            checks.function("clock", clock)
        Timers.__init__(self, name or f"node-{next(_numbers)}", clock)
        ProcessTable.__init__(self)
        self.kill_grace = kill_grace
        self._backend: Backend = backend
        self._watchdog_limit = watchdog
        self._watchdog: Watchdog | None = None
        self._state = "new"
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
                raise NodeStopped(f"{self.name} was started before. Make another: `Node()`")
            self._state = "running"
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._thread_main, args=(started,), name=f"supervisors {self.name}", daemon=True
        )
        self._thread.start()
        started.get()
        return self

    def _thread_main(self, started: Future[None]) -> None:
        async def main() -> None:
            await self._enter()
            started.set()
            await self._stop_wanted
            await self._leave()
            self._state = "stopped"
            self._stopped.try_set(None)

        try:
            run_loop(main, self._backend)
        except BaseException as error:  # noqa: BLE001  # the edge of the thread: who waits is told
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
        if self.thread_id == threading.get_ident():
            raise WouldBlock(
                "await anyio.to_thread.run_sync(node.stop)",
                f"stop() would block the loop of {self.name}, which has to do the stopping. "
                "Leave the `async with Node():` block, or stop it from a thread",
            )
        self._stop_wanted.try_set(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._stopped.get(timeout=timeout)
            # A task that swallows every cancellation would hold the thread for ever. It is left
            # behind, as a daemon: it has been reported, and what it does has no effect.
            self._thread.join(_FAREWELL)

    def __enter__(self) -> Self:
        self.start()
        self._token = entered.set(self)
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._token is not None:
            entered.reset(self._token)
        self.stop()

    # ---- life: inside the caller's loop

    async def __aenter__(self) -> Self:
        with self._lock:
            if self._state != "new":
                raise NodeStopped(f"{self.name} was started before. Make another: `Node()`")
            self._state = "running"
        await self._enter()
        self._token = entered.set(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            entered.reset(self._token)
        self._stop_wanted.try_set(None)
        try:
            await self._leave()
        finally:
            self._state = "stopped"
            self._stopped.try_set(None)

    async def _enter(self) -> None:
        self._backend = "trio" if running_backend() == "trio" else "asyncio"
        self._loop = await open_loop(self._backend)
        self.thread_id = threading.get_ident()
        self._here = here = get_here()
        here.nodes = (*here.nodes, self)
        if self._watchdog_limit is not None:
            from supervisors.runtime.watchdog import Watchdog  # noqa: PLC0415  # most tests have none

            self._watchdog = Watchdog(self, self._watchdog_limit)
            self._watchdog.start()
        self._wake()

    async def _leave(self) -> None:
        import anyio  # noqa: PLC0415  # costs 30 ms; it is there once a loop runs

        with anyio.CancelScope(shield=True):
            self._state = "stopping"
            try:
                await take_down(self, self._root.process if self._root is not None else None)
            except Exception:  # noqa: BLE001  # whatever one process does, the node ends
                _log.exception("%s could not stop its processes in order", self.name)
            self._state = "closing"
            for process in list(self.processes.values()):
                process.die(SHUTDOWN)
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
            self._drain()

    def _drain(self) -> None:
        """Answer what was sent while the loop came to its end."""
        while self._posted:
            try:
                self._posted.popleft()()
            except Exception as error:  # noqa: BLE001  # whoever posted it waits no longer
                _log.debug("%s is over, so %s", self.name, error)
        while self._ready:
            process = self._ready.popleft()
            process.take_signals()
            process.bury()

    @property
    def running(self) -> bool:
        """True while processes can be started."""
        return self._state == "running"

    def outlived_its_loop(self) -> bool:
        """Whether its loop was closed under it, which is noticed here if nowhere before."""
        over = self._loop is not None and self._loop.is_over()
        if over and self.thread_id is not None:
            self._die_with_the_loop()
        return over

    def _die_with_the_loop(self) -> None:
        """The loop was closed under us: nobody may wait for ever for its processes."""
        self._state = "stopped"
        self.thread_id = None
        here = self._here
        if here is not None:
            here.nodes = tuple(node for node in here.nodes if node is not self)
        for process in list(self.processes.values()):
            process.die(NOCONNECTION)
        self._drain()

    # ---- processes

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
                    raise self._not_running()
                root = self._root = root_starter(self)
            return root

    def adopt(self, process: Process, name: Name | None) -> None:
        """Take a new process in, in the thread of the loop.

        Raises:
            NameTaken: *name* belongs to a living process.
            NodeStopped: The node does not run (any more).
        """
        if self._state not in ("running", "stopping"):
            raise self._not_running()
        if isinstance(name, str):
            self.register(name, process)
        elif name is not None:
            name.register(process)
        self.processes[process.id] = process

    def when_down(self, process: Process) -> Future[ExitReason]:
        """The future of the reason *process* ends with; `noproc` if it has ended."""
        down = WhenDown(process)
        process.transmit(process.on_monitor, down)
        return down
