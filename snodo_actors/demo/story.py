"""What the demo shows, step by step; each step is checked, so that it cannot lie."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import anyio

import snodo_actors as snodo
from snodo_actors.demo.screen import Screen
from supervisors import (
    CrashReport,
    Node,
    Supervisor,
    SupervisorReport,
    subscribe_reports,
    tree,
    when_down,
)

NAME = "calculator"


class DemoFailed(Exception):
    """Something the demo promises did not happen."""


async def run(screen: Screen) -> None:
    """Tell the story.

    Raises:
        DemoFailed: A step did not do what it says.
    """
    reports: list[Any] = []
    unsubscribe = subscribe_reports(reports.append)
    try:
        async with Node("demo"):
            await _supervised(screen, reports)
    finally:
        unsubscribe()


async def _supervised(screen: Screen, reports: list[Any]) -> None:
    screen.step("a server under a supervisor")
    command = [sys.executable, "-m", "snodo_actors.demo.server"]
    spec = snodo.child_spec(NAME, ("stdio", command[0], command[1:]))
    supervisor = await Supervisor.start_link([spec], name="demo")
    client = snodo.client(NAME)
    tools = await client.list_tools()
    screen.say(str(await tree(supervisor)))

    screen.step("its tools")
    for tool in tools:
        screen.say(f"{tool['name']}: {tool.get('description', '')}")
    _expect({"add", "process_id"} <= {tool["name"] for tool in tools}, "the server lists its tools")

    screen.step("a call")
    total = _value(await client.call_tool("add", {"a": 19, "b": 23}))
    screen.say(f"add(19, 23) = {total}", style="green")
    _expect(total == 42, "19 and 23 are 42")
    first = _value(await client.call_tool("process_id"))
    screen.say(f"the server is process {first}")

    screen.step("the server is killed")
    before = len(reports)
    waiting = client.call_tool("sleep", {"seconds": 30})
    port = when_down(NAME)
    # A call that is not written yet would not fail but wait for the next server.
    await anyio.sleep(0.1)
    os.kill(first, signal.SIGKILL)
    screen.say(f"kill -9 {first}, while a call waits for its answer", style="red")
    try:
        await waiting
    except snodo.TransportError as error:
        screen.say(f"the call fails at once: {error}")
    else:
        raise DemoFailed("the waiting call is told of the death")
    await port
    second = _value(await client.call_tool("process_id", timeout=20.0))
    screen.say("what was logged:")
    seen = [r for r in reports[before:] if isinstance(r, CrashReport | SupervisorReport)]
    for report in seen:
        screen.say(str(report), style="dim")
    _expect(bool(seen), "the death is reported")

    screen.step("the same handle, after the restart")
    screen.say(f"the server is process {second} now", style="green")
    _expect(second != first, "the server was started again")
    total = _value(await client.call_tool("add", {"a": 40, "b": 2}))
    screen.say(f"add(40, 2) = {total}", style="green")
    _expect(total == 42, "40 and 2 are 42")
    screen.say(str(await tree(supervisor)))
    await _stream(screen)
    screen.say("\nThe supervisor stops its tree, and nothing is left.")


async def _stream(screen: Screen) -> None:
    screen.step("a stream of events over HTTP")
    command = [sys.executable, "-m", "snodo_actors.demo.server", "--http"]
    server = await anyio.open_process(command, stderr=None)
    try:
        assert server.stdout is not None
        port = int(await server.stdout.receive())
        async with await snodo.connect(("http", f"http://127.0.0.1:{port}/mcp")) as client:
            screen.say(f"connected to {client.who}, which speaks {client.protocol}")
            stream = await client.listen({"toolsListChanged": True})
            screen.say(f"listening; the server agreed to {stream.accepted}")
            await client.call_tool("change_tools")
            event = await stream.next(timeout=10.0)
            screen.say(f"event: {event[1]}", style="green")
            _expect(event[0] == "notification", "an event comes on the stream")
            await stream.close()
    finally:
        assert server.stdin is not None
        await server.stdin.aclose()
        await server.wait()
        await server.aclose()


def _value(result: dict[str, Any]) -> int:
    _expect(not result.get("isError"), f"the call succeeds: {result}")
    return int(json.loads(result["content"][0]["text"]))


def _expect(happened: bool, what: str) -> None:
    if not happened:
        raise DemoFailed(what)
