"""Who runs next in the thread of a loop, and for how long.

Takes processes, deeds and signals from any thread. Knows nothing of what processes do, nor how a
node begins and ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from supervisors.runtime.here import Here
from supervisors.runtime.loop import Loop, Task, running_backend
from supervisors.words.errors import NodeStopped
from supervisors.words.reasons import Error

if TYPE_CHECKING:
    from supervisors.runtime.process import Process

_log = logging.getLogger("supervisors.node")
_get_ident = threading.get_ident

_CELL_BUDGET = 64
"""Messages one process handles before the next has its turn."""
_TURN = 0.005
"""Seconds the ready processes may use before the loop serves its sockets again."""
_INLINE_TURNS = 64
"""How often in a row a task may run the ready processes instead of being suspended."""


class Scheduling:
    """The part of a node that runs what is ready."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.thread_id: int | None = None
        self.turns = 0
        self._loop: Loop | None = None
        self._here: Here | None = None
        self._ready: deque[Process] = deque()
        self._posted: deque[Callable[[], object]] = deque()
        self._woken_here = False
        self._woken_from_afar = False
        self._running = False
        self._inline_left = _INLINE_TURNS
        self._signals: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._delivering = False

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
            raise self._not_running()
        return self._loop

    def make_ready(self, process: Process) -> None:
        """Let *process* run soon; from any thread."""
        self._ready.append(process)
        if self.thread_id == _get_ident():
            if not self._woken_here and not self._running:
                self._woken_here = True
                self._soon()
        elif not self._woken_from_afar:
            self._woken_from_afar = True
            self._wake_from_afar()

    def post(self, deed: Callable[[], object]) -> None:
        """Do *deed* soon in the thread of the loop; from any thread.

        Raises:
            NodeStopped: The node does not run.
        """
        if self.thread_id is None:
            raise self._not_running()
        self._posted.append(deed)
        self._wake()

    def _wake(self) -> None:
        if self.thread_id == _get_ident():
            if not self._woken_here:
                self._woken_here = True
                self._soon()
        elif not self._woken_from_afar:
            self._woken_from_afar = True
            self._wake_from_afar()

    def _soon(self) -> None:
        try:
            self._loop.soon(self._run_woken_here)  # type: ignore[union-attr]  # this is its thread
        except RuntimeError:
            self._die_with_the_loop()

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
        """Called when the loop was closed under us."""

    def _run_woken_here(self) -> None:
        self._woken_here = False
        self._inline_left = _INLINE_TURNS
        self._run()

    def _run_woken_from_afar(self) -> None:
        self._woken_from_afar = False
        self._run()

    def do_at_once(self, deed: Callable[[], object]) -> None:
        """Do *deed*, which the loop called, and all it makes ready, in this turn of the loop."""
        self._inline_left = _INLINE_TURNS
        self._do_at_once(deed)

    def try_at_once(self, deed: Callable[..., object], *args: Any) -> None:
        """Do `deed(*args)`, and all it makes ready unless something else has its turn before.

        In the thread of the loop only. While that does not run, nothing else does.
        """
        is_not_its_turn = self._running or self._ready or self._inline_left <= 0
        if is_not_its_turn or running_backend() is None:
            deed(*args)
        else:
            self._inline_left -= 1
            self._do_at_once(deed, *args)

    def _do_at_once(self, deed: Callable[..., object], *args: Any) -> None:
        was_woken, self._woken_here = self._woken_here, True  # nobody need be woken for what comes
        try:
            deed(*args)
        finally:
            self._woken_here = was_woken
            if self._ready or self._posted:
                self._run()

    def run_ready_inline(self) -> None:
        """Run what is ready now, for a task that would have to wait for it otherwise."""
        if self._ready and not self._running and self._inline_left > 0:
            self._inline_left -= 1
            if not self._woken_here:
                # The budget is given back by the loop, so that it must come round for more.
                self._woken_here = True
                self._soon()
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
                deed = posted.popleft()
                try:
                    deed()
                except Exception:  # noqa: BLE001  # one deed that fails must not keep the others from being done
                    _log.exception("something posted to %s failed", self.name)
            while ready:
                process = ready.popleft()
                local.current = process
                self.turns += 1
                try:
                    if process.run(_CELL_BUDGET):
                        ready.append(process)
                        process.scheduled = True
                except Exception as error:  # noqa: BLE001  # one process must not end its node
                    _log.exception("%s failed in the kernel's own code", process.ref)
                    process.die(Error(error))
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

    def spawn_task(self, coroutine: Coroutine[Any, Any, object], name: str) -> Task:
        """Run *coroutine* as a task of the loop; it must catch what it raises."""
        return self.loop.spawn(coroutine, name)

    def _not_running(self) -> NodeStopped:
        return NodeStopped(f"{self.name} does not run. Start one: `with Node() as node:`")
