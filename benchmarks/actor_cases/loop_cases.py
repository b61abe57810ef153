"""What our actors on an event loop do."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from actor_cases.measure import Heap, loop_rate, rate, run_on
from supervisors import Actor, ActorRef, Caller, DynamicSupervisor, GenServer, Node, when_down
from supervisors import spawn as spawn_function


class Echo(Actor):
    """Returns what it gets, as an actor of pykka's."""

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


class Server(GenServer):
    """Returns what it gets, as a server of OTP's."""

    def handle_call(self, request: Any, caller: Caller) -> Any:
        """Answer."""
        return request


async def tell(n: int) -> dict[str, float]:
    async with Node():
        actor, many = Echo.start(), [Echo.start() for _ in range(1_000)]

        async def flood() -> None:
            for i in range(n):
                actor.tell(i)
            await actor.ask(0, block=False)

        async def bursts() -> None:
            for _ in range(n // 100):
                for i in range(100):
                    actor.tell(i)
                await asyncio.sleep(0)
            await actor.ask(0, block=False)

        async def spread() -> None:
            for i in range(n // 1_000):
                for each in many:
                    each.tell(i)
                await asyncio.sleep(0)
            await many[-1].ask(0, block=False)

        return {
            "tell": await loop_rate(n, flood),
            "tell_bursts": await loop_rate(n, bursts),
            "tell_spread": await loop_rate(n, spread),
        }


async def ask(n: int) -> dict[str, float]:
    async with Node():
        actor, server = Echo.start(), await Server.start_link()

        async def plain() -> None:
            for i in range(n):
                await actor.ask(i, block=False)

        async def scoped() -> None:
            for i in range(n):
                async with asyncio.timeout(5.0):
                    await actor.ask(i, block=False)

        async def timed() -> None:
            for i in range(n):
                await server.call(i, 5.0)

        async def forever() -> None:
            for i in range(n):
                await server.call(i, None)

        return {
            "ask": await loop_rate(n, plain),
            "ask_scope": await loop_rate(n, scoped),
            "call": await loop_rate(n, timed),
            "call_forever": await loop_rate(n, forever),
        }


def thread(n: int, loop: str) -> dict[str, float]:
    asks = n // 20
    with ServingThread(loop) as actor:

        def tell_all() -> None:
            for i in range(n):
                actor.tell(i)
            actor.ask(0)

        def ask_all() -> None:
            for i in range(asks):
                actor.ask(i)

        return {"thread_tell": rate(n, tell_all), "thread_ask": rate(asks, ask_all)}


class ServingThread:
    """A loop that runs in a thread of its own, with a node and one actor."""

    def __init__(self, loop: str) -> None:
        self._started: list[ActorRef[Any]] = []
        self._up, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: run_on(loop, self._serve()))

    def __enter__(self) -> ActorRef[Any]:
        self._thread.start()
        self._up.wait()
        return self._started[0]

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    async def _serve(self) -> dict[str, float]:
        async with Node():
            self._started.append(Echo.start())
            self._up.set()
            await asyncio.to_thread(self._over.wait)
        return {}


async def spawn(n: int) -> dict[str, float]:
    async with Node():
        supervisor = await DynamicSupervisor.start_link(template=Server.child_spec())

        async def start() -> None:
            actors = [Echo.start() for _ in range(n)]
            await actors[-1].ask(0, block=False)

        async def start_link() -> None:
            for _ in range(n):
                await Server.start_link()

        async def spawn_functions() -> None:
            last = [spawn_function(int) for _ in range(n)][-1]
            await when_down(last)

        async def start_children() -> None:
            for _ in range(n):
                await supervisor.start_child()

        return {
            "start_link": await loop_rate(n, start_link),
            "spawn_function": await loop_rate(n, spawn_functions),
            "start_child": await loop_rate(n, start_children),
            "spawn": await loop_rate(n, start),
        }


async def memory(n: int, *, traced: bool) -> dict[str, float]:
    name = "heap" if traced else "rss"
    kept: list[Any] = [None] * n
    async with Node():
        with Heap(traced=traced) as actors:
            for i in range(n):
                kept[i] = Echo.start()
            await kept[-1].ask(0, block=False)
        kept_too: list[Any] = [None] * n
        with Heap(traced=traced) as servers:
            for i in range(n):
                kept_too[i] = await Server.start_link()
        return {name: actors.added / n, f"{name}_server": servers.added / n}
