"""The clients that are compared, each behind the same functions.

Whoever measures makes one `System` and opens any number of connections of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

MANY = 1 << 30
Tell = Callable[[str], object]


class Connection(Protocol):
    """One client of one server."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool; the length of the text it said."""
        ...

    async def tools(self) -> int:
        """List the tools; how many there are."""
        ...

    async def listen(self, uri: str, tell: Tell) -> None:
        """Open a stream, and *tell* the URI of each event from then on."""

    async def close(self) -> None:
        """Close it, and its streams."""


class System(Protocol):
    """One of the compared clients; at most *pool* calls are under way at a time."""

    async def open(self, url: str, *, pool: int, streams: int) -> Connection:
        """Connect; the version is settled then."""
        ...

    async def close(self) -> None:
        """Close what the connections share."""


class Raw:
    """The least a client can be."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._closes: list[Callable[[], object]] = []

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool."""
        params = {"name": tool, "arguments": arguments}
        result = await self._client.ask("tools/call", params, tool)
        return len(result["content"][0]["text"])

    async def tools(self) -> int:
        """List the tools."""
        return len((await self._client.ask("tools/list", {}))["tools"])

    async def listen(self, uri: str, tell: Tell) -> None:
        """Open a stream."""
        self._closes.append(await self._client.listen(uri, tell))

    async def close(self) -> None:
        """Close it."""
        for close in self._closes:
            close()
        result = self._client.close()
        if result is not None:
            await result


class RawSystem:
    """Many of them."""

    async def open(self, url: str, *, pool: int, streams: int) -> Connection:
        """Connect."""
        from http_cases.raw import RawClient  # noqa: PLC0415  # a process imports what it measures

        client = RawClient(url, pool)
        await client.ask("server/discover", {})
        return Raw(client)

    async def close(self) -> None:
        """Nothing is shared."""


class AiohttpClient:
    """The same upon aiohttp."""

    def __init__(self, url: str, pool: int) -> None:
        import aiohttp  # noqa: PLC0415  # as above

        self._url = url
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=pool))
        self._id = 0
        self.close = self._session.close

    async def ask(self, method: str, params: dict[str, Any], name: str | None = None) -> Any:
        """Send a request; its result."""
        from http_cases import raw  # noqa: PLC0415  # as above

        self._id += 1
        id, fields = self._id, dict(raw.headers(method, name))
        data = raw.message(id, method, params)
        async with self._session.post(self._url, data=data, headers=fields) as response:
            body = await response.read()
        is_stream = response.content_type == "text/event-stream"
        answer = raw.split_events(body)[0][-1] if is_stream else raw.decode(body)
        if answer["id"] != id:
            raise ValueError(answer)
        return answer["result"]


class AiohttpSystem:
    """Many of them."""

    async def open(self, url: str, *, pool: int, streams: int) -> Connection:
        """Connect."""
        client = AiohttpClient(url, pool)
        await client.ask("server/discover", {})
        return Raw(client)

    async def close(self) -> None:
        """Nothing is shared."""


class Official:
    """The client of the official SDK, in a task of its own, as only that can leave its scope."""

    def __init__(self) -> None:
        self._stop = asyncio.Event()
        self._streams: list[asyncio.Task[None]] = []
        self._client: Any = None

    async def open(self, url: str, limit: int) -> None:
        """Connect."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(url, limit, opened))
        await opened

    async def _live(self, url: str, limit: int, opened: asyncio.Future[None]) -> None:
        import httpx2  # noqa: PLC0415  # as above
        from mcp import Client  # noqa: PLC0415  # as above
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415  # as above

        limits = httpx2.Limits(max_connections=limit, max_keepalive_connections=limit)
        timeout = httpx2.Timeout(30, read=300)
        try:
            async with (
                httpx2.AsyncClient(limits=limits, timeout=timeout) as http,
                Client(streamable_http_client(url, http_client=http)) as self._client,
            ):
                opened.set_result(None)
                await self._stop.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool."""
        return len((await self._client.call_tool(tool, arguments)).content[0].text)

    async def tools(self) -> int:
        """List the tools."""
        return len((await self._client.list_tools(cache_mode="bypass")).tools)

    async def listen(self, uri: str, tell: Tell) -> None:
        """Open a stream."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def read() -> None:
            async with self._client.listen(resource_subscriptions=[uri]) as subscription:
                opened.set_result(None)
                async for event in subscription:
                    tell(event.uri)

        self._streams.append(asyncio.create_task(read()))
        await opened

    async def close(self) -> None:
        """Close it."""
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)
        self._stop.set()
        await self._life


class OfficialSystem:
    """Many of them."""

    async def open(self, url: str, *, pool: int, streams: int) -> Connection:
        """Connect."""
        client = Official()
        await client.open(url, pool + streams)
        return client

    async def close(self) -> None:
        """Nothing is shared."""


class Ours:
    """This project's client."""

    def __init__(self, client: Any, reader: Any) -> None:
        self.client = client
        self._reader = reader

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call a tool."""
        return len((await self.client.call_tool(tool, arguments))["content"][0]["text"])

    async def tools(self) -> int:
        """List the tools."""
        return len(await self.client.list_tools())

    async def listen(self, uri: str, tell: Tell) -> None:
        """Open a stream."""
        wanted = {"resourceSubscriptions": [uri]}
        stream = await self.client.listen(wanted, owner=self._reader, max_buffer=100_000)
        self._reader.send((stream.ref, tell))
        stream.demand(MANY)

    async def close(self) -> None:
        """Close it."""
        await self.client.close()


class OurSystem:
    """Its node runs on the loop of whoever measures, or on a thread of its own."""

    def __init__(self, *, is_elsewhere: bool = False) -> None:
        self._is_elsewhere = is_elsewhere
        self._scope = contextlib.AsyncExitStack()
        self._reader: Any = None

    async def _begin(self) -> None:
        from supervisors import Actor, Node  # noqa: PLC0415  # as above

        if not self._is_elsewhere:
            await self._scope.enter_async_context(Node())

        class Reader(Actor):
            """Gets the events of all streams."""

            def __init__(self) -> None:
                super().__init__()
                self._tells: dict[Any, Tell] = {}

            def on_receive(self, message: Any) -> None:
                if message[0] != "snodo_subscription":
                    self._tells[message[0]] = message[1]
                elif message[2][0] == "notification":
                    self._tells[message[1]](message[2][2]["uri"])

        self._reader = Reader.start()

    async def open(self, url: str, *, pool: int, streams: int) -> Connection:
        """Connect."""
        import snodo_actors as snodo  # noqa: PLC0415  # as above

        if self._reader is None:
            await self._begin()
        client = await snodo.connect(("http", url), pool_size=pool, owner=self._reader)
        return Ours(client, self._reader)

    async def close(self) -> None:
        """Close it."""
        if self._reader is not None:
            self._reader.stop(block=False)
        await self._scope.aclose()
