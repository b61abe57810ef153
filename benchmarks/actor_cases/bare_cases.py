"""What the bare mailbox does."""

from __future__ import annotations

import asyncio
from typing import Any

from actor_cases.bare import BareActor, LoopThread
from actor_cases.measure import Heap, loop_rate, rate


async def tell(n: int) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    actor, many = BareActor(loop), [BareActor(loop) for _ in range(1_000)]

    async def flood() -> None:
        for i in range(n):
            actor.tell(i)
        await actor.ask(0)

    async def bursts() -> None:
        for _ in range(n // 100):
            for i in range(100):
                actor.tell(i)
            await asyncio.sleep(0)
        await actor.ask(0)

    async def spread() -> None:
        for i in range(n // 1_000):
            for each in many:
                each.tell(i)
            await asyncio.sleep(0)
        await many[-1].ask(0)

    return {
        "tell": await loop_rate(n, flood),
        "tell_bursts": await loop_rate(n, bursts),
        "tell_spread": await loop_rate(n, spread),
    }


async def ask(n: int) -> dict[str, float]:
    actor = BareActor(asyncio.get_running_loop())

    async def plain() -> None:
        for i in range(n):
            await actor.ask(i)

    async def scoped() -> None:
        for i in range(n):
            async with asyncio.timeout(5.0):
                await actor.ask(i)

    async def timed() -> None:
        for i in range(n):
            await actor.ask_within(i, 5.0)

    ask_rate = await loop_rate(n, plain)
    return {
        "ask": ask_rate,
        "ask_scope": await loop_rate(n, scoped),
        "call": await loop_rate(n, timed),
        "call_forever": ask_rate,
    }


def thread(n: int, loop: str) -> dict[str, float]:
    asks = n // 20
    with LoopThread(loop) as actor:

        def tell_all() -> None:
            for i in range(n):
                actor.tell_from_thread(i)
            actor.ask_from_thread(0).result()

        def ask_all() -> None:
            for i in range(asks):
                actor.ask_from_thread(i).result()

        return {"thread_tell": rate(n, tell_all), "thread_ask": rate(asks, ask_all)}


async def spawn(n: int) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    kept: list[BareActor] = []

    async def start_all() -> None:
        for _ in range(n):
            actor = BareActor(loop)
            actor.tell(None)
            kept.append(actor)
        await kept[-1].ask(0)

    return {"spawn": await loop_rate(n, start_all)}


async def memory(n: int, *, traced: bool) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    kept: list[Any] = [None] * n
    with Heap(traced=traced) as heap:
        for i in range(n):
            kept[i] = BareActor(loop)
            kept[i].tell(None)
        await kept[-1].ask(0)
    return {"heap" if traced else "rss": heap.added / n}
