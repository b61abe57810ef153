"""Over HTTP: connections that are closed by the client, and servers that end under their calls."""

from __future__ import annotations

import pytest
from case_servers import PATIENCE, lost, took
from peers.http_kinds import MAIN_ERAS, NEWEST, PYTHON_ONE, TYPESCRIPT_ONE, TYPESCRIPT_TWO
from peers.http_kit import both, waits
from peers.kinds import LATER, MODERN, named
from peers.kit import answers

import snodo_actors as snodo
import supervisors
from supervisors import Backoff, Supervisor

QUICKLY = Backoff(initial=0.02, maximum=0.2)


async def busy(at, peer):
    """A client, its stream if there are any, and a call that goes on."""
    client = await at.get(peer.connect())
    stream = None
    if peer.version == MODERN:
        stream = await at.get(client.listen({"toolsListChanged": True}))
    return client, stream, await waits(at, peer, client)


@pytest.mark.parametrize("web", MAIN_ERAS, ids=named, indirect=True)
@both
async def test_close_leaves_nothing(at, web):
    """The leak check looks for what is left of the connections."""
    client, stream, call = await busy(at, web)
    with took(below=5):
        await at.get(client.close())

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


@pytest.mark.parametrize("fresh", NEWEST, ids=named, indirect=True)
@both
async def test_a_killed_server(at, fresh):
    """Its calls fail at once; the connection takes up with the next that is at its place."""
    client, stream, call = await busy(at, fresh)
    first = client.session
    await at.in_thread(fresh.running.kill)

    error = await at.error(call)
    lost(error)
    assert error.delivery == "unknown"
    if stream is not None:
        kind, error = await at.get(stream.next(timeout=PATIENCE))
        assert kind == "closed"
        lost(error)
    error = await at.error(client.list_tools())
    lost(error)
    assert error.cause[0] == "failed_connect"
    assert error.delivery == "never_sent"

    await at.in_thread(fresh.running.start_again)
    await goes_on(at, fresh, client)
    await at.get(client.close())
    if (
        client.session is not None and fresh.kind is not TYPESCRIPT_ONE
    ):  # the old one is not known any more
        [end] = fresh.answered("DELETE")
        assert end["headers"]["mcp-session-id"] not in (None, first.id)
        assert end["status"] == 200


@pytest.mark.parametrize(
    "fresh", [(PYTHON_ONE, LATER), (TYPESCRIPT_TWO, MODERN)], ids=named, indirect=True
)
@both
async def test_in_a_supervision_tree(at, fresh):
    name = f"peer on {at.backend}"
    spec = snodo.child_spec(name, fresh.target, restart_delay=QUICKLY, **fresh.options)
    tree = await at.get(Supervisor.start_link([spec]))
    client = snodo.client(name, timeout=PATIENCE)
    call = await waits(at, fresh, client)
    await at.in_thread(fresh.running.restart)
    error = await at.error(call)
    lost(error)
    assert error.delivery == "unknown"
    await goes_on(at, fresh, client)
    await at.get(supervisors.stop(tree))


async def goes_on(at, peer, client):
    """The next server is spoken to; who had a session gets another, be it told by 404 or by 400."""
    await answers(at, peer, client)
