"""A server in the client's own process, or behind a transport of one's own, hears of new roots."""

from __future__ import annotations

from typing import Any

import pytest
from everything import LATER, STATELESS, make
from inside import PATIENCE

import snodo_actors as snodo

CHANGED = "notifications/roots/list_changed"
CHANGING = {"roots": {"listChanged": True}}


class Told:
    """A transport that writes down what it is to tell."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen
        self.peer = make().runtime().connect()

    @classmethod
    def connect(cls, seen: list[Any], **_options: Any) -> Told:
        return cls(seen)

    def request(self, message: Any, **options: Any) -> Any:
        return self.peer.request(message, **options)

    def notify(self, message: Any, **options: Any) -> Any:
        if message["method"] == CHANGED:
            self.seen.append((message, options))
            self.told()

    def told(self) -> None: ...

    def close(self) -> None: ...


class ToldSoon(Told):
    """The same, async."""

    async def notify(self, message: Any, **options: Any) -> Any:
        super().notify(message, **options)


@pytest.mark.parametrize("transport", [Told, ToldSoon])
def test_a_transport_is_given_the_notification(transport: Any) -> None:
    seen: list[Any] = []
    client = snodo.connect(
        (transport, seen), protocol=LATER, client_capabilities=CHANGING, timeout=3.0
    ).get(timeout=PATIENCE)

    assert client.roots_changed().get(timeout=PATIENCE) is None
    assert client.roots_changed(timeout=None).get(timeout=PATIENCE) is None

    message = {"jsonrpc": "2.0", "method": CHANGED, "params": {}}
    options = {"dialect": LATER, "headers": [("mcp-protocol-version", LATER)]}
    assert seen == [
        (message, {"timeout": 3.0, **options}),
        (message, {"timeout": None, **options}),
    ]


@pytest.mark.parametrize(
    ("raised", "fails"),
    [
        (snodo.TransportError, snodo.TransportError(-32000, "no")),
        (snodo.TransportError, OSError("gone")),
        (ZeroDivisionError, ZeroDivisionError()),
    ],
)
def test_what_a_transport_fails_with_is_the_caller_s(raised: Any, fails: Any) -> None:
    class Failing(Told):
        def told(self) -> None:
            raise fails

    client = snodo.connect((Failing, []), protocol=LATER, client_capabilities=CHANGING).get(
        timeout=PATIENCE
    )

    with pytest.raises(raised):
        client.roots_changed().get(timeout=PATIENCE)
    assert client.ping().get(timeout=PATIENCE) == {}


@pytest.mark.usefixtures("inner_node")
async def test_a_server_of_ours_takes_it() -> None:
    client = await snodo.direct(make().runtime(), protocol=LATER, client_capabilities=CHANGING)

    assert await client.roots_changed() is None
    assert await client.ping() == {}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"client_capabilities": {"roots": {}}},
        {"client_capabilities": {"roots": {"listChanged": False}}},
        {"client_capabilities": {"roots": True}},
        {"input_handlers": {"roots": lambda _params: {"roots": []}}},
    ],
)
def test_without_the_promise_it_is_a_mistake(options: dict[str, Any]) -> None:
    client = snodo.direct(make().runtime(), protocol=LATER, **options).get(timeout=PATIENCE)

    with pytest.raises(ValueError, match=r'client_capabilities={"roots"'):
        client.roots_changed()


def test_a_handler_beside_the_promise_is_no_hindrance() -> None:
    client = snodo.direct(
        make().runtime(),
        protocol=LATER,
        client_capabilities=CHANGING,
        input_handlers={"roots": lambda _params: {"roots": []}},
    ).get(timeout=PATIENCE)

    assert client.roots_changed().get(timeout=PATIENCE) is None


@pytest.mark.parametrize("timeout", [0, "1", True])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    client = snodo.direct(make().runtime(), protocol=LATER, client_capabilities=CHANGING).get()

    with pytest.raises((TypeError, ValueError), match="timeout must be"):
        client.roots_changed(timeout=timeout)


def test_the_newest_version_has_no_such_notification() -> None:
    client = snodo.direct(make().runtime(), protocol=STATELESS, client_capabilities=CHANGING).get()

    with pytest.raises(snodo.ProtocolError) as refused:
        client.roots_changed().get(timeout=PATIENCE)

    assert (refused.value.code, refused.value.delivery) == (-32601, "never_sent")
    assert refused.value.data == {"method": CHANGED, "protocolVersion": STATELESS}
