"""What each client is made to do, and what of it is measured; each in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from http_cases import crowds
from http_cases.clients import (
    AiohttpSystem,
    Connection,
    OfficialSystem,
    OurSystem,
    RawSystem,
    System,
)
from http_cases.gauges import cpu
from http_cases.sizes import LARGE, TOOLS, Size

SERVER = [sys.executable, str(Path(__file__).with_name("server.py"))]
SYSTEMS: dict[str, Callable[[], System]] = {
    "sdk": OfficialSystem,
    "aiohttp": AiohttpSystem,
    "raw": RawSystem,
    "ours": OurSystem,
    "ours, other loop": lambda: OurSystem(is_elsewhere=True),
    "ours, threads": lambda: OurSystem(is_elsewhere=True),
}
"""With ` uvloop` behind the name they run on that. The last two have their node on a thread of its
own, as a program has that makes no node, and are called from another loop, or from threads.
"""

Figures = dict[str, float]
CALLERS, CONNECTIONS = 64, 16


async def calls(connection: Connection, work: str, callers: int, seconds: float) -> Figures:
    """Small calls for some *seconds* from so many *callers* at a time."""
    arguments: dict[str, Any] = {"text": "hello"}
    if work == "events":
        arguments["sse"] = True
    made, stop = 0, False

    async def caller() -> None:
        nonlocal made
        while not stop:
            assert await connection.call("echo", arguments) == len("hello")
            made += 1

    running = [asyncio.create_task(caller()) for _ in range(callers)]
    await asyncio.sleep(0.4)
    before, used, began = made, cpu(), time.perf_counter()
    await asyncio.sleep(seconds)
    number, took, used = made - before, time.perf_counter() - began, cpu() - used
    stop = True
    await asyncio.gather(*running)
    return {work: number / took, f"{work}_cpu": used / number * 1e6}


async def calls_of_threads(client: Any, work: str, callers: int, seconds: float) -> Figures:
    """The same from threads, which wait for each answer."""
    made, stop = [0] * callers, threading.Event()

    def caller(i: int) -> None:
        while not stop.is_set():
            result = client.call_tool("echo", {"text": "hello"}).get(timeout=30.0)
            assert result["content"][0]["text"] == "hello"
            made[i] += 1

    threads = [threading.Thread(target=caller, args=(i,)) for i in range(callers)]
    for thread in threads:
        thread.start()
    await asyncio.sleep(0.4)
    before, used, began = sum(made), cpu(), time.perf_counter()
    await asyncio.sleep(seconds)
    number, took, used = sum(made) - before, time.perf_counter() - began, cpu() - used
    stop.set()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    return {work: number / took, f"{work}_cpu": used / number * 1e6}


async def repeated(name: str, deed: Callable[[], Any], times: int) -> Figures:
    """How long something takes, in milliseconds: the middle of some *times*, after a first."""
    await deed()
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        await deed()
        took.append(time.perf_counter() - began)
    return {name: statistics.median(took) * 1e3}


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[str]:
    """A server; its URL."""
    with subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220  # what it costs is not measured
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.stdin.close()


async def measure(work: str, name: str, size: Size) -> Figures:
    """Do one kind of work with one client."""
    system = SYSTEMS[name.removesuffix(" uvloop")]()
    async with served() as url:
        try:
            if work == "clients":
                return await crowds.clients(system, url, size.clients)
            if work == "streams":
                return await crowds.streams(system, url, size.streams, size.seconds)
            path = f"/{TOOLS}" if work == "tools" else ""
            connection = await system.open(url + path, pool=CONNECTIONS, streams=0)
            try:
                return await _with_one(work, name, connection, size)
            finally:
                await connection.close()
        finally:
            await system.close()


async def _with_one(work: str, name: str, connection: Any, size: Size) -> Figures:
    times = 1 if name == "sdk" else size.times

    async def large() -> None:
        assert await connection.call("blob", {"size": LARGE}) == LARGE

    async def tools() -> None:
        assert await connection.tools() == TOOLS

    if work == "large":
        return await repeated("large", large, times)
    if work == "tools":
        return await repeated("tools", tools, times)
    if name == "ours, threads":
        return await calls_of_threads(connection.client, work, CALLERS, size.seconds)
    callers = 1 if work == "sequential" else CALLERS
    return await calls(connection, work, callers, size.seconds)


def print_measured(work: str, name: str, size: Size) -> None:
    """Measure in this process, and print what came of it as JSON."""
    factory = None
    if name.endswith(" uvloop"):
        import uvloop  # noqa: PLC0415  # it may not be installed

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        print(json.dumps(runner.run(measure(work, name, size))))
