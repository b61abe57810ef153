"""FastMCP servers in the client's own process, and whatever else has their shape."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from inside import PATIENCE
from sdk_servers import Log, low_level

import snodo_actors as snodo
from snodo_actors.adapters.mcp import runtime

VERSIONS = ("2026-07-28", "2025-11-25", "2025-06-18")


class Shaped:
    """What of FastMCP is used: the server it is built on, and its own lifespan around that."""

    def __init__(self, log: Log) -> None:
        self._mcp_server = low_level(log)
        self._log = log

    @asynccontextmanager
    async def _lifespan_manager(self) -> AsyncIterator[None]:
        self._log.lines.append("begun")
        yield
        self._log.lines.append("ended")


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("version", VERSIONS)
def test_its_lifespan_is_around_the_session(version: str) -> None:
    log = Log()

    with snodo.direct(runtime(Shaped(log)), protocol=version).get(timeout=PATIENCE) as client:
        client.call_tool("echo", {"a": 1}).get(timeout=PATIENCE)
    assert log.lines == ["begun", "echo", "ended"]


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_one(version: str) -> None:
    fastmcp = pytest.importorskip("fastmcp")
    log = Log()

    @asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, Any]]:
        log.lines.append("begun")
        yield {}
        log.lines.append("ended")

    server = fastmcp.FastMCP("fast", lifespan=lifespan)

    def add(a: int, b: int) -> int:
        return a + b

    async def steps(ctx: Any) -> str:
        await ctx.report_progress(1, 2)
        return "done"

    steps.__annotations__["ctx"] = fastmcp.Context
    server.tool(add)
    server.tool(steps)
    told: list[Any] = []
    made = runtime(server)
    with (
        snodo.direct(made, protocol=version).get(timeout=PATIENCE) as client,
        snodo.direct(made, protocol=version).get(timeout=PATIENCE) as other,
    ):
        for one in (client, other):
            result = one.call_tool("add", {"a": 1, "b": 2}).get(timeout=PATIENCE)
            assert result["structuredContent"] == {"result": 3}
        client.call_tool("steps", progress=told.append).get(timeout=PATIENCE)
    assert [params["progress"] for params in told] == [1]
    assert log.lines == ["begun", "ended"]
