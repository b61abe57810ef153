"""Protected MCP servers as one program: as many as are asked for, each on a port of its own.

Made with the official SDK (2.x). The first line it prints is the port to ask for more:

    POST /__new   with knobs as JSON     a new MCP server at /mcp; {"port": ...}
    POST /__end/<port>                   ends one

and each has `POST /__knobs` and `GET /__facts`; see `resource_gate`. It ends with its stdin.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

import anyio
import anyio.to_thread
import httpx
import uvicorn
from mcp.server.mcpserver import MCPServer
from resource_gate import Gate, _answer, _body


def mcp_server() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("protected", version="1", log_level="CRITICAL")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    def read() -> str:
        return "read"

    @server.tool()
    def write() -> str:
        return "written"

    @server.tool()
    async def nap(seconds: float) -> str:
        await anyio.sleep(seconds)
        return "awake"

    return server


class Front:
    """Starts and ends protected servers."""

    def __init__(self, group: Any, http: httpx.AsyncClient) -> None:
        self.group = group
        self.http = http
        self.running: dict[int, uvicorn.Server] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, path = await _body(receive), scope["path"]
        if path == "/__new":
            await _answer(send, 200, {"port": await self._start(json.loads(body or b"{}"))})
        else:
            port = int(path.removeprefix("/__end/"))
            self.running.pop(port).should_exit = True
            await _answer(send, 200, {"ended": port})

    async def _start(self, knobs: dict[str, Any]) -> int:
        gate = Gate(mcp_server().streamable_http_app(), knobs, self.http)
        server, listener = made(gate)
        port = listener.getsockname()[1]
        gate.origin = f"http://127.0.0.1:{port}"
        self.running[port] = server
        self.group.start_soon(serve, server, listener)
        while not server.started:
            await anyio.sleep(0.001)
        return port


def made(app: Any) -> tuple[uvicorn.Server, socket.socket]:
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    return uvicorn.Server(config), listener


async def serve(server: uvicorn.Server, listener: socket.socket) -> None:
    await server._serve([listener])  # without its signal handlers, of which there is one a process


async def main() -> None:
    async with httpx.AsyncClient(trust_env=False) as http, anyio.create_task_group() as group:
        server, listener = made(Front(group, http))
        server.config.lifespan = "off"
        group.start_soon(serve, server, listener)
        while not server.started:
            await anyio.sleep(0.001)
        print("PORT", listener.getsockname()[1], flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
