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

import anyio.to_thread

from supervisors import Down, ExitReason, Monitor, Node, Ref, self_, spawn_monitor


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

    def __init__(self, node: Node, functions: dict[Any, Callable[[Any], Any]]) -> None:
        self._node = node
        self._functions = functions
        self._running: dict[int, tuple[Ref, Monitor]] = {}

    def run(self, key: int, kind: str, params: Any) -> None:
        """Run the handler for *kind*; `Returned` or `Raised` comes, or a `Down` if it is killed."""
        function = self._functions[kind]
        self._running[key] = spawn_monitor(_run, self_(), key, function, params, node=self._node)

    def ended(self, down: Down) -> tuple[int, ExitReason] | None:
        """Which request a `Down` is about, and why its handler ended, if it was one of these."""
        for key, (_, watch) in self._running.items():
            if watch is down.monitor:
                del self._running[key]
                return key, down.reason
        return None

    def stop(self, keys: list[int]) -> None:
        """Kill the handlers of these requests."""
        from supervisors import exit as send_exit  # noqa: PLC0415  # the name is a builtin's

        for key in keys:
            running = self._running.get(key)
            if running is not None:
                send_exit(running[0], "kill")


async def _run(port: Ref, key: int, function: Callable[[Any], Any], params: Any) -> None:
    try:
        if inspect.iscoroutinefunction(function):
            value = await function(params)
        else:
            value = await anyio.to_thread.run_sync(
                functools.partial(function, params), abandon_on_cancel=True
            )
            if inspect.isawaitable(value):
                value = await value
    except Exception as error:  # noqa: BLE001  # the edge of the user's code: the server is told
        port.send(Raised(key, str(error) or type(error).__name__))
    else:
        port.send(Returned(key, value))
