"""What the bare mailbox does."""

from __future__ import annotations

import asyncio
from typing import Any

from actor_cases.bare import BareActor, LoopThread
from actor_cases.measure import Heap, Watch


async def tell(n: int) -> dict[str, float]:
    actor = BareActor(asyncio.get_running_loop())
    with Watch() as flood:
        for i in range(n):
            actor.tell(i)
        await actor.ask(0)
    with Watch() as bursts:
        for _ in range(n // 100):
            for i in range(100):
                actor.tell(i)
            await asyncio.sleep(0)
        await actor.ask(0)
    many = [BareActor(asyncio.get_running_loop()) for _ in range(1_000)]
    with Watch() as spread:
        for i in range(n // 1_000):
            for each in many:
                each.tell(i)
            await asyncio.sleep(0)
        await many[-1].ask(0)
    return {"tell": flood.rate(n), "tell_bursts": bursts.rate(n), "tell_spread": spread.rate(n)}


async def ask(n: int) -> dict[str, float]:
    actor = BareActor(asyncio.get_running_loop())
    with Watch() as plain:
        for i in range(n):
            await actor.ask(i)
    with Watch() as scoped:
        for i in range(n):
            async with asyncio.timeout(5.0):
                await actor.ask(i)
    with Watch() as timed:
        for i in range(n):
            await actor.ask_within(i, 5.0)
    return {
        "ask": plain.rate(n),
        "ask_scope": scoped.rate(n),
        "call": timed.rate(n),
        "call_forever": plain.rate(n),
    }


def thread(n: int, loop: str) -> dict[str, float]:
    with LoopThread(loop) as actor:
        with Watch() as tells:
            for i in range(n):
                actor.tell_from_thread(i)
            actor.ask_from_thread(0).result()
        asks_n = n // 10
        with Watch() as asks:
            for i in range(asks_n):
                actor.ask_from_thread(i).result()
    return {"thread_tell": tells.rate(n), "thread_ask": asks.rate(asks_n)}


async def spawn(n: int) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    kept: list[BareActor] = []
    with Watch() as watch:
        for _ in range(n):
            actor = BareActor(loop)
            actor.tell(None)
            kept.append(actor)
        await kept[-1].ask(0)
    return {"spawn": watch.rate(n)}


async def memory(n: int, *, traced: bool) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    kept: list[Any] = [None] * n
    with Heap(traced=traced) as heap:
        for i in range(n):
            kept[i] = BareActor(loop)
            kept[i].tell(None)
        await kept[-1].ask(0)
    return {"heap" if traced else "rss": heap.added / n}
