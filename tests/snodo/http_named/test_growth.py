"""Nothing of a call, a stream or a connection is kept once it is over."""

from __future__ import annotations

import gc
from collections import Counter

from case_servers import MODERN, across
from http_server import HttpServer

FEW = 10
"""What may be there more than before, of any kind: caches that fill, a heap that is swept later."""


def alive():
    """How many objects of ours there are, by their types."""
    gc.collect()
    kinds = (type(one) for one in gc.get_objects())
    ours = ("snodo_actors", "supervisors")
    return Counter(str(kind) for kind in kinds if kind.__module__.startswith(ours))


@across
async def test_nothing_grows(at):
    with HttpServer() as server:
        client = await at.get(server.connect(protocol=MODERN))

        async def some(count):
            for _ in range(count):
                await at.all(*[client.call_tool("echo") for _ in range(10)])
                stream = await at.get(client.listen({"toolsListChanged": True}))
                await at.get(stream.close())
                other = await at.get(server.connect())
                await at.get(other.call_tool("echo"))
                await at.get(other.close())

        await some(10)
        before = alive()
        await some(60)
        await at.until(lambda: not {k: n for k, n in (alive() - before).items() if n > FEW})
        await at.get(client.close())
