"""Many clients of one server, and many open streams of one client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from http_cases.clients import Connection, System
from http_cases.gauges import cpu, memory
from http_cases.raw import RawClient

AT_A_TIME = 32
"""How many are opened or closed at the same time."""
PATIENCE = 25.0
"""Seconds in which as many are opened as can be."""
EACH = 20
"""Events of each stream."""
RATE = 1000.0
"""Events a second, of all streams, where their delay is measured."""


async def at_a_time(number: int, deed: Callable[[int], Awaitable[object]], until: float) -> None:
    """Do something so many times, but begin none after the time *until*."""
    numbers = iter(range(number))

    async def worker() -> None:
        for i in numbers:
            if time.perf_counter() > until:
                return
            await deed(i)

    await asyncio.gather(*[worker() for _ in range(min(AT_A_TIME, number))])


async def clients(system: System, url: str, number: int) -> dict[str, float]:
    """So many clients: opened, called once each, closed."""
    first = await system.open(url, pool=1, streams=0)  # what is there once is not of these
    await first.call("echo", {"text": "hello"})
    opened: list[Connection] = []

    async def open_one(_i: int) -> None:
        connection = await system.open(url, pool=1, streams=0)
        await connection.call("echo", {"text": "hello"})
        opened.append(connection)

    before, began = memory(), time.perf_counter()
    await at_a_time(number, open_one, began + PATIENCE)
    took = time.perf_counter() - began
    grown = memory() - before
    closing = time.perf_counter()
    count = len(opened)
    await at_a_time(count, lambda i: opened[i].close(), float("inf"))
    closed = time.perf_counter() - closing
    await first.close()
    return {
        "clients": count,
        "clients_kb": grown / count,
        "connects": count / took,
        "closes": count / closed,
    }


async def streams(system: System, url: str, number: int, seconds: float) -> dict[str, float]:
    """So many streams of one client: opened, a burst of events, then events at a fixed rate."""
    came: list[int] = []

    def tell(uri: Any) -> None:
        came.append(time.monotonic_ns() - int(str(uri).rpartition("-")[2]))

    connection = await system.open(url, pool=1, streams=number + 1)
    await connection.listen("test://e", tell)
    before, began = memory(), time.perf_counter()
    opened = 0

    async def open_one(_i: int) -> None:
        nonlocal opened
        await connection.listen("test://e", tell)
        opened += 1

    await at_a_time(number, open_one, began + PATIENCE)
    took = time.perf_counter() - began
    grown = memory() - before
    control = RawClient(url, 1)  # not by what is measured
    expected = await emit(control, 1, 0)
    lost = expected - await arrived(came, expected)  # all of them have had one
    used, began = cpu(), time.perf_counter()
    expected = await emit(control, EACH, 0)
    number_came = await arrived(came, expected)
    lost += expected - number_came
    burst, used = time.perf_counter() - began, cpu() - used
    each = max(1, int(RATE * seconds / (opened + 1)))
    expected = await emit(control, each, RATE)
    delays: list[int] = []
    lost += expected - await arrived(came, expected, delays)
    delays.sort()
    control.close()
    await connection.close()
    return {
        "streams": opened,
        "streams_kb": grown / opened,
        "stream_opens": opened / took,
        "stream_events": number_came / burst,
        "stream_events_cpu": used / number_came * 1e6,
        "events_lost": lost,
        "delay_p50": delays[len(delays) // 2] / 1e6,
        "delay_p99": delays[len(delays) * 99 // 100] / 1e6,
    }


async def emit(control: RawClient, each: int, rate: float) -> int:
    """Let the server send events; how many come."""
    params = {"name": "emit", "arguments": {"each": each, "rate": rate}}
    return each * (await control.ask("tools/call", params, "emit"))["streams"]


async def arrived(came: list[int], expected: int, keep: list[int] | None = None) -> int:
    """Wait for so many events, but not for ever; how many came."""
    last, since = -1, time.perf_counter()
    while len(came) < expected and time.perf_counter() - since < 5.0:
        if len(came) != last:
            last, since = len(came), time.perf_counter()
        await asyncio.sleep(0.002)
    count = len(came)
    if keep is not None:
        keep.extend(came)
    came.clear()
    return count
