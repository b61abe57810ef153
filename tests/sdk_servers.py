"""Servers written with the official SDK, to be run in the client's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel


class Name(BaseModel):
    name: str


class Log:
    """What a server did, seen from outside."""

    def __init__(self) -> None:
        self.lines: list[Any] = []


def high_level(log: Log, *, breaks: str = "") -> MCPServer[Any]:
    @asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, str]]:
        log.lines.append("begun")
        if breaks == "begin":
            raise RuntimeError("no database")
        try:
            yield {"db": "open"}
        finally:
            log.lines.append("ended")
            if breaks == "end":
                raise RuntimeError("it would not close")

    server: MCPServer[Any] = MCPServer(
        "sdk", version="3", lifespan=lifespan, log_level="CRITICAL", instructions="Use it."
    )

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def steps(count: int, ctx: Context[Any, Any]) -> str:
        for step in range(count):
            await ctx.report_progress(step + 1, count, f"step {step + 1}")
        return "done"

    @server.tool()
    async def ask(ctx: Context[Any, Any]) -> str:
        answer = await ctx.elicit("Your name?", Name)
        return f"Hello {answer.data.name}" if answer.action == "accept" else answer.action

    @server.tool()
    async def who(ctx: Context[Any, Any]) -> str:
        token = get_access_token()
        request = ctx.request_context.request
        return f"{token.client_id if token else None} {request}"

    @server.tool()
    def fails() -> str:
        raise ValueError("it broke")

    @server.tool()
    async def slow() -> str:
        log.lines.append("slow begun")
        try:
            await anyio.sleep_forever()
        except BaseException:
            log.lines.append("slow cancelled")
            raise
        return ""

    @server.tool()
    async def change(ctx: Context[Any, Any]) -> str:
        await ctx.notify_tools_changed()
        return "told"

    @server.resource("notes://today")
    def today() -> str:
        return "today"

    @server.resource("notes://{name}/one")
    def note(name: str) -> str:
        return f"of {name}"

    @server.prompt()
    def review(code: str) -> str:
        return f"Review: {code}"

    return server


def low_level(log: Log) -> Server[Any]:
    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        tool = types.Tool(name="echo", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        if params.name == "crash":
            raise RuntimeError("it crashed")
        log.lines.append(params.name)
        text = types.TextContent(type="text", text=str(params.arguments))
        return types.CallToolResult(content=[text])

    async def roots_changed(_ctx: Any, _params: Any) -> None:
        log.lines.append("roots changed")

    server: Server[Any] = Server(
        "low", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, roots_changed
    )
    return server
