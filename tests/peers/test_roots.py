"""The servers of the official SDK are told that the roots changed, and ask for them anew."""

from __future__ import annotations

import pytest
from peers import http_kinds
from peers import http_kit as http
from peers.kinds import MODERN, OLDER, PYTHON_ONE, PYTHON_TWO, TYPESCRIPT_ONE, named
from peers.kit import answers, both, closes, said
from peers.test_input import User

import snodo_actors as snodo

CHANGING = {"roots": {"listChanged": True}}
STDIO = [(kind, version) for kind in (PYTHON_ONE, PYTHON_TWO) for version in OLDER]
WEB = [
    (kind, version)
    for kind in (http_kinds.PYTHON_ONE, http_kinds.PYTHON_TWO, http_kinds.PYTHON_TWO_JSON)
    for version in OLDER
]


class Folders:
    """Answers with the roots there are at the time."""

    def __init__(self) -> None:
        self.now = "file:///one"

    def __call__(self, _params):
        return {"roots": [{"uri": self.now}]}


@pytest.mark.parametrize("peer", STDIO, ids=named, indirect=True)
@both
async def test_a_server_over_stdio_is_told(at, peer):
    folders = Folders()
    client = await at.get(
        peer.connect(client_capabilities=CHANGING, input_handlers={"roots": folders})
    )
    assert "file:///one" in said(await at.get(client.call_tool("ask_roots")))
    folders.now = "file:///two"
    assert await at.get(client.roots_changed()) is None
    await at.until(lambda: len(peer.facts("roots changed")) == 1)
    assert "file:///two" in said(await at.get(client.call_tool("ask_roots")))
    await closes(at, peer, client)


@pytest.mark.parametrize("fresh", WEB, ids=named, indirect=True)
@http.both
async def test_a_server_over_http_is_told(at, fresh):
    client = await at.get(fresh.connect(client_capabilities=CHANGING))
    assert await at.get(client.roots_changed()) is None
    await at.until(lambda: len(fresh.facts("roots changed")) == 1)
    [*_, told] = fresh.answered("POST")
    assert told["status"] == 202
    assert told["headers"]["mcp-session-id"] == client.session.id
    assert told["headers"]["mcp-protocol-version"] == client.session.version
    await answers(at, fresh, client)
    await http.closes(at, fresh, client)


@pytest.mark.parametrize("peer", [(PYTHON_TWO, MODERN)], ids=named, indirect=True)
@both
async def test_the_newest_version_has_no_such_notification(at, peer):
    client = await at.get(peer.connect(client_capabilities=CHANGING))
    error = await at.error(client.roots_changed())
    assert isinstance(error, snodo.ProtocolError)
    assert (error.code, error.delivery) == (-32601, "never_sent")
    assert error.data == {
        "method": "notifications/roots/list_changed",
        "protocolVersion": MODERN,
    }
    await answers(at, peer, client)
    await closes(at, peer, client)
    assert peer.facts("roots changed") == []


@pytest.mark.parametrize(
    "peer", [(TYPESCRIPT_ONE, version) for version in OLDER], ids=named, indirect=True
)
@both
async def test_a_server_asks_for_them_anew(at, peer):
    """The reference server does, as it does at the beginning."""
    user = User()
    client = await at.get(peer.connect(client_capabilities=CHANGING, input_handlers=user.handlers))
    await at.until(lambda: len(user.asked) == 1)
    await at.get(client.roots_changed())
    await at.until(lambda: len(user.asked) == 2)
    await closes(at, peer, client)
