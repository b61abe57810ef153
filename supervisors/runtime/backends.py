"""The event loops a node can run on, and how each is begun."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from supervisors.runtime.asyncio_loop import AsyncioLoop
from supervisors.runtime.loop import Loop
from supervisors.runtime.trio_loop import TrioLoop

Backend = Literal["asyncio", "trio"]

_ROUNDS, _ROUND = 5, 0.05
"""How often what still runs is cancelled before the loop is closed, and seconds between."""


def run_loop(main: Callable[[], Coroutine[Any, Any, None]], backend: Backend) -> None:
    """Run *main* in a loop of its own, which is uvloop's where that is installed."""
    if backend == "asyncio":
        _run_asyncio(main)
    else:
        import trio  # noqa: PLC0415  # an optional dependency

        trio.run(main)


def _run_asyncio(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """As `asyncio.run`, which would wait for ever for a task that swallows cancellation."""
    factory = _uvloop_factory()
    loop = factory() if factory is not None else asyncio.new_event_loop()
    try:
        loop.run_until_complete(main())
        loop.run_until_complete(_let_go(loop))
    finally:
        loop.close()


async def _let_go(loop: asyncio.AbstractEventLoop) -> None:
    me = asyncio.current_task()
    for _ in range(_ROUNDS):
        left = [task for task in asyncio.all_tasks() if task is not me]
        if not left:
            break
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=_ROUND)
    for task in asyncio.all_tasks():
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue]  # reported as abandoned already
    await loop.shutdown_asyncgens()


async def open_loop(backend: Backend) -> Loop:
    """What a node needs of the loop that runs here."""
    return await TrioLoop.open() if backend == "trio" else AsyncioLoop()


def _uvloop_factory() -> Any:
    if sys.platform == "win32":
        return None
    try:
        import uvloop  # noqa: PLC0415  # an optional dependency
    except ImportError:
        return None
    return uvloop.new_event_loop
