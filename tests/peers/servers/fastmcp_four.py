"""A server made with FastMCP, 4.x: every version, over stdio; it has no streams of events.

With the argument `http` over HTTP; `json` and `stateless` say how that answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ |= {"FASTMCP_LOG_ENABLED": "false", "FASTMCP_CHECK_FOR_UPDATES": "off"}

import anyio
from fastmcp import Context, FastMCP
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

MODERN = "2026-07-28"
server: FastMCP[Any] = FastMCP("peer", version="4", instructions="Use it.")
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
WORD = [SamplingMessage(role="user", content=TextContent(type="text", text="A word?"))]
REQUESTS: dict[str, Any] = {
    "form": ElicitRequest(
        params=ElicitRequestFormParams(message="Your name?", requested_schema=NAME)
    ),
    "url": ElicitRequest(
        params=ElicitRequestURLParams(message="Go there", url="https://example.test/")
    ),
    "model": CreateMessageRequest(params=CreateMessageRequestParams(messages=WORD, max_tokens=5)),
    "roots": ListRootsRequest(),
}


def note(fact: str, **fields: Any) -> None:
    """Write down what happens, for the test to wait for."""
    with Path(os.environ["CASE_LOG"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"fact": fact, "pid": os.getpid(), **fields}) + "\n")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def fails() -> str:
    raise ValueError("it broke")


@server.tool
async def steps(count: int, ctx: Context) -> str:
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool
async def slow(tag: str = "") -> str:
    note("begun", tag=tag)
    try:
        await anyio.sleep_forever()
    except BaseException:
        note("cancelled", tag=tag)
        raise
    return ""


async def asked(ctx: Context, kind: str, ask: Any) -> Any:
    """The user's answer; in the newest version the question, as long as there is none."""
    if ctx.request_context is not None and ctx.request_context.protocol_version < MODERN:
        return await ask(related_request_id=ctx.request_id)
    if not ctx.input_responses:
        return InputRequiredResult(input_requests={"it": REQUESTS[kind]})
    return ctx.input_responses["it"]


def said(answer: Any, of: Callable[[Any], str]) -> Any:
    return answer if isinstance(answer, InputRequiredResult) else of(answer)


@server.tool(output_schema=None)
async def ask_form(ctx: Context) -> Any:
    ask = partial(ctx.session.elicit_form, "Your name?", NAME)
    return said(
        await asked(ctx, "form", ask),
        lambda form: f"form: {form.content['name'] if form.action == 'accept' else form.action}",
    )


@server.tool(output_schema=None)
async def ask_url(ctx: Context) -> Any:
    ask = partial(ctx.session.elicit_url, "Go there", "https://example.test/", "one")
    return said(await asked(ctx, "url", ask), lambda there: f"url: {there.action}")


@server.tool(output_schema=None)
async def ask_model(ctx: Context) -> Any:
    ask = partial(ctx.session.create_message, WORD, max_tokens=5)
    return said(await asked(ctx, "model", ask), lambda word: f"model: {word.content.text}")


@server.tool(output_schema=None)
async def ask_roots(ctx: Context) -> Any:
    async def ask(related_request_id: Any) -> Any:  # nothing else can be asked so
        request = ListRootsRequest()
        metadata = ServerMessageMetadata(related_request_id=related_request_id)
        return await ctx.session.send_request(request, ListRootsResult, metadata=metadata)

    return said(await asked(ctx, "roots", ask), lambda folders: f"roots: {folders.roots[0].uri}")


@server.resource("notes://today")
def today() -> str:
    return "today"


@server.resource("notes://{name}/one")
def one(name: str) -> str:
    return f"of {name}"


@server.prompt
def review(code: str) -> str:
    return f"Review: {code}"


@server.completion
def complete(ref: Any, argument: Any, context: Any) -> list[str]:
    return [f"{argument.value}{n}" for n in range(2)]


def over_http(*how: str) -> None:
    import over_http  # only this way of serving needs it

    options = {"json_response": "json" in how, "stateless_http": "stateless" in how}
    over_http.serve(server.http_app(path="/mcp", **options), note)


if __name__ == "__main__":
    note("start")
    if sys.argv[1:2] == ["http"]:
        over_http(*sys.argv[2:])
    else:
        server.run(transport="stdio", show_banner=False, log_level="CRITICAL")
    note("end")
