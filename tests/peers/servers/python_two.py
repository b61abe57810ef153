"""A server made with the official Python SDK, 2.x: every version, over stdio.

With the argument `http` over HTTP; `json` and `stateless` say how that answers.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CreateMessageResult,
    InputRequiredResult,
    ListRootsResult,
    NotificationParams,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

server = MCPServer("peer", version="2", instructions="Use it.", log_level="CRITICAL")


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
    if (ctx.protocol_version or "") < "2026-07-28":
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_resource_updated(uri)
    else:
        await ctx.notify_tools_changed()
        await ctx.notify_resource_updated(uri)
    return "told"


def your_name() -> Elicit[Name]:
    return Elicit("Your name?", Name)


def a_word() -> Sample:
    said = SamplingMessage(role="user", content=TextContent(type="text", text="A word?"))
    return Sample([said], max_tokens=5)


def your_folders() -> ListRoots:
    return ListRoots()


@server.tool()
async def ask_form(name: Annotated[Name, Resolve(your_name)]) -> str:
    return f"form: {name.name}"


@server.tool()
async def ask_model(word: Annotated[CreateMessageResult, Resolve(a_word)]) -> str:
    return f"model: {word.content.text}"


@server.tool()
async def ask_roots(folders: Annotated[ListRootsResult, Resolve(your_folders)]) -> str:
    return f"roots: {folders.roots[0].uri}"


@server.tool()
async def ask_url(ctx: Context) -> str | InputRequiredResult:
    if (ctx.protocol_version or "") < "2026-07-28":
        answer = await ctx.elicit_url("Go there", "https://example.test/", "one")
        return f"url: {answer.action}"
    if not ctx.input_responses:
        asked = {"mode": "url", "message": "Go there", "url": "https://example.test/"}
        request = {"method": "elicitation/create", "params": asked}
        return InputRequiredResult.model_validate(
            {"inputRequests": {"there": request}, "requestState": "asked"}
        )
    return f"url: {ctx.input_responses['there'].action}"


async def roots_changed(_ctx: Any, _params: Any) -> None:
    note("roots changed")


server._lowlevel_server.add_notification_handler(
    "notifications/roots/list_changed", NotificationParams, roots_changed
)


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

    options = {"json_response": "json" in how, "stateless_http": "stateless" in how}
    over_http.serve(server.streamable_http_app(**options), note)


if __name__ == "__main__":
    note("start")
    if sys.argv[1:2] == ["http"]:
        over_http(*sys.argv[2:])
    else:
        server.run(transport="stdio")
    note("end")
