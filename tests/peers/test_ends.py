"""How a connection to a peer ends: closed by the client, or by the server's own end."""

from __future__ import annotations

import os
import signal

import pytest
from case_servers import PATIENCE, lost, took
from peers.kinds import KINDS, LATER, MODERN, NEWEST, TYPESCRIPT_ONE, named
from peers.kit import both, waits

import snodo_actors as snodo


async def busy(at, peer):
    """A client, its stream if there are any, and a call that goes on."""
    client = await at.get(peer.connect())
    stream = None
    if peer.version == MODERN and peer.kind.listens:
        stream = await at.get(client.listen({"toolsListChanged": True}))
    return client, stream, await waits(at, peer, client)


@pytest.mark.parametrize("peer", NEWEST, ids=named, indirect=True)
@both
async def test_close_leaves_no_process(at, peer):
    client, stream, call = await busy(at, peer)
    assert len(peer.processes()) == 1
    with took(below=5):
        await at.get(client.close())
    assert not peer.processes()

    error = await at.error(call)
    lost(error, "closed")
    assert error.delivery == "unknown"
    if stream is not None:
        kind, error = await at.get(stream.next(timeout=1.0))
        assert kind == "closed"
        lost(error, "closed")
    error = await at.error(client.list_tools())
    lost(error, "closed")
    assert error.delivery == "never_sent"


@pytest.mark.parametrize("peer", NEWEST, ids=named, indirect=True)
@both
async def test_a_killed_server_is_explained(at, peer):
    client, stream, call = await busy(at, peer)
    [process] = peer.processes()
    os.kill(process, signal.SIGKILL)

    error = await at.error(call)
    lost(error, ("exit_status", 137))
    assert error.delivery == "unknown"
    assert "killed by signal 9" in error.message
    if stream is not None:
        kind, error = await at.get(stream.next(timeout=PATIENCE))
        assert kind == "closed"
        lost(error, ("exit_status", 137))
    error = await at.error(client.list_tools())
    lost(error, ("exit_status", 137))
    assert error.delivery == "never_sent"
    await at.get(client.close())


@pytest.mark.parametrize("peer", [(kind, LATER) for kind in KINDS], ids=named, indirect=True)
@both
async def test_a_server_that_cannot_start_is_explained(at, peer):
    """With what it wrote to stderr: the interpreter's own words."""
    _, command, arguments = peer.target
    broken = ("stdio", command, [f"{arguments[0]}.missing"])
    error = await at.error(snodo.connect(broken, **peer.options))
    lost(error, ("exit_status", 1 if command.endswith("node") else 2))
    assert f"{arguments[0]}.missing" in error.message
    assert not peer.processes()


@pytest.mark.parametrize("peer", [(TYPESCRIPT_ONE, LATER)], ids=named, indirect=True)
@both
async def test_what_a_server_writes_to_stderr_can_be_had(at, peer):
    lines = []
    client = await at.get(peer.connect(stderr=lines.append))
    await at.until(lambda: lines)
    assert "Starting default (STDIO) server..." in lines
    await at.get(client.close())
