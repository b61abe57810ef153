"""When a file descriptor can be read or written, on the loop of a node.

Callbacks run in the thread of the loop and must not raise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from supervisors import Node


class Watch:
    """A callback that is called whenever a descriptor is ready, until stopped."""

    __slots__ = ("_stop",)

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop: Callable[[], object] | None = stop

    def stop(self) -> None:
        """Call no more; harmless when repeated. To be done before the descriptor is closed."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()


def watch_readable(node: Node, fd: int, callback: Callable[[], object]) -> Watch:
    """Call *callback* whenever *fd* can be read, or is at its end."""
    if node.loop.backend == "asyncio":
        loop = asyncio.get_running_loop()
        loop.add_reader(fd, callback)
        return Watch(lambda: loop.remove_reader(fd))
    import trio  # noqa: PLC0415  # an optional dependency

    return _watch_on_trio(node, lambda: trio.lowlevel.wait_readable(fd), fd, callback)


def watch_writable(node: Node, fd: int, callback: Callable[[], object]) -> Watch:
    """Call *callback* whenever *fd* can be written, or its reader is gone."""
    if node.loop.backend == "asyncio":
        loop = asyncio.get_running_loop()
        loop.add_writer(fd, callback)
        return Watch(lambda: loop.remove_writer(fd))
    import trio  # noqa: PLC0415  # an optional dependency

    return _watch_on_trio(node, lambda: trio.lowlevel.wait_writable(fd), fd, callback)


def _watch_on_trio(
    node: Node, ready: Callable[[], Awaitable[Any]], fd: int, callback: Callable[[], object]
) -> Watch:
    watching = True

    async def run() -> None:
        while watching:
            await ready()
            if watching:
                callback()

    task = node.spawn_task(run(), f"descriptor {fd}")

    def stop() -> None:
        nonlocal watching
        watching = False
        task.cancel()

    return Watch(stop)
