"""Does what one scenario of the MCP conformance suite wants of a client: `driver.py URL`.

The suite runs it, with the scenario's name and the protocol version in the environment, and looks
at what reached its server. Whatever fails here ends the program with a traceback and status 1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import authorization  # the file beside this one: the suite runs us as a program

import snodo_actors as snodo

TIME_LIMIT = 20.0
"""Seconds for the whole of it: a driver that hangs would hold the suite."""

Scenario = Callable[[snodo.Client], Awaitable[object]]


async def main(url: str) -> None:
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    version = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    options = {"protocol": version, "timeout": 10.0, "input_handlers": HANDLERS}
    options |= OPTIONS.get(name, {})
    if name.startswith("auth/"):
        options["token_provider"] = authorization.provider(name)
    with anyio.fail_after(TIME_LIMIT):
        if name in authorization.REFUSED:
            await be_refused(url, options)
            return
        async with await snodo.connect(("http", url), **options) as client:
            assert client.protocol == version, client.protocol
            await SCENARIOS.get(name, use_the_first_tool)(client)


async def be_refused(url: str, options: dict[str, Any]) -> None:
    """Try several times what cannot succeed: no number of attempts may do harm."""
    for _ in range(3):
        try:
            async with await snodo.connect(("http", url), **options) as client:
                await client.list_tools()
        except snodo.Error as error:
            print(f"refused: {error}", file=sys.stderr)  # the suite keeps it
        else:
            raise AssertionError("it worked")


# ---- what the server may ask


def fill_in(params: dict[str, Any]) -> dict[str, Any]:
    """Accept the form as it is: with the defaults of its fields."""
    fields = params["requestedSchema"]["properties"]
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    return {"action": "accept", "content": content}


def write(_params: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "model": "none", "content": {"type": "text", "text": "Yes."}}


def folders(_params: dict[str, Any]) -> dict[str, Any]:
    return {"roots": []}


HANDLERS = {"form": fill_in, "sampling": write, "roots": folders}


# ---- what the scenarios want


async def list_tools(client: snodo.Client) -> None:
    await client.list_tools()


async def use_the_first_tool(client: snodo.Client) -> None:
    for tool in (await client.list_tools())[:1]:
        await client.call_tool(tool["name"])


async def add(client: snodo.Client) -> None:
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def ask_for_defaults(client: snodo.Client) -> None:
    await client.list_tools()
    await client.call_tool("test_client_elicitation_defaults")


async def reconnect(client: snodo.Client) -> None:
    await client.list_tools()
    await client.call_tool("test_reconnection")


async def use_everything(client: snodo.Client) -> None:
    for tool in await client.list_tools():
        await client.call_tool(tool["name"])
    for resource in await client.list_resources():
        await client.read_resource(resource["uri"])
    for prompt in await client.list_prompts():
        await client.get_prompt(prompt["name"])


async def replay_calls(client: snodo.Client) -> None:
    await client.list_tools()
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def echo_schema(client: snodo.Client) -> None:
    tools = {tool["name"]: tool for tool in await client.list_tools()}
    schema = tools["json_schema_2020_12_tool"]["inputSchema"]
    await client.call_tool("json_schema_echo", {"schema": schema})


async def go_many_rounds(client: snodo.Client) -> None:
    await client.list_tools()
    for tool in ("echo_state", "unrelated", "no_state", "no_result_type"):
        await client.call_tool(f"test_mrtr_{tool}")


SCENARIOS: dict[str, Scenario] = {
    "initialize": list_tools,
    "tools_call": add,
    "elicitation-sep1034-client-defaults": ask_for_defaults,
    "sse-retry": reconnect,
    "request-metadata": list_tools,
    "http-standard-headers": use_everything,
    "http-custom-headers": replay_calls,
    "http-invalid-tool-headers": use_everything,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2322-client-request-state": go_many_rounds,
}
OPTIONS: dict[str, dict[str, Any]] = {
    # The version asked for is refused at first: only a client that has a choice asks for it anew.
    "request-metadata": {"protocol": ["2026-07-28", "2025-11-25"]},
    # The question comes on the server's own stream.
    "elicitation-sep1034-client-defaults": {"server_stream": True},
}

if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
