"""What our actors on an event loop do."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from actor_cases.measure import Heap, Watch, run_on
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
        actor = Echo.start()
        with Watch() as flood:
            for i in range(n):
                actor.tell(i)
            await actor.ask(0, block=False)
        with Watch() as bursts:
            for _ in range(n // 100):
                for i in range(100):
                    actor.tell(i)
                await asyncio.sleep(0)
            await actor.ask(0, block=False)
        many = [Echo.start() for _ in range(1_000)]
        await many[-1].ask(0, block=False)
        with Watch() as spread:
            for i in range(n // 1_000):
                for each in many:
                    each.tell(i)
                await asyncio.sleep(0)
            await many[-1].ask(0, block=False)
    return {"tell": flood.rate(n), "tell_bursts": bursts.rate(n), "tell_spread": spread.rate(n)}


async def ask(n: int) -> dict[str, float]:
    async with Node():
        actor = Echo.start()
        with Watch() as plain:
            for i in range(n):
                await actor.ask(i, block=False)
        with Watch() as scoped:
            for i in range(n):
                async with asyncio.timeout(5.0):
                    await actor.ask(i, block=False)
        server = await Server.start_link()
        with Watch() as timed:
            for i in range(n):
                await server.call(i, 5.0)
        with Watch() as forever:
            for i in range(n):
                await server.call(i, None)
    return {
        "ask": plain.rate(n),
        "ask_scope": scoped.rate(n),
        "call": timed.rate(n),
        "call_forever": forever.rate(n),
    }


def thread(n: int, loop: str) -> dict[str, float]:
    started: list[ActorRef[Any]] = []
    up, over = threading.Event(), threading.Event()

    async def serve() -> dict[str, float]:
        async with Node():
            started.append(Echo.start())
            up.set()
            await asyncio.to_thread(over.wait)
        return {}

    server = threading.Thread(target=run_on, args=(loop, serve()))
    server.start()
    up.wait()
    actor = started[0]
    with Watch() as tells:
        for i in range(n):
            actor.tell(i)
        actor.ask(0)
    asks_n = n // 10
    with Watch() as asks:
        for i in range(asks_n):
            actor.ask(i)
    over.set()
    server.join()
    return {"thread_tell": tells.rate(n), "thread_ask": asks.rate(asks_n)}


async def spawn(n: int) -> dict[str, float]:
    async with Node():
        with Watch() as starts:
            actors = [Echo.start() for _ in range(n)]
            await actors[-1].ask(0, block=False)
        with Watch() as links:
            kept = [await Server.start_link() for _ in range(n)]
        with Watch() as functions:
            last = [spawn_function(int) for _ in range(n)][-1]
            await when_down(last)
        supervisor = await DynamicSupervisor.start_link(template=Server.child_spec())
        with Watch() as children:
            for _ in range(n):
                await supervisor.start_child()
        del kept
    return {
        "spawn": starts.rate(n),
        "start_link": links.rate(n),
        "spawn_function": functions.rate(n),
        "start_child": children.rate(n),
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
