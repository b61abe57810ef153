"""How a client of an in-process server comes to be: versions, options, the end."""

from __future__ import annotations

from typing import Any

import pytest
from everything import FIRST, LATER, STATELESS, VERSIONS, make

import snodo_actors as snodo

SERVER = make()


def opened(versions: Any = None, **options: Any) -> snodo.Client:
    return snodo.direct(SERVER.runtime(versions), **options).get(timeout=5)


CHOICES = [
    (None, None, STATELESS),
    (None, VERSIONS, STATELESS),
    (None, [FIRST, LATER], LATER),
    ([FIRST, LATER], None, LATER),
    ([FIRST], None, FIRST),
    ([FIRST, STATELESS], [LATER, FIRST], FIRST),
    (None, FIRST, FIRST),
]


@pytest.mark.parametrize(("enabled", "allowed", "spoken"), CHOICES)
def test_the_newest_version_both_have_is_spoken(enabled: Any, allowed: Any, spoken: str) -> None:
    client = opened(enabled, **({"protocol": allowed} if allowed else {}))

    assert client.protocol == spoken
    if spoken == STATELESS:
        assert client.session is None
    else:
        assert client.session is not None
        assert client.session.version == spoken
        assert client.session.id is None
        assert client.session.instructions == "Try it all."
        assert client.session.server_info["name"] == "everything"
        assert "tools" in client.session.server_capabilities


def test_no_version_in_common() -> None:
    with pytest.raises(snodo.ProtocolError) as failed:
        opened([FIRST, LATER], protocol=STATELESS)

    error = failed.value
    assert (error.code, error.kind, error.cause) == (-32602, "protocol", None)
    assert error.data == {"requested": [STATELESS], "enabled": [LATER, FIRST]}
    assert (error.delivery, error.who) == ("never_sent", "direct everything")


def test_a_version_nobody_knows_is_told_before_anything_else() -> None:
    refused = snodo.direct(SERVER.runtime(), protocol=["1900-01-01"], timeout="soon")

    with pytest.raises(snodo.ProtocolError) as failed:
        refused.get(timeout=5)
    error = failed.value
    assert (error.code, error.kind, error.delivery) == (-32602, "protocol", "never_sent")
    assert error.data == {"requested": "1900-01-01", "supported": list(VERSIONS)}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"protocol": []}, ValueError),
        ({"protocol": 7}, TypeError),
        ({"client_info": {}}, ValueError),
        ({"client_capabilities": []}, TypeError),
        ({"input_handlers": {"form": 1}}, TypeError),
        ({"input_handlers": {"none": print}}, ValueError),
        ({"max_pages": 0}, ValueError),
        ({"max_input_rounds": 0}, ValueError),
        ({"cache": 1}, TypeError),
        ({"timeout": -1.0}, ValueError),
        ({"unheard_of": 1}, TypeError),
    ],
)
def test_a_wrong_option_is_told_at_once(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        snodo.direct(SERVER.runtime(), **options)


@pytest.mark.parametrize("runtime", [SERVER, None, "server"])
def test_what_is_no_runtime(runtime: Any) -> None:
    with pytest.raises(TypeError, match=r"write direct\(server.runtime\(\)\)"):
        snodo.direct(runtime)


def test_to_close_one_does_nothing() -> None:
    client = opened()
    client.close()
    client.close().get(timeout=5)

    assert client.close().done()
    with client:
        assert len(client.list_tools().get(timeout=5)) > 5
    assert client.call_tool("add", {"a": 1}).get(timeout=5)["structuredContent"] == {"result": 3}


async def test_to_leave_an_async_block_does_nothing_either() -> None:
    async with await snodo.direct(SERVER.runtime()) as client:
        assert len(await client.list_tools()) > 5
    assert len(await client.list_tools()) > 5


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_told_how_it_comes_to_be(version: str) -> None:
    told: list[Any] = []
    detach = snodo.telemetry.attach(lambda event, what: told.append((event, what)))
    opened(protocol=version)
    with pytest.raises(snodo.Error):
        opened([FIRST], protocol=STATELESS)
    detach()

    assert [event for event, _ in told] == ["connect.start", "connect.stop"] * 2
    assert (told[1][1]["version"], told[1][1]["error"]) == (version, None)
    assert (told[3][1]["version"], told[3][1]["error"].code) == (None, -32602)
    assert {what["who"] for _, what in told} == {"direct everything"}


def test_a_cache_may_be_asked_for() -> None:
    client = opened(cache=True)

    assert client.list_tools(bypass_cache=True).get(timeout=5) == client.list_tools().get(timeout=5)


def test_a_client_says_what_it_is() -> None:
    assert repr(opened()) == f"<Client of direct everything, {STATELESS}>"
