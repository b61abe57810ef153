"""Watches that no handler holds a node's loop for longer than a limit, and names the one that does.

A thread that looks in now and then; it only reports.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from types import FrameType
from typing import TYPE_CHECKING

from supervisors.runtime.actor_process import ActorProcess
from supervisors.runtime.reports import report
from supervisors.runtime.tasks import SpawnedProcess
from supervisors.words.reports import BusyReport

if TYPE_CHECKING:
    from supervisors.runtime.node import Node
    from supervisors.runtime.ref import Ref


_RUNNING = frozenset((ActorProcess._drive.__code__, SpawnedProcess._main.__code__))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # how a process is known by its stack


class Watchdog:
    """The watch over one node."""

    def __init__(self, node: Node, limit: float) -> None:
        self._node = node
        self._limit = max(limit, 0.01)
        self._stop = threading.Event()
        self._answered = time.monotonic()
        self._asked = self._answered
        self._reported = False
        self._thread = threading.Thread(
            target=self._watch, name=f"supervisors watchdog {node.name}", daemon=True
        )

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._limit / 4):
            if self._answered >= self._asked:
                self._reported = False
                self._asked = time.monotonic()
                if not self._ask():
                    return
            elif not self._reported and time.monotonic() - self._asked > self._limit:
                self._reported = True
                self._report(time.monotonic() - self._asked)

    def _ask(self) -> bool:
        try:
            self._node.loop.soon_from_thread(self._answer)
        except RuntimeError:
            return False  # the node has stopped
        return True

    def _answer(self) -> None:
        self._answered = time.monotonic()

    def _report(self, seconds: float) -> None:
        node = self._node
        thread_id = node.thread_id
        frame = sys._current_frames().get(thread_id) if thread_id is not None else None  # noqa: SLF001  # the only way to see another thread's stack
        stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
        report(BusyReport(self._who(frame), node.name, seconds, stack))

    def _who(self, frame: FrameType | None) -> Ref | None:
        process = self._node.current
        while process is None and frame is not None:
            if frame.f_code in _RUNNING:
                process = frame.f_locals["self"]
            frame = frame.f_back
        return process.ref if process is not None else None
