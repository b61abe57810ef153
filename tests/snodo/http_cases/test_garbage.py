"""What is over is freed at once: a result may be large, and only its caller wants it."""

from __future__ import annotations

import gc

from case_servers import echoes, everywhere

from snodo_actors.actors.conversation import Conversation
from snodo_actors.actors.http_exchange import CallExchange


def kept() -> int:
    return sum(isinstance(one, CallExchange | Conversation) for one in gc.get_objects())


@everywhere
async def test_calls_that_are_over_leave_nothing_to_the_garbage_collector(at, server):
    client = await at.get(server.connect())
    gc.collect()
    gc.disable()
    try:
        before = kept()
        for n in range(20):
            await echoes(at, client, n=n)
            await at.get(client.list_tools())
        # One of each may be in the hands of another thread, which was not quite through.
        assert kept() - before <= 2
    finally:
        gc.enable()
    await at.get(client.close())
