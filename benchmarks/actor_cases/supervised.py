"""How long a killed child is away, and what is left of 100,000 actors once they are gone."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import statistics
import sys
import time
from typing import Any, ClassVar

from actor_cases.measure import Watch, resident
from supervisors import DynamicSupervisor, GenServer, Node, Ref, Supervisor, exit, stop

NO_LIMIT: dict[str, Any] = {"max_restarts": 1_000_000_000, "max_seconds": 1.0}


class Child(GenServer):
    """Says when it is up, as the last thing of its init."""

    born: ClassVar[list[tuple[float, Ref]]] = []

    def init(self, number: int) -> None:
        """Note the time."""
        self.number = number
        self.born.append((time.perf_counter(), self.ref))


async def restart(
    n: int, children: int, *, dynamic: bool, logged: bool = False
) -> dict[str, float]:
    """Kill one of *children* children, *n* times: the median microseconds until its next init."""
    Child.born.clear()
    if logged:
        logging.disable(logging.NOTSET)
        log = logging.getLogger("supervisors")
        log.addHandler(logging.NullHandler())
        log.propagate = False
    async with Node():
        if dynamic:
            supervisor: Any = await DynamicSupervisor.start_link(**NO_LIMIT)
            for i in range(children):
                await supervisor.start_child(Child.child_spec(i))
        else:
            specs = [Child.child_spec(i, id=i) for i in range(children)]
            supervisor = await Supervisor.start_link(specs, **NO_LIMIT)
        refs = [ref for _, ref in Child.born]
        gc.collect()
        seconds = [await _kill(refs, random.randrange(children)) for _ in range(n)]
        await stop(supervisor)
    kind = "dynamic" if dynamic else "one_for_one"
    suffix = "_logged" if logged else ""
    return {f"{kind}_{children}{suffix}": statistics.median(seconds) * 1e6}


async def _kill(refs: list[Ref], index: int) -> float:
    born = Child.born
    born.clear()
    began = time.perf_counter()
    exit(refs[index], "kill")
    while not born:  # noqa: ASYNC110  # an event would have to come from the child's init
        await asyncio.sleep(0)
    up, refs[index] = born[0]
    return up - began


class Idle(GenServer):
    """Does nothing."""


async def churn(n: int) -> dict[str, float]:
    """Start and stop *n* actors twice in one process: what is in memory while they run, and after.

    After is counted in blocks of Python's allocator: what the process keeps resident then says
    more about fragments than about leaks.
    """
    found: dict[str, float] = {}
    async with Node() as node:
        await _cycle(n // 100)
        for number in (1, 2):
            starts, stops, alive = await _cycle(n)
            gc.collect()
            found |= {
                f"start_{number}": n / starts,
                f"stop_{number}": n / stops,
                f"alive_{number}": alive,
                f"blocks_{number}": sys.getallocatedblocks(),
            }
        found["left"] = len(node.processes) - 1  # the one is this task
    found["blocks_growth"] = found["blocks_2"] - found["blocks_1"]
    return found


async def _cycle(n: int) -> tuple[float, float, int]:
    supervisor = await DynamicSupervisor.start_link(template=Idle.child_spec())
    with Watch() as starts:
        for _ in range(n):
            await supervisor.start_child()
    alive = resident()
    with Watch() as stops:
        await stop(supervisor)
    return starts.seconds, stops.seconds, alive
