"""Results that came over a transport of the user's own: kept for the one client of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from everything import make
from inside import PATIENCE

import snodo_actors as snodo
from snodo_actors.server import Server


class Wire:
    """What the transports of one test have in common."""

    def __init__(self) -> None:
        self.server: Server = make()
        self.asked: Counter[str] = Counter()
        self.scope = "public"


class Plain:
    """Carries messages to the server of a wire, and says who may see the results."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.peer = wire.server.runtime().connect()

    @classmethod
    def connect(cls, wire: Wire, **_options: Any) -> Plain:
        return cls(wire)

    def request(self, message: Any, **options: Any) -> Any:
        self.wire.asked[message["method"]] += 1
        response = self.peer.request(message, **options)
        if "cacheScope" in response["result"]:
            response["result"]["cacheScope"] = self.wire.scope
        return response

    def listen(self, message: Any, deliver: Any, **_options: Any) -> Any:
        return self.peer.listen(message, deliver)

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def wire() -> Wire:
    return Wire()


def opened(wire: Wire, **options: Any) -> snodo.Client:
    options = {"protocol": "2026-07-28", "cache": True, **options}
    return snodo.connect((Plain, wire), **options).get(timeout=PATIENCE)


def test_what_is_public_is_kept(wire: Wire) -> None:
    client = opened(wire)
    assert client.list_tools().get() == client.list_tools().get()
    assert client.discover().get() == client.discover().get()
    assert wire.asked == {"tools/list": 1, "server/discover": 1}


def test_the_question_for_the_version_neither_looks_nor_keeps(wire: Wire) -> None:
    client = opened(wire, protocol=["2026-07-28", "2025-11-25"])
    client.discover().get()
    assert wire.asked == {"server/discover": 2}


def test_what_is_private_is_not_kept(wire: Wire) -> None:
    wire.scope = "private"
    client = opened(wire, auth="ann")
    client.list_tools().get()
    client.list_tools().get()
    assert wire.asked == {"tools/list": 2}


def test_two_clients_share_nothing(wire: Wire) -> None:
    for client in [opened(wire), opened(wire)] * 2:
        client.list_tools().get()
    assert wire.asked == {"tools/list": 2}


@pytest.mark.usefixtures("node")
def test_an_event_makes_stale_what_its_own_client_has(wire: Wire) -> None:
    client, other = opened(wire), opened(wire)
    stream = client.listen({"toolsListChanged": True}).get(timeout=PATIENCE)
    client.list_tools().get()
    other.list_tools().get()

    wire.server.tools_changed()
    client.list_tools().get()
    assert wire.asked["tools/list"] == 3
    other.list_tools().get()
    assert wire.asked["tools/list"] == 3
    stream.close().get()


def test_a_closed_client_answers_nothing_from_what_was_kept(wire: Wire) -> None:
    client = opened(wire)
    client.list_tools().get()
    client.close().get()
    client.list_tools().get()
    assert wire.asked["tools/list"] == 2, "what comes of it is the transport's to say"
