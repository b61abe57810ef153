"""A server made with the official Python SDK, 1.x: the older versions, over stdio.

With the argument `http` over HTTP; `json` and `stateless` say how that answers.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import Completion, RootsListChangedNotification, SamplingMessage, TextContent
from pydantic import BaseModel

server = FastMCP("peer", instructions="Use it.", log_level="CRITICAL")


def note(fact: str, **fields: Any) -> None:
    """Write down what happens, for the test to wait for."""
    with Path(os.environ["CASE_LOG"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"fact": fact, "pid": os.getpid(), **fields}) + "\n")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fails() -> str:
    raise ValueError("it broke")


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool()
async def slow(tag: str = "") -> str:
    note("begun", tag=tag)
    try:
        await anyio.sleep_forever()
    except BaseException:
        note("cancelled", tag=tag)
        raise
    return ""


@server.tool()
async def change(uri: str, ctx: Context) -> str:
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_resource_updated(uri)
    return "told"


@server.tool()
async def ask_form(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", Name)
    return f"form: {answer.data.name}" if answer.action == "accept" else f"form: {answer.action}"


@server.tool()
async def ask_url(ctx: Context) -> str:
    answer = await ctx.elicit_url("Go there", "https://example.test/", "one")
    return f"url: {answer.action}"


@server.tool()
async def ask_model(ctx: Context) -> str:
    said = SamplingMessage(role="user", content=TextContent(type="text", text="A word?"))
    answer = await ctx.session.create_message([said], max_tokens=5)
    return f"model: {answer.content.text}"


@server.tool()
async def ask_roots(ctx: Context) -> str:
    return f"roots: {(await ctx.session.list_roots()).roots[0].uri}"


async def roots_changed(_notification: RootsListChangedNotification) -> None:
    note("roots changed")


server._mcp_server.notification_handlers[RootsListChangedNotification] = roots_changed


@server.resource("notes://today")
def today() -> str:
    return "today"


@server.resource("notes://{name}/one")
def one(name: str) -> str:
    return f"of {name}"


@server.prompt()
def review(code: str) -> str:
    return f"Review: {code}"


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    return Completion(values=[f"{argument.value}{n}" for n in range(2)])


def over_http(*how: str) -> None:
    import over_http  # only this way of serving needs it

    server.settings.json_response = "json" in how
    server.settings.stateless_http = "stateless" in how
    over_http.serve(server.streamable_http_app(), note)


if __name__ == "__main__":
    note("start")
    if sys.argv[1:2] == ["http"]:
        over_http(*sys.argv[2:])
    else:
        server.run(transport="stdio")
    note("end")
