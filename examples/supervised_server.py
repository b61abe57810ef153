"""An MCP server in a supervision tree: whatever happens to it, its handle goes on working."""

from __future__ import annotations

import os
import signal
import sys

import anyio

import snodo_actors as snodo
from supervisors import Node, Supervisor, tree, when_down

SERVER = ("stdio", sys.executable, ["-m", "snodo_actors.demo.server"])


async def main() -> None:
    """Call the server, kill it, and call it again."""
    async with Node():
        supervisor = await Supervisor.start_link([snodo.child_spec("tools", SERVER)])
        tools = snodo.client("tools")
        first = (await tools.call_tool("process_id"))["structuredContent"]["result"]
        print("19 + 23 =", (await tools.call_tool("add", {"a": 19, "b": 23}))["structuredContent"])

        ended = when_down("tools")
        os.kill(first, signal.SIGKILL)
        print("ended:", await ended)

        second = (await tools.call_tool("process_id"))["structuredContent"]["result"]
        print("another process answers:", first != second)
        print(await tree(supervisor))


if __name__ == "__main__":
    anyio.run(main)
