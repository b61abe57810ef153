"""A small MCP server made with the official SDK, run by the demo as a child process."""

from __future__ import annotations

import os
import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("demo", version="1.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def process_id() -> int:
    """Tell the number of the process this server runs in."""
    return os.getpid()


@server.tool()
async def sleep(seconds: float) -> str:
    """Wait for some seconds, then answer."""
    await anyio.sleep(seconds)
    return "awake"


@server.tool()
async def change_tools(context: Context) -> str:
    """Tell whoever listens that the tools have changed."""
    await context.notify_tools_changed()
    return "told"


def main() -> None:
    """Serve over stdin and stdout."""
    print(f"demo server: ready, process {os.getpid()}", file=sys.stderr, flush=True)
    server.run(transport="stdio")


if __name__ == "__main__":
    main()
