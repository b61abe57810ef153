"""When a file descriptor can be read or written, on the loop of a node.

Callbacks run in the thread of the loop and must not raise. Not for Windows, where no loop watches
pipes.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

from supervisors import Node


class Watch:
    """A callback that is called whenever a descriptor is ready, until stopped."""

    __slots__ = ("_stop", "ends_at_error")

    def __init__(self, stop: Callable[[], object], *, ends_at_error: bool = False) -> None:
        self._stop: Callable[[], object] | None = stop
        self.ends_at_error = ends_at_error
        """Whether an error of the descriptor is the last thing that is told, as on uvloop."""

    def stop(self) -> None:
        """Call no more; harmless when repeated. To be done before the descriptor is closed."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()


def watch_readable(node: Node, fd: int, callback: Callable[[], object]) -> Watch:
    """Call *callback* whenever *fd* can be read, or is at its end."""
    if node.loop.backend == "asyncio":
        loop = asyncio.get_running_loop()
        # In a context of its own: the one that is current belongs to whoever caused this.
        contextvars.Context().run(loop.add_reader, fd, callback)
        is_uvloop = type(loop).__module__.startswith("uvloop")
        return Watch(lambda: loop.remove_reader(fd), ends_at_error=is_uvloop)
    import trio  # noqa: PLC0415  # an optional dependency

    return _watch_on_trio(node, trio.lowlevel.wait_readable, fd, callback)


def watch_writable(node: Node, fd: int, callback: Callable[[], object]) -> Watch:
    """Call *callback* whenever *fd* can be written, or its reader is gone."""
    if node.loop.backend == "asyncio":
        loop = asyncio.get_running_loop()
        contextvars.Context().run(loop.add_writer, fd, callback)
        return Watch(lambda: loop.remove_writer(fd))
    import trio  # noqa: PLC0415  # an optional dependency

    return _watch_on_trio(node, trio.lowlevel.wait_writable, fd, callback)


def _watch_on_trio(
    node: Node, ready: Callable[[int], Awaitable[Any]], fd: int, callback: Callable[[], object]
) -> Watch:
    import trio  # noqa: PLC0415  # an optional dependency

    watching = True

    async def run() -> None:
        while watching:
            try:
                await ready(fd)
            except trio.ClosedResourceError:
                continue  # told so by stop(), of this watch or of the other one of a socket
            if watching:
                callback()

    node.spawn_task(run(), f"descriptor {fd}")

    def stop() -> None:
        nonlocal watching
        watching = False
        # Not cancelled: that takes a turn, in which the number may belong to another pipe already.
        trio.lowlevel.notify_closing(fd)

    return Watch(stop)
