"""What each client is made to do, and what of it is measured; each in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stdio_cases import clients
from stdio_cases.clients import Connection

LARGE = 16 * 1024 * 1024 - 4096
SYSTEMS: dict[str, Callable[[], Any]] = {
    "sdk": clients.official,
    "pipe": clients.pipe,
    "ours asyncio": clients.ours,
    "ours uvloop": clients.ours,
    "ours, other thread": clients.ours,
}
"""The last has its node on a thread of its own, as a program has that makes no node."""

Figures = dict[str, float]


def cpu() -> float:
    """Seconds of processor time this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def calls(connection: Connection, name: str, callers: int, seconds: float) -> Figures:
    """Small calls for some *seconds* from so many *callers* at a time."""
    made, stop = 0, False

    async def caller() -> None:
        nonlocal made
        while not stop:
            await connection.call("echo", {"text": "hello"})
            made += 1

    running = [asyncio.create_task(caller()) for _ in range(callers)]
    await asyncio.sleep(0.2)
    before, used, began = made, cpu(), time.perf_counter()
    await asyncio.sleep(seconds)
    number, took = made - before, time.perf_counter() - began
    used = cpu() - used
    stop = True
    await asyncio.gather(*running)
    return {name: number / took, f"{name}_cpu": used / number * 1e6}


async def large(connection: Connection, times: int) -> Figures:
    """An answer of 16 MiB, some *times*."""
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        assert await connection.call("blob", {"size": LARGE}) == LARGE
        took.append(time.perf_counter() - began)
    return {"large": statistics.median(took) * 1e3}


async def servers(system: str, number: int) -> Figures:
    """So many servers at a time: started, called once each, closed; and what is left of it."""
    before = _left()
    began = time.perf_counter()
    async with contextlib.AsyncExitStack() as stack:
        opened = [stack.enter_async_context(SYSTEMS[system]()) for _ in range(number)]
        if system == "sdk":  # its scopes must be left in the order they were entered
            connections = [await one for one in opened]
        else:
            connections = await asyncio.gather(*opened)
        started = time.perf_counter()
        await asyncio.gather(*[one.call("echo", {"text": "hello"}) for one in connections])
        called = time.perf_counter()
        await asyncio.gather(*[one.close() for one in connections])
    closed = time.perf_counter()
    deadline = closed + 5.0
    while (left := _left() - before) > 0 and time.perf_counter() < deadline:  # noqa: ASYNC110  # none tells
        await asyncio.sleep(0.01)
    return {
        "servers_start": (started - began) / number * 1e3,
        "servers_close": (closed - called) / number * 1e3,
        "servers_left": left,
    }


def _left() -> int:
    """Descriptors, threads and child processes of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    descriptors = Path("/proc/self/fd")
    return (
        (len(list(descriptors.iterdir())) if descriptors.exists() else 0)
        + threading.active_count()
        + sum(len(one.read_text().split()) for one in children.parents[1].glob("*/children"))
    )


async def measure(work: str, system: str, *, quick: bool) -> Figures:
    """Do one kind of work with one client."""
    async with contextlib.AsyncExitStack() as stack:
        if system in ("ours asyncio", "ours uvloop"):
            from supervisors import Node  # noqa: PLC0415  # others need none

            await stack.enter_async_context(Node())
        if work == "servers":
            # One before the count: what is there once for the program is not of these.
            async with SYSTEMS[system]() as first:
                await first.call("echo", {"text": "hello"})
            return await servers(system, 20 if quick else 100)
        connection = await stack.enter_async_context(SYSTEMS[system]())
        if work == "large":
            return await large(connection, {"sdk": 1, "pipe": 2}.get(system, 2 if quick else 5))
        callers = 1 if work == "sequential" else 64
        return await calls(connection, work, callers, 0.5 if quick else 2.0)
