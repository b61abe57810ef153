"""A small MCP server made with the official SDK, run by the demo as a child process.

With `--http [port]` it serves over HTTP on that port of loopback, or a free one, which it prints,
until its stdin ends.
"""

from __future__ import annotations

import logging
import os
import socket
import sys

import anyio
import anyio.to_thread
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
    """Serve over stdin and stdout, or over HTTP."""
    if "--http" in sys.argv[1:]:
        anyio.run(_serve_http, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
        return
    print(f"demo server: ready, process {os.getpid()}", file=sys.stderr, flush=True)
    server.run(transport="stdio")


async def _serve_http(port: int) -> None:
    import uvicorn  # noqa: PLC0415  # only this way of serving needs it

    logging.getLogger("mcp").setLevel(logging.WARNING)
    listener = socket.create_server(("127.0.0.1", port))
    app = server.streamable_http_app()
    http = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
    print(listener.getsockname()[1], flush=True)

    async def stop_at_the_end_of_stdin() -> None:
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        http.should_exit = True

    async with anyio.create_task_group() as group:
        group.start_soon(stop_at_the_end_of_stdin)
        await http.serve(sockets=[listener])
        group.cancel_scope.cancel()


if __name__ == "__main__":
    main()
