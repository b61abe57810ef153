"""The event loops a node can run on, and how each is begun."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from supervisors.runtime.asyncio_loop import AsyncioLoop
from supervisors.runtime.loop import Loop
from supervisors.runtime.trio_loop import TrioLoop

Backend = Literal["asyncio", "trio"]


def run_loop(main: Callable[[], Awaitable[None]], backend: Backend) -> None:
    """Run *main* in a loop of its own, which is uvloop's where that is installed."""
    import anyio  # noqa: PLC0415  # costs 30 ms; a program that embeds its node has it anyway

    options: dict[str, Any] = {}
    if backend == "asyncio" and (factory := _uvloop_factory()) is not None:
        options["loop_factory"] = factory
    anyio.run(main, backend=backend, backend_options=options)


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
