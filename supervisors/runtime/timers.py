"""What a node does later: deeds and their moments, set and cancelled from any thread.

Which one is due, the twin of this file in `machines` knows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from supervisors.machines.timers import Timer, TimerQueue
from supervisors.runtime.scheduling import Scheduling
from supervisors.words import checks

_log = logging.getLogger("supervisors.node")
_get_ident = threading.get_ident


class TimerHandle:
    """A deed to be done later, until it is cancelled."""

    __slots__ = ("_node", "_timer", "due")

    def __init__(self, node: Timers, due: float) -> None:
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


class Timers(Scheduling):
    """The part of a node that keeps its timers."""

    def __init__(self, name: str, clock: Callable[[], float] | None) -> None:
        super().__init__(name)
        self.virtual = clock is not None
        self.now: Callable[[], float] = clock or time.monotonic
        self._timers: TimerQueue[Callable[[], object]] = TimerQueue()

    def after(self, seconds: float, deed: Callable[..., object], *args: Any) -> TimerHandle:
        """Do `deed(*args)` in the thread of the loop, *seconds* from now; from any thread.

        A moment that has passed already is now.

        Raises:
            NodeStopped: The node does not run.
            SpecError: *seconds* is no number.
        """
        checks.number("seconds", seconds)
        handle = TimerHandle(self, self.now() + max(0.0, seconds))
        ring = partial(deed, *args) if args else deed
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
        try:
            while (deed := timers.pop_due(now)) is not None:
                try:
                    deed()
                except Exception:  # noqa: BLE001  # one deed that fails must not keep the others from being done
                    _log.exception("a timer of %s failed", self.name)
        finally:
            self._set_alarm()

    def next_due(self) -> float | None:
        """The moment of the next timer."""
        return self._timers.next_due()
