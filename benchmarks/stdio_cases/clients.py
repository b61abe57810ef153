"""The clients that are compared, each behind the same three functions: open, call, close."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

SERVER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("server.py"))]
MOST_BYTES = 1 << 26


class Connection(Protocol):
    """One open connection."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool; the length of the text it said."""
        ...

    async def close(self) -> None:
        """Close it, if it can be closed from here."""


class Ours:
    """This project's client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def close(self) -> None:
        """Close it."""
        await self._client.close()

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool."""
        result = await self._client.call_tool(tool, arguments)
        return len(result["content"][0]["text"])


@contextlib.asynccontextmanager
async def ours() -> AsyncIterator[Connection]:
    import snodo_actors as snodo  # noqa: PLC0415  # a process imports the client it measures
    from supervisors import current_node  # noqa: PLC0415

    target, owner = ("stdio", SERVER[0], SERVER[1:]), current_node()
    async with await snodo.connect(target, max_line_bytes=MOST_BYTES, owner=owner) as client:
        yield Ours(client)


class Official:
    """The client of the official SDK."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def close(self) -> None:
        """Leave it to its scope, which only its task can leave."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool."""
        result = await self._client.call_tool(tool, arguments)
        return len(result.content[0].text)


@contextlib.asynccontextmanager
async def official() -> AsyncIterator[Connection]:
    from mcp import Client  # noqa: PLC0415  # as above
    from mcp.client.stdio import StdioServerParameters  # noqa: PLC0415

    parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    async with Client(parameters) as client:
        yield Official(client)


class Pipe:
    """Pipes, JSON and a table of futures, with nothing around them: the least a client can be."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        import msgspec  # noqa: PLC0415  # as above

        assert process.stdin is not None
        assert process.stdout is not None
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder().decode
        self._into, self._out = process.stdin.fileno(), process.stdout.fileno()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._rest = bytearray()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._out, self._read)

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool."""
        id = next(self._ids)
        params = {"name": tool, "arguments": arguments}
        line = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        future = self._waiting[id] = self._loop.create_future()
        os.write(self._into, self._encode(line) + b"\n")
        return len((await future)["result"]["content"][0]["text"])

    def _read(self) -> None:
        data = os.read(self._out, 1 << 16)
        *ends, rest = data.split(b"\n")
        for end in ends:
            message = self._decode(bytes(self._rest) + end if self._rest else end)
            self._rest.clear()
            self._waiting.pop(message["id"]).set_result(message)
        self._rest += rest

    async def close(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self._out)


@contextlib.asynccontextmanager
async def pipe() -> AsyncIterator[Connection]:
    process = subprocess.Popen(  # noqa: ASYNC220  # what it costs is not measured
        SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    connection = Pipe(process)
    try:
        yield connection
    finally:
        await connection.close()
        process.communicate()
