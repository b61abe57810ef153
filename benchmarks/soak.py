"""Breaks a tree of 1,000 actors at random for minutes, and checks that nothing is ever lost.

    python benchmarks/soak.py                        10 minutes
    python benchmarks/soak.py --minutes 1 --seed 7   shorter, with other dice

Crashes, kills, exits, stops, suspends and restarts, while tasks and threads call, ask, monitor and
link. Every request has to be answered or to fail, every monitor and link to tell once, names and
registries to be right, nothing to be left running, memory not to grow. Exits with 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import contextvars
import logging
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

sys.path.append(sys.path.pop(0))  # last: `http` beside this file is not Python's

from soak_parts.callers import Caller, ask_in_task, ask_in_thread
from soak_parts.checks import Checks
from soak_parts.ledger import Gate, Ledger
from soak_parts.leftovers import left_since, running
from soak_parts.summary import show, summary
from soak_parts.tree import NO_LIMIT, Field
from soak_parts.trouble import Trouble, break_in_task, break_in_thread
from soak_parts.watchers import Watcher, watch_in_task, watch_in_thread

from supervisors import (
    NORMAL,
    Node,
    Report,
    Supervisor,
    SupervisorReport,
    spawn,
    stop,
    subscribe_reports,
    when_down,
)

REGIONS = 4
PATIENCE = 20.0
"""Seconds after which one who waits is taken to wait for ever."""


class Soak:
    """One run: who takes part, and how it ends."""

    def __init__(self, node: Node, ledger: Ledger, seed: int) -> None:
        self.ledger = ledger
        self.gate = Gate()
        self.field = Field(REGIONS, seed)
        self.checks = Checks(self.field, ledger, node, seed)
        self._node = node
        self._specs = self.field.specs()
        self._seeds: Iterator[int] = iter(random.Random(seed).sample(range(1_000_000), 100))
        self._threads: list[threading.Thread] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._spawned: list[Any] = []
        self._desks: list[Any] = []
        self._watchers: list[Watcher] = []

    async def run(self, minutes: float) -> None:
        """Break and check for so long, then take it all down."""
        top = await Supervisor.start_unlinked(self._specs, name="soak", **NO_LIMIT)
        self._employ(4, self._caller, ask_in_task, ask_in_task, ask_in_thread)
        self._employ(2, self._watcher, watch_in_task, watch_in_task, watch_in_thread)
        self._employ(2, self._trouble, break_in_task, None, break_in_thread)
        until = time.monotonic() + minutes * 60
        pause = min(10.0, max(2.0, minutes * 60 / 24))
        while time.monotonic() < until:
            await asyncio.sleep(pause)
            self.gate.is_open = False
            await asyncio.sleep(0.5)
            self._see_who_is_stuck()
            await self.checks.run()
            self.gate.is_open = True
            show(self.ledger)
        self.gate.is_open = False
        self.gate.is_over = True
        await self._take_down(top)
        self.checks.check_memory()

    # ---- who takes part

    def _caller(self, name: str) -> Caller:
        caller = Caller(self.field, self.ledger, self.gate, name, next(self._seeds))
        self._desks.append(caller.desk)
        return caller

    def _watcher(self, name: str) -> Watcher:
        watcher = Watcher(self.field, self.ledger, self.gate, name, next(self._seeds))
        self._watchers.append(watcher)
        return watcher

    def _trouble(self, name: str) -> Trouble:
        trouble = Trouble(self.field, self.ledger, self.gate, name, next(self._seeds))
        self._desks.append(trouble.desk)
        return trouble

    def _employ(
        self, n: int, make: Callable[[str], Any], here: Any, there: Any, thread: Any
    ) -> None:
        """Let *n* of each work in tasks of the node, in tasks of this loop, and in threads."""
        rest = (0.005,) if make == self._trouble else ()
        for i in range(n):
            what = f"{make.__name__.strip('_')} {i}"
            ref = spawn(here, make(f"{what} on the node"), *rest, trap_exit=True, node=self._node)
            self._spawned.append(when_down(ref))
            if there is not None:
                task = asyncio.create_task(there(make(f"{what} on another loop"), *rest))
                self._tasks.append(task)
            # A thread knows the node entered here only if it runs in a copy of this context.
            args = (thread, make(f"{what} in a thread"), *rest)
            run = contextvars.copy_context().run
            self._threads.append(threading.Thread(target=run, args=args, name=what, daemon=True))
            self._threads[-1].start()

    def _see_who_is_stuck(self) -> None:
        for desk in self._desks:
            if (text := desk.stuck(PATIENCE)) is not None:
                self.ledger.violation("lost", text)
                desk.begin("")

    # ---- the end

    async def _take_down(self, top: Any) -> None:
        await asyncio.sleep(1.0)
        try:
            async with asyncio.timeout(60.0):
                await stop(top)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
            self.ledger.violation("does not stop", repr(error))
        for watcher in self._watchers:
            watcher.until = time.monotonic() + 2.0
        done, stuck = await asyncio.wait(self._tasks, timeout=PATIENCE)
        for task in (*done, *stuck):
            if task in stuck or task.exception() is not None:
                self.ledger.violation("lost", repr(task))
        for down in self._spawned:
            try:
                async with asyncio.timeout(PATIENCE):
                    reason: Any = await down
            except TimeoutError:
                reason = "it goes on"
            if reason != NORMAL:
                self.ledger.violation("lost", f"a task on the node: {reason}")
        for thread in self._threads:
            await asyncio.to_thread(thread.join, PATIENCE)
            if thread.is_alive():
                self.ledger.violation("lost", f"the thread {thread.name} goes on")
        self._see_who_is_stuck()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("--verbose", action="store_true", help="print all counts")
    options = parser.parse_args()
    said = f"{options.minutes:g} minutes on {options.backend}, seed {options.seed}"
    logging.disable(logging.CRITICAL)
    ledger = Ledger()

    def count(report: Report) -> None:
        context = f" {report.context}" if isinstance(report, SupervisorReport) else ""
        ledger.count(f"report: {report.event}{context}")

    unsubscribe = subscribe_reports(count)
    with Node(backend=options.backend):
        pass  # what a first loop opens for the whole program, as libuv's pipe, is no leftover
    before = running()
    with Node("soak", backend=options.backend) as node:
        soak = Soak(node, ledger, options.seed)
        asyncio.run(soak.run(options.minutes))
        names = [name for name, process in node.names.items()]
        if names:
            ledger.violation("left", f"names: {names[:10]}")
    unsubscribe()
    for text in left_since(before):
        ledger.violation("left", text)
    sys.exit(summary(ledger, soak.checks, said, verbose=options.verbose))


if __name__ == "__main__":
    main()
