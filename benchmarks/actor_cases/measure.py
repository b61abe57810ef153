"""Clocks, memory and loops for a case; knows nothing of actors."""

from __future__ import annotations

import asyncio
import gc
import logging
import statistics
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Self

PAGE = 4096
STATM = Path("/proc/self/statm")


class Watch:
    """The seconds a `with` block took, started on a clean heap."""

    seconds = 0.0

    def __enter__(self) -> Self:
        gc.collect()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began


TIMES = 3
"""How often a part is timed in one process; the median counts."""


def rate(n: int, part: Callable[[], object]) -> float:
    """How many per second *part* does, which does *n*."""
    seconds: list[float] = []
    for _ in range(TIMES):
        with Watch() as watch:
            part()
        seconds.append(watch.seconds)
    return n / statistics.median(seconds)


async def loop_rate(n: int, part: Callable[[], Awaitable[object]]) -> float:
    """As `rate`, within the loop."""
    seconds: list[float] = []
    for _ in range(TIMES):
        with Watch() as watch:
            await part()
        seconds.append(watch.seconds)
    return n / statistics.median(seconds)


def resident() -> int:
    """Bytes of this process in memory, garbage aside; 0 where the system does not say."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * PAGE if STATM.exists() else 0


class Heap:
    """Bytes that a `with` block added: to the process, or as Python's allocator sees them."""

    added = 0

    def __init__(self, *, traced: bool) -> None:
        self._traced = traced

    def __enter__(self) -> Self:
        if self._traced:
            tracemalloc.start()
        self._before = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self.added = self._now() - self._before
        if self._traced:
            tracemalloc.stop()

    def _now(self) -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] if self._traced else resident()


def run_on(loop: str, main: Coroutine[Any, Any, dict[str, float]]) -> dict[str, float]:
    """Run *main* on a fresh loop of that kind, with the log off."""
    logging.disable(logging.CRITICAL)
    factory = None
    if loop == "uvloop":
        import uvloop  # noqa: PLC0415  # it may not be installed

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
