"""What the events of a stream make stale: gone when they arrive, before their owner hears of it."""

from __future__ import annotations

from typing import Any

import pytest
from counted import Counted
from everything import make
from inside import PATIENCE

import snodo_actors as snodo
from snodo_actors.actors import caching
from snodo_actors.server import Server

ALL = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["notes://today", "notes://raw"],
}
CALLS: dict[str, Any] = {
    "server/discover": lambda client: client.discover(),
    "tools/list": lambda client: client.list_tools(),
    "prompts/list": lambda client: client.list_prompts(),
    "resources/list": lambda client: client.list_resources(),
    "resources/templates/list": lambda client: client.list_resource_templates(),
    "today": lambda client: client.read_resource("notes://today"),
    "raw": lambda client: client.read_resource("notes://raw"),
}


@pytest.fixture
def inner() -> Server:
    return make()


@pytest.fixture
def server(inner: Server) -> Counted:
    return Counted(inner)


def sent_again(server: Counted, client: snodo.Client) -> set[str]:
    """Make each call; which of them were sent?"""
    again = set()
    for name, call in CALLS.items():
        before = server.asked.total()
        call(client).get()
        if server.asked.total() > before:
            again.add(name)
    return again


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    ("change", "stale"),
    [
        (lambda server: server.tools_changed(), {"tools/list"}),
        (lambda server: server.prompts_changed(), {"prompts/list"}),
        (
            lambda server: server.resources_changed(),
            {"resources/list", "resources/templates/list"},
        ),
        (lambda server: server.resource_updated("notes://today"), {"today"}),
        (lambda server: server.resource_updated("notes://today/part"), set()),
        (lambda server: server.remove_tool("add"), {"tools/list"}),
    ],
)
def test_an_event_makes_stale_what_it_is_about(
    inner: Server, server: Counted, change: Any, stale: set[str]
) -> None:
    client, other = server.client(), server.client(client_info={"name": "b", "version": "1"})
    stream = server.client(cache=False).listen(ALL).get(timeout=PATIENCE)
    assert sent_again(server, client) == sent_again(server, other) == set(CALLS)

    change(inner)
    assert sent_again(server, client) == sent_again(server, other) == stale
    stream.close().get()


@pytest.mark.usefixtures("node")
def test_what_is_private_is_forgotten_for_everybody(inner: Server, server: Counted) -> None:
    server.answers["tools/list"] = lambda _: {
        "tools": [],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }
    clients = [server.client(auth=auth) for auth in ("ann", "bob")]
    stream = clients[0].listen(ALL).get(timeout=PATIENCE)
    for client in clients * 2:
        client.list_tools().get()
    assert server.asked["tools/list"] == 2

    inner.tools_changed()
    for client in clients * 2:
        client.list_tools().get()
    assert server.asked["tools/list"] == 4
    stream.close().get()


@pytest.mark.usefixtures("node")
def test_other_servers_keep_theirs(inner: Server, server: Counted) -> None:
    other = Counted(make())
    client, stream = other.client(), server.client().listen(ALL).get(timeout=PATIENCE)
    sent_again(other, client)

    inner.tools_changed()
    assert sent_again(other, client) == set()
    stream.close().get()


@pytest.mark.usefixtures("node")
def test_without_a_stream_a_result_is_kept_for_its_time(inner: Server, server: Counted) -> None:
    client = server.client()
    stream = client.listen({"promptsListChanged": True}).get(timeout=PATIENCE)
    sent_again(server, client)

    inner.tools_changed()
    assert sent_again(server, client) == set()
    stream.close().get()


@pytest.mark.usefixtures("inner_node")
async def test_it_is_gone_when_the_owner_hears_of_it(inner: Server, server: Counted) -> None:
    client = await snodo.direct(server, cache=True)
    stream = await client.listen(ALL)
    for round in range(1, 4):
        await client.list_tools()
        inner.tools_changed()
        assert (await stream.next())[1] == "notifications/tools/list_changed"
        await client.list_tools()
        assert server.asked["tools/list"] == 1 + round
    await stream.close()


@pytest.mark.usefixtures("node")
def test_an_event_that_the_owner_never_gets_counts(inner: Server, server: Counted) -> None:
    client = server.client()
    stream = client.listen(ALL, max_buffer=1, overflow="drop_newest").get(timeout=PATIENCE)
    inner.prompts_changed()
    client.list_tools().get()

    inner.tools_changed()
    client.list_tools().get()
    assert server.asked["tools/list"] == 2
    stream.close().get()


@pytest.mark.usefixtures("node")
def test_what_was_under_way_when_something_changed_is_not_kept(
    inner: Server, server: Counted
) -> None:
    """It may be of before the change, and nobody can tell."""

    def answer(_message: Any) -> Any:
        if server.asked["resources/read"] == 1:
            inner.prompts_changed()
        return {"contents": [], "ttlMs": 60_000, "cacheScope": "public"}

    server.answers["resources/read"] = answer
    client = server.client()
    stream = client.listen(ALL).get(timeout=PATIENCE)

    for sent in (1, 2, 2):
        client.read_resource("x:").get()
        assert server.asked["resources/read"] == sent
    stream.close().get()


@pytest.mark.usefixtures("node")
def test_an_event_that_makes_nothing_stale_does_not_stand_in_the_way(
    server: Counted, store: caching.Store
) -> None:
    def answer(_message: Any) -> Any:
        store.notified([("runtime", server)], "notifications/message", {})
        store.notified([("runtime", server)], "notifications/resources/updated", {"uri": 1})
        store.notified([("runtime", server)], ["notifications/tools/list_changed"], {})
        return {"contents": [], "ttlMs": 60_000, "cacheScope": "public"}

    server.answers["resources/read"] = answer
    client = server.client()
    for _ in range(2):
        client.read_resource("x:").get()
    assert server.asked["resources/read"] == 1
