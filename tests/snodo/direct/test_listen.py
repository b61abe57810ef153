"""Streams of an in-process server, through a client."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from everything import LATER, STATELESS, make
from inside import PATIENCE, inside

import snodo_actors as snodo
from snodo_actors.server import Server
from supervisors import Node, receive, spawn, when_down

TOOLS = {"toolsListChanged": True}
CHANGED = "notifications/tools/list_changed"


@pytest.fixture
def server() -> Server:
    return make()


def opened(server: Server, **options: Any) -> snodo.Client:
    return snodo.direct(server.runtime(), **options).get(timeout=PATIENCE)


def streams(server: Server) -> int:
    return len(server._tables.feeds)


def wait_for_no_stream(server: Server) -> None:
    for _ in range(1000):
        if not streams(server):
            return
        threading.Event().wait(0.005)
    raise AssertionError("the stream is still open")


@pytest.mark.usefixtures("node")
def test_events_come_to_a_thread(server: Server) -> None:
    stream = opened(server).listen({**TOOLS, "taskIds": ["1"]}).get(timeout=PATIENCE)
    server.tools_changed()
    server.tool("new")(lambda: "1")

    assert stream.accepted == TOOLS
    for _ in range(2):
        kind, method, params = stream.next(timeout=PATIENCE).get()
        assert (kind, method) == ("notification", CHANGED)
        assert params == {"_meta": {"io.modelcontextprotocol/subscriptionId": stream.id}}
    stream.close().get(timeout=PATIENCE)
    wait_for_no_stream(server)


@pytest.mark.usefixtures("inner_node")
async def test_events_come_to_a_task(server: Server) -> None:
    client = await snodo.direct(server.runtime())
    stream = await client.listen({"resourceSubscriptions": ["notes://today"]})
    server.resource_updated("notes://raw")
    server.resource_updated("notes://today")

    kind, method, params = await stream.next()
    assert (kind, method) == ("notification", "notifications/resources/updated")
    assert params["uri"] == "notes://today"
    await stream.close()


def test_events_come_to_a_process_of_a_node(server: Server, node: Node) -> None:
    async def listen() -> Any:
        client = await snodo.direct(server.runtime())
        stream = await client.listen(TOOLS)
        server.tools_changed()
        stream.demand(1)
        name, ref, payload = await receive(tuple, timeout=PATIENCE)
        return name, ref is stream.ref, payload[:2]

    assert inside(node, listen) == ("snodo_subscription", True, ("notification", CHANGED))
    wait_for_no_stream(server)


@pytest.mark.usefixtures("node")
def test_the_server_s_end_is_the_last_message(server: Server) -> None:
    stream = opened(server).listen(TOOLS).get(timeout=PATIENCE)
    server.tools_changed()
    server.end_subscriptions()

    came = [receive(tuple, timeout=PATIENCE) for _ in range(2)]
    stream.demand(1)
    assert [message.get()[2][:2] for message in came] == [
        ("notification", CHANGED),
        ("closed", "complete"),
    ]


@pytest.mark.usefixtures("inner_node")
async def test_the_server_s_end_ends_an_iteration(server: Server) -> None:
    client = await snodo.direct(server.runtime())
    stream = await client.listen(TOOLS)
    server.tools_changed()
    server.end_subscriptions()

    assert [payload[:2] async for payload in stream] == [
        ("notification", CHANGED),
        ("closed", "complete"),
    ]


@pytest.mark.usefixtures("node")
def test_a_filter_that_is_none_is_the_server_s_error(server: Server) -> None:
    with pytest.raises(snodo.ServerError) as failed:
        opened(server).listen({"toolsListChanged": 1}).get(timeout=PATIENCE)

    error = failed.value
    assert (error.code, error.kind, error.delivery) == (-32602, "protocol", "answered")
    assert streams(server) == 0


@pytest.mark.usefixtures("node")
def test_the_initialize_era_has_no_streams(server: Server) -> None:
    client = opened(server, protocol=LATER)

    with pytest.raises(snodo.ProtocolError) as failed:
        client.listen(TOOLS).get(timeout=PATIENCE)
    data = {"method": "subscriptions/listen", "protocolVersion": LATER}
    assert (failed.value.code, failed.value.data) == (-32601, data)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_buffer": 0}, ValueError),
        ({"overflow": "none"}, ValueError),
        ({"resubscribe": 1}, TypeError),
        ({"unheard_of": 1}, TypeError),
    ],
)
def test_a_wrong_option_is_told_at_once(server: Server, options: Any, error: Any) -> None:
    client = opened(server)

    with pytest.raises(error):
        client.listen(TOOLS, **options)
    with pytest.raises(TypeError):
        client.listen([])


def test_the_end_of_the_owner_ends_the_stream(server: Server, node: Node) -> None:
    client = opened(server)

    async def own() -> None:
        await client.listen(TOOLS)
        assert streams(server) == 1

    when_down(spawn(own, node=node)).get(timeout=PATIENCE)
    wait_for_no_stream(server)


def test_another_process_can_be_the_owner(server: Server, node: Node) -> None:
    async def own() -> Any:
        return (await receive(tuple, timeout=PATIENCE))[2][:2]

    owner = spawn(own, node=node)
    stream = opened(server).listen(TOOLS, owner=owner).get(timeout=PATIENCE)
    stream.demand(1)
    server.tools_changed()
    when_down(owner).get(timeout=PATIENCE)
    wait_for_no_stream(server)


@pytest.mark.usefixtures("node")
def test_what_is_not_asked_for_is_dropped_and_counted(server: Server) -> None:
    stream = opened(server).listen(TOOLS, max_buffer=2).get(timeout=PATIENCE)
    for _ in range(5):
        server.tools_changed()

    assert stream.next(timeout=PATIENCE).get() == ("dropped", 3)
    assert stream.next(timeout=PATIENCE).get()[:2] == ("notification", CHANGED)
    stream.close().get(timeout=PATIENCE)
    wait_for_no_stream(server)


@pytest.mark.usefixtures("inner_node")
async def test_a_caller_that_waits_no_longer_leaves_no_stream(server: Server) -> None:
    client = await snodo.direct(server.runtime())

    for _ in range(3):
        with anyio.move_on_after(0):
            await client.listen(TOOLS)
    await anyio.to_thread.run_sync(wait_for_no_stream, server)


async def test_a_stream_of_a_node_in_another_thread(server: Server) -> None:
    with Node():
        client = await snodo.direct(server.runtime())
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(listen_and_close, client, server)
            for _ in range(5):
                group.start_soon(listen_and_give_up, client)
        await anyio.to_thread.run_sync(wait_for_no_stream, server)


async def listen_and_close(client: snodo.Client, server: Server) -> None:
    stream = await client.listen(TOOLS)
    server.tools_changed()
    assert (await stream.next())[:2] == ("notification", CHANGED)
    await stream.close()


async def listen_and_give_up(client: snodo.Client) -> None:
    with anyio.move_on_after(0.001):
        await client.listen(TOOLS)
        await anyio.sleep_forever()


@pytest.mark.usefixtures("node")
def test_requests_do_not_open_streams(server: Server) -> None:
    with pytest.raises(ValueError, match=r"client.listen"):
        opened(server).request("subscriptions/listen", {"notifications": {}})


@pytest.mark.usefixtures("node")
def test_each_stream_has_its_own_name(server: Server) -> None:
    client = opened(server, protocol=STATELESS)
    one, other = (client.listen(TOOLS).get(timeout=PATIENCE) for _ in range(2))

    assert one.id != other.id
    assert streams(server) == 2
    for stream in (one, other):
        stream.close().get(timeout=PATIENCE)
    wait_for_no_stream(server)
