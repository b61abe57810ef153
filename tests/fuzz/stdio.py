"""A client among hostile servers: nothing breaks, nothing is left, and every call ends.

    python tests/fuzz/stdio.py                      a million messages, some minutes
    python tests/fuzz/stdio.py --messages 20000     a quick look
    python tests/fuzz/stdio.py --seed 7 --loop trio

Each server sends some ten thousand messages and goes; the next one comes. Ends with 1 if anything
was wrong, and says with which seed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import random
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio

import snodo_actors as snodo
import supervisors
from snodo_actors.wire.framing import Framer

HOSTILE = str(Path(__file__).with_name("hostile.py"))
LINE_LIMIT = 200_000
CALL = 0.4
"""Seconds a call has."""
LATE = 15.0
"""Seconds after which a call that has not ended never will."""
QUIET = 3 * CALL
"""Seconds in which a server that is still there says something."""
MOST_GROWTH = 60.0
"""MiB that the whole of it may take; what it leaves is far less."""


class Wrong:
    """What was wrong, and in the face of which server."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.seed = 0

    def note(self, text: str) -> None:
        """Remember it, and say it."""
        self.found.append(f"seed {self.seed}: {text}")
        print(f"WRONG with seed {self.seed}: {text}", flush=True)


wrong = Wrong()
lines = 0
outcomes: dict[str, int] = {}


def count_lines() -> None:
    """Let the framer count what comes."""
    feed = Framer.feed

    def counted(self: Framer, chunk: bytes) -> Any:
        global lines  # noqa: PLW0603  # one count for the program
        framed = feed(self, chunk)
        lines += len(framed)
        return framed

    Framer.feed = counted  # type: ignore[method-assign]  # that is how it counts


class Log(logging.Handler):
    """What is logged as an error has to be of our own making."""

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a record."""
        error = record.exc_info[1] if record.exc_info else None
        text = record.getMessage()
        ours = isinstance(error, snodo.Error) or "Error: stdio " in text or "stderr= failed" in text
        if record.levelno >= logging.ERROR and not ours:
            wrong.note(f"logged: {text[:500]}")


async def call(client: snodo.Client, chance: random.Random) -> None:
    """One call of some kind, which has to end in its time."""
    kind = chance.randrange(8)
    began = time.monotonic()
    name = "result"
    try:
        with anyio.fail_after(LATE):
            match kind:
                case 0:
                    await client.list_tools(timeout=CALL)
                case 1:
                    await client.request(
                        "tools/call",
                        {"name": "x", "arguments": {"pad": "é" * chance.randrange(5000)}},
                        timeout=CALL,
                        progress=lambda _params: None,
                        reset_timeout_on_progress=True,
                        max_total_timeout=2 * CALL,
                    )
                case 2:
                    await listen(client)
                case 3:
                    with anyio.move_on_after(CALL * chance.random()):
                        await client.call_tool("given up", timeout=5 * CALL)
                case 4:
                    await client.call_tool("x", timeout=CALL, answer_input=True)
                case _:
                    await client.call_tool("x", {"n": chance.random()}, timeout=CALL)
    except snodo.Error as error:
        name = f"{type(error).__name__} {error.code}"
        str(error)
    except TimeoutError:
        wrong.note(f"a call of kind {kind} did not end within {LATE} s")
    except Exception as error:
        wrong.note(f"a call of kind {kind} raised {error!r}")
    outcomes[name] = outcomes.get(name, 0) + 1
    if time.monotonic() - began > LATE / 2:
        wrong.note(f"a call of kind {kind} took {time.monotonic() - began:.1f} s")


async def listen(client: snodo.Client) -> None:
    """A subscription that is opened, read for a moment, and closed."""
    subscription = await client.listen({"toolsListChanged": True}, timeout=CALL, max_buffer=10)
    for _ in range(3):
        payload = await subscription.next(timeout=0.05)
        if payload[0] == "closed":
            break
    await subscription.close()


def handler(params: Any) -> Any:
    """Answer a form, in any way."""
    return random.choice([{"action": "accept", "content": {}}, {"action": 5}, None, params])


async def async_handler(params: Any) -> Any:
    await anyio.sleep(0.001)
    raise ValueError(params)


async def face(seed: int, messages: int) -> None:
    """Stand one server until it goes, from many tasks at a time."""
    wrong.seed = seed
    chance = random.Random(seed)
    version = chance.choice(["2026-07-28", "2025-11-25", None])
    options: dict[str, Any] = {} if version is None else {"protocol": version}
    if chance.random() < 0.5:
        options["input_handlers"] = {"form": handler, "sampling": async_handler}
    if chance.random() < 0.3:
        options["stderr"] = chance.choice(["discard", lambda line: None, lambda line: 1 / 0])
    target = ("stdio", sys.executable, ["-I", "-S", HOSTILE, str(seed), str(messages)])
    try:
        client = await snodo.connect(
            target, timeout=5.0, max_line_bytes=LINE_LIMIT, max_server_requests=4, **options
        )
    except snodo.Error as error:
        wrong.note(f"no connection: {error}")
        return
    # Until it is gone, or says nothing any more.
    gone, said, quiet_since = False, -1, time.monotonic()

    async def caller() -> None:
        nonlocal gone, said, quiet_since
        while not gone:
            await call(client, chance)
            if lines != said:
                said, quiet_since = lines, time.monotonic()
            gone = not client._port.is_alive() or time.monotonic() > quiet_since + QUIET

    async with anyio.create_task_group() as group:
        for _ in range(16):
            group.start_soon(caller)
    began = time.monotonic()
    await client.close()
    if time.monotonic() - began > 8:
        wrong.note(f"closing took {time.monotonic() - began:.1f} s")


def left() -> dict[str, int]:
    """What this program has open."""
    children = sum(
        len(one.read_text().split()) for one in Path("/proc/self/task").glob("*/children")
    )
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return {"children": children, "descriptors": descriptors, "threads": threading.active_count()}


def resident() -> float:
    """MiB of this program in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


async def settled(node: supervisors.Node, before: dict[str, int], processes: int) -> None:
    """Wait until what is there is what was there before."""
    until = time.monotonic() + 8.0
    while time.monotonic() < until:
        now = left()
        none_left = all(now[name] <= before[name] for name in ("children", "descriptors"))
        if none_left and len(node.processes) <= processes:
            return
        await anyio.sleep(0.05)
    wrong.note(f"left: {left()}, before: {before}; {len(node.processes)} processes: {processes}")


async def main(options: argparse.Namespace) -> None:
    """Face one server after the other until enough messages have come."""
    if options.loop != "trio":
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, said: wrong.note(f"in the loop: {said}")
        )
    seed, began = options.seed, time.monotonic()
    async with supervisors.Node() as node:
        await face(seed, 100)
        await settled(node, {"children": 10**6, "descriptors": 10**6}, 10**6)
        before, processes, memory = left(), len(node.processes), resident()
        peak = memory
        while lines < options.messages and len(wrong.found) < 10:
            seed += 1
            await face(seed, options.each)
            await settled(node, before, processes)
            peak = max(peak, resident())
            if peak - memory > MOST_GROWTH:
                wrong.note(f"memory: {memory:.0f} MiB at first, {peak:.0f} now")
                break
            took = time.monotonic() - began
            print(f"seed {seed}: {lines:,} lines, {peak:.0f} MiB, {took:.0f} s", flush=True)
        print(f"{lines:,} lines from {seed - options.seed} servers")
        print(f"memory: {memory:.0f} MiB at first, {resident():.0f} at the end, {peak:.0f} at most")
    for name, number in sorted(outcomes.items()):
        print(f"  {number:8,}  {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=20_000, help="messages of one server")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loop", choices=["asyncio", "uvloop", "trio"], default="asyncio")
    chosen = parser.parse_args()
    logging.getLogger().addHandler(Log())
    logging.getLogger("supervisors").setLevel(logging.ERROR)
    sys.unraisablehook = lambda what: wrong.note(f"unraisable: {what.exc_value!r} {what.object!r}")
    threading.excepthook = lambda what: wrong.note(f"in a thread: {what.exc_value!r}")
    count_lines()
    anyio.run(
        main,
        chosen,
        backend="trio" if chosen.loop == "trio" else "asyncio",
        backend_options={"use_uvloop": True} if chosen.loop == "uvloop" else {},
    )
    print("nothing was wrong" if not wrong.found else f"{len(wrong.found)} things were wrong")
    sys.stdout.flush()
    os._exit(bool(wrong.found))
