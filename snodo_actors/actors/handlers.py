"""Runs the user's input handlers for requests the server sends of its own accord.

There is no caller whose task or thread they could run in: a plain function gets a worker thread, so
that one that blocks holds nobody up, an async one a process of the node.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from supervisors import Down, ExitReason, Monitor, Node, Ref, self_, spawn_monitor
from supervisors import exit as send_exit


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler of the request *key* returned."""

    key: int
    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler of the request *key* raised."""

    key: int
    text: str


class Handlers:
    """The handlers that run for one connection."""

    def __init__(
        self, node: Node, functions: dict[Any, Callable[[Any], Any]], max_running: int
    ) -> None:
        self._node = node
        self._functions = functions
        self._threads = _Threads(max_running)
        self._running: dict[int, tuple[Ref, Monitor]] = {}

    def run(self, key: int, kind: str, params: Any) -> None:
        """Run the handler for *kind*; `Returned` or `Raised` comes, or a `Down` if it is killed."""
        function = self._functions[kind]
        self._running[key] = spawn_monitor(
            _run, self_(), key, function, params, self._threads, node=self._node
        )

    def ended(self, down: Down) -> tuple[int, ExitReason] | None:
        """Which request a `Down` is about, and why its handler ended, if it was one of these."""
        for key, (_, watch) in self._running.items():
            if watch is down.monitor:
                del self._running[key]
                return key, down.reason
        return None

    def stop(self, keys: list[int]) -> None:
        """Kill the handlers of these requests."""
        for key in keys:
            running = self._running.get(key)
            if running is not None:
                send_exit(running[0], "kill")


class _Threads:
    """Worker threads of one connection: those that block hold up no other connection."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limiter: Any = None

    async def run(self, function: Callable[[Any], Any], params: Any) -> Any:
        """Call *function* in a thread."""
        import anyio.to_thread  # noqa: PLC0415  # costs 30 ms; it is there once a loop runs

        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._most)
        return await anyio.to_thread.run_sync(
            functools.partial(function, params), abandon_on_cancel=True, limiter=self._limiter
        )


async def _run(
    port: Ref, key: int, function: Callable[[Any], Any], params: Any, threads: _Threads
) -> None:
    try:
        if inspect.iscoroutinefunction(function):
            value = await function(params)
        else:
            value = await threads.run(function, params)
            if inspect.isawaitable(value):
                value = await value
    except Exception as error:  # noqa: BLE001  # the edge of the user's code: the server is told
        port.send(Raised(key, str(error) or type(error).__name__))
    else:
        port.send(Returned(key, value))
