"""Streams of events: what is agreed to, what comes, and how they end."""

from __future__ import annotations

from typing import Any

import pytest
from everything import LATER, STATELESS, make, meta
from protocol_schemas import check

from snodo_actors.server import Server

EVENTS = {
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
}


def listen(server: Server, wanted: Any, id: Any = "l", version: str = STATELESS) -> Any:
    came: list[Any] = []
    params = {"notifications": wanted, "_meta": meta()}
    message = {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}
    end = server.runtime(version).connect().listen(message, came.append)
    return came, end


def events(came: list[Any]) -> list[tuple[str, Any]]:
    found = []
    for message in came:
        params = dict(message["params"])
        assert params.pop("_meta") == {"io.modelcontextprotocol/subscriptionId": "l"}
        check(message, STATELESS, EVENTS[message["method"]])
        found.append((message["method"].removeprefix("notifications/"), params))
    return found


ACCEPTED = [
    ({}, {}),
    ({"toolsListChanged": True}, {"toolsListChanged": True}),
    ({"toolsListChanged": False, "promptsListChanged": True}, {"promptsListChanged": True}),
    ({"resourceSubscriptions": ["a", "b"]}, {"resourceSubscriptions": ["a", "b"]}),
    ({"resourceSubscriptions": []}, {}),
    ({"taskIds": ["1"]}, {}),
]


@pytest.mark.parametrize(("wanted", "accepted"), ACCEPTED)
def test_the_acknowledgement_comes_first(wanted: Any, accepted: Any) -> None:
    (came,), end = listen(make(), wanted)

    check(came, STATELESS, "SubscriptionsAcknowledgedNotification")
    assert came["params"] == {
        "notifications": accepted,
        "_meta": {"io.modelcontextprotocol/subscriptionId": "l"},
    }
    end(("cancelled", "client"))


def test_only_what_is_offered_is_agreed_to() -> None:
    server = Server("tools only")
    server.tool("a")(lambda: "1")
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["a"],
    }

    (came,), _ = listen(server, wanted)
    assert came["params"]["notifications"] == {"toolsListChanged": True}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (None, "notifications must be an object"),
        ([], "notifications must be an object"),
        ({"toolsListChanged": 1}, "toolsListChanged must be a boolean"),
        ({"resourceSubscriptions": "a"}, "resourceSubscriptions must be a list of strings"),
        ({"resourceSubscriptions": [1]}, "resourceSubscriptions must be a list of strings"),
    ],
)
def test_a_filter_that_is_none(wanted: Any, said: str) -> None:
    server = make()
    (came,), end = listen(server, wanted, id=3)

    assert came == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {"code": -32602, "message": f"Invalid params: {said}"},
    }
    end(("cancelled", "client"))
    assert len(server._tables.feeds) == 0


def test_the_initialize_era_has_no_streams() -> None:
    (came,), _ = listen(make(), {}, version=LATER)

    assert came["error"]["code"] == -32601


def test_events_go_to_those_that_want_them() -> None:
    server = make()
    tools, _ = listen(server, {"toolsListChanged": True})
    rest, _ = listen(server, {"promptsListChanged": True, "resourcesListChanged": True})

    server.tool("new")(lambda: "1")
    server.remove_tool("new")
    server.tools_changed()
    server.prompt("new")(lambda: "1")
    server.prompts_changed()
    server.resource("a://b", "b")(lambda: "1")
    server.remove_resource("a://b")
    server.resources_changed()
    server.resource_template("a://{b}", "b")(lambda b: b)
    server.completion("b", template="a://{b}")(lambda value: [])

    assert events(tools[1:]) == [("tools/list_changed", {})] * 3
    assert events(rest[1:]) == [
        *[("prompts/list_changed", {})] * 2,
        *[("resources/list_changed", {})] * 4,
    ]


UPDATES = [
    ("notes://a", "notes://a", True),
    ("notes://a", "notes://a/b", True),
    ("notes://a/", "notes://a/b", True),
    ("notes://a", "notes://ab", False),
    ("notes://a/b", "notes://a", False),
]


@pytest.mark.parametrize(("subscribed", "uri", "comes"), UPDATES)
def test_updates_of_a_resource_and_of_what_is_under_it(
    subscribed: str, uri: str, comes: bool
) -> None:
    server = make()
    came, _ = listen(server, {"resourceSubscriptions": [subscribed]})

    server.resource_updated(uri)
    assert events(came[1:]) == ([("resources/updated", {"uri": uri})] if comes else [])


def test_nothing_comes_after_the_client_s_end() -> None:
    server = make()
    came, end = listen(server, {"toolsListChanged": True})

    for _ in range(2):
        end(("cancelled", "client"))
    server.tools_changed()
    assert (len(came), len(server._tables.feeds)) == (1, 0)


def test_the_server_ends_streams_with_their_response() -> None:
    server = make()
    came, _ = listen(server, {"toolsListChanged": True})

    server.end_subscriptions()
    server.tools_changed()
    check(came[1], STATELESS, "SubscriptionsListenResultResponse")
    assert (len(came), came[1]["id"]) == (2, "l")
