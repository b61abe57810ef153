"""A supervised connection over HTTP, and a stream that outlives a restart of its server."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

import snodo_actors as snodo
from supervisors import Node, Supervisor


@asynccontextmanager
async def server(port: int) -> AsyncGenerator[None]:
    """Serve over HTTP; the server ends when its stdin does."""
    command = [sys.executable, "-m", "snodo_actors.demo.server", "--http", str(port)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdout.receive()  # it says its port once it listens
        yield
        await process.stdin.aclose()


def free_port() -> int:
    """Find a port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def main() -> None:
    """Listen, restart the server, and go on listening."""
    port = free_port()
    spec = snodo.child_spec("tools", ("http", f"http://127.0.0.1:{port}/mcp"))
    async with Node():
        async with server(port):
            await Supervisor.start_link([spec])
            client = snodo.client("tools", timeout=20.0)
            print([tool["name"] for tool in await client.list_tools()])
            stream = await client.listen({"toolsListChanged": True}, resubscribe=True)
            await client.call_tool("change_tools")
            print((await stream.next(timeout=10.0))[1])
        async with server(port):
            print((await stream.next(timeout=20.0))[0])  # "resubscribed"
            await client.call_tool("change_tools")
            print((await stream.next(timeout=10.0))[1])
        await stream.close()


if __name__ == "__main__":
    anyio.run(main)
