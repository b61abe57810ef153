"""A peer in a supervision tree: killed, it is started again."""

from __future__ import annotations

import os
import signal

import pytest
from case_servers import PATIENCE, lost
from peers.kinds import NEWEST, WITH_STREAMS, named
from peers.kit import answers, both, waits

import snodo_actors as snodo
import supervisors
from supervisors import Backoff, Supervisor

QUICKLY = Backoff(initial=0.02, maximum=0.2)


async def supervised(at, peer):
    """The tree, and a handle on the connection in it."""
    name = f"peer on {at.backend}"
    spec = snodo.child_spec(name, peer.target, restart_delay=QUICKLY, **peer.options)
    tree = await at.get(Supervisor.start_link([spec]))
    return tree, snodo.client(name, timeout=PATIENCE)


def kill(peer):
    [process] = peer.processes()
    os.kill(process, signal.SIGKILL)
    return process


@pytest.mark.parametrize("peer", NEWEST, ids=named, indirect=True)
@both
async def test_a_killed_server_is_started_again(at, peer):
    tree, client = await supervised(at, peer)
    call = await waits(at, peer, client)
    first = kill(peer)

    error = await at.error(call)
    lost(error, ("exit_status", 137))
    assert (error.who, error.delivery) == (client.who, "unknown")
    await answers(at, peer, client)
    [second] = peer.processes()
    assert second != first

    await at.get(supervisors.stop(tree))
    assert not peer.processes()


@pytest.mark.parametrize("peer", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_a_stream_is_opened_again(at, peer):
    tree, client = await supervised(at, peer)
    wanted = {"toolsListChanged": True}
    stream = await at.get(client.listen(wanted, resubscribe=True))
    kill(peer)
    assert await at.get(stream.next(timeout=PATIENCE)) == ("resubscribed", wanted)
    await at.get(client.call_tool("change", {"uri": "notes://today"}))
    kind, method, _ = await at.get(stream.next(timeout=PATIENCE))
    assert (kind, method) == ("notification", "notifications/tools/list_changed")

    await at.get(stream.close())
    await at.get(supervisors.stop(tree))
