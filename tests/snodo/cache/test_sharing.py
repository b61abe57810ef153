"""Who sees whose results, and how many there may be."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest
from counted import Counted
from everything import make

import snodo_actors as snodo
from snodo_actors.actors import caching
from snodo_actors.actors.request import Request
from snodo_actors.machines.deadline import Timeouts
from snodo_actors.server import Server
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.request_options import NO_OPTIONS
from supervisors import current_node

MIB = 1024 * 1024


@pytest.fixture
def server() -> Counted:
    server = Counted(make())
    server.answers["resources/read"] = lambda _: {
        "contents": [],
        "number": server.asked["resources/read"],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }
    return server


def number(client: snodo.Client, uri: str = "x:") -> int:
    return client.read_resource(uri).get()["number"]


class Opaque:
    """Equal to itself only."""


@dataclass(frozen=True)
class Person:
    name: str


@dataclass
class Account:
    """No hash: it may change."""

    name: str


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, None),
        ("ann", "ann"),
        ({"user": "ann", "roles": ["a", {"b": 1}]}, {"roles": ["a", {"b": 1}], "user": "ann"}),
        (("ann", {1, 2}), ("ann", {2, 1})),
        (Person("ann"), Person("ann")),
        (frozenset({"a"}), frozenset({"a"})),
    ],
)
def test_what_is_private_is_shared_by_those_with_the_same_auth(
    server: Counted, one: Any, other: Any
) -> None:
    assert number(server.client(auth=one)) == number(server.client(auth=other)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann", "bob"),
        ("ann", None),
        ({"user": "ann"}, {"user": "bob"}),
        ({"user": "ann"}, {"user": "ann", "admin": True}),
        ({"level": 1}, {"level": True}),
        (1, True),
        (1, 1.0),
        (["ann"], ("ann",)),
        (Person("ann"), Person("bob")),
        (Opaque(), Opaque()),
        (None, ()),
    ],
)
def test_what_is_private_is_not_shared_with_others(server: Counted, one: Any, other: Any) -> None:
    first, second = server.client(auth=one), server.client(auth=other)

    assert (number(first), number(second), number(first), number(second)) == (1, 2, 1, 2)


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "auth", [Account("ann"), {"user": Account("ann")}, bytearray(b"a"), cycle()]
)
def test_who_cannot_be_told_apart_keeps_nothing_private(server: Counted, auth: Any) -> None:
    client = server.client(auth=auth)

    assert (number(client), number(client)) == (1, 2)
    assert client.list_tools().get() == client.list_tools().get()
    assert server.asked["tools/list"] == 1, "what is public is kept all the same"


def test_auth_that_changes_is_somebody_else(server: Counted) -> None:
    auth = {"user": "ann"}
    client = server.client(auth=auth)
    assert number(client) == 1

    auth["user"] = "bob"
    assert (number(client), number(client)) == (2, 2)
    auth["user"] = "ann"
    assert number(client) == 1


def test_auth_that_changes_under_way_is_nobody_s(server: Counted) -> None:
    auth = {"user": "ann"}
    client = server.client(auth=auth)
    call = client.read_resource("x:")
    auth["user"] = "bob"  # the server is called where the call is awaited
    assert call.get()["number"] == 1

    assert (number(client), number(server.client(auth={"user": "ann"}))) == (2, 3)


def test_what_is_public_is_shared_whatever_the_auth(server: Counted) -> None:
    for auth in ("ann", "bob", None, Account("ann")):
        assert server.client(auth=auth).list_tools().get()
    assert server.asked["tools/list"] == 1


def test_a_result_that_became_private_is_not_found_as_public(server: Counted) -> None:
    scopes = iter(["public", "private"])
    server.answers["tools/list"] = lambda _: {
        "tools": [{"name": str(server.asked["tools/list"])}],
        "ttlMs": 60_000,
        "cacheScope": next(scopes),
    }
    ann, bob = server.client(auth="ann"), server.client(auth="bob")
    assert ann.list_tools().get() == [{"name": "1"}]
    assert bob.list_tools().get() == [{"name": "1"}]


@pytest.mark.parametrize(
    "options",
    [
        {"client_info": {"name": "other", "version": "1"}},
        {"client_capabilities": {"roots": {}}},
        {"input_handlers": {"form": print}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_clients_that_say_other_things_of_themselves_share_nothing(
    server: Counted, options: Any
) -> None:
    for _ in range(2):
        server.client().list_tools().get()
        server.client(**options).list_tools().get()
    assert server.asked["tools/list"] == 2


def test_versions_share_nothing(server: Counted) -> None:
    server.answers["tools/list"] = lambda message: {
        "tools": [{"name": "old" if "_meta" not in message["params"] else "new"}],
        "ttlMs": 60_000,
        "cacheScope": "public",
    }
    for _ in range(2):
        for version, name in (("2026-07-28", "new"), ("2025-11-25", "old"), ("2025-06-18", "old")):
            assert server.client(protocol=version).list_tools().get() == [{"name": name}]
    assert server.asked["tools/list"] == 3


def test_two_runtimes_of_one_server_are_one_and_two_servers_are_two() -> None:
    reads: list[str] = []

    def make_one() -> Server:
        server = Server("twin", ttl=60.0, cache_scope="public")

        @server.resource("x:a")
        def a() -> str:
            reads.append("read")
            return "a"

        return server

    one, other = make_one(), make_one()
    for server in (one, one, other, other):
        snodo.direct(server.runtime(), cache=True).get().read_resource("x:a").get()
    assert len(reads) == 2
    only_new = one.runtime("2026-07-28")
    snodo.direct(only_new, cache=True).get().read_resource("x:a").get()
    assert len(reads) == 3, "with other versions it may answer differently"


def test_a_runtime_that_has_no_hash_is_each_client_s_own() -> None:
    class Unhashed(Counted):
        __hash__ = None  # type: ignore[assignment]  # that is the point

    server = Unhashed(make())
    for _ in range(2):
        client = server.client()
        client.list_tools().get()
        client.list_tools().get()
    assert server.asked["tools/list"] == 2


# ---- a transport that learns only while it carries a request out who asks

URL = ("http", "https://example.test/mcp")


def looked_up(sharing: caching.Sharing) -> Request:
    """A request that found nothing public."""
    params = {"uri": "x:"}
    request = Request(current_node(), "me", "resources/read", params, Timeouts(5.0))
    assert not caching.Caching(ClientOptions(), None).answers(request, NO_OPTIONS, sharing)
    assert not request.done()
    return request


def test_a_private_result_is_found_by_who_is_told_late() -> None:
    private = {"contents": [], "ttlMs": 60_000, "cacheScope": "private"}
    first = looked_up(caching.Sharing(URL, "variant"))
    assert first.lookup is not None
    assert not first.lookup.answers(first, "a token")
    first.lookup.credential = "a fresh token"  # the other was refused meanwhile
    first.settle(private)
    assert first.get() == private

    for sharing, token, found in [
        (caching.Sharing(URL, "variant"), "a fresh token", True),
        (caching.Sharing(URL, "variant"), "a token", False),
        (caching.Sharing(URL, "other"), "a fresh token", False),
        (caching.Sharing((*URL, "?"), "variant"), "a fresh token", False),
    ]:
        later = looked_up(sharing)
        assert later.lookup is not None
        assert later.lookup.answers(later, token) is found
        assert later.done() is found


def test_what_changed_after_the_first_look_counts(store: caching.Store) -> None:
    request = looked_up(caching.Sharing(URL))
    assert request.lookup is not None
    store.notified([URL], "notifications/tools/list_changed", {})
    assert not request.lookup.answers(request, "a token")
    request.settle({"contents": [], "ttlMs": 60_000, "cacheScope": "private"})

    later = looked_up(caching.Sharing(URL))
    assert later.lookup is not None
    assert not later.lookup.answers(later, "a token")


# ---- how many


def test_the_257th_result_pushes_out_the_one_that_was_used_longest_ago(server: Counted) -> None:
    client = server.client()
    for index in range(256):
        client.read_resource(f"x:{index}").get()
    client.read_resource("x:0").get()
    assert server.asked["resources/read"] == 256
    client.read_resource("x:256").get()

    client.read_resource("x:0").get()
    client.read_resource("x:256").get()
    assert server.asked["resources/read"] == 257
    client.read_resource("x:1").get()
    assert server.asked["resources/read"] == 258


def large(server: Counted, size: int) -> None:
    """Let every resource be a text of *size* bytes."""
    server.answers["resources/read"] = lambda _: {
        "text": "x" * size,
        "ttlMs": 60_000,
        "cacheScope": "public",
    }


def test_a_result_that_is_larger_than_all_may_be_is_not_kept(server: Counted) -> None:
    client = server.client()
    client.list_tools().get()
    large(server, 16 * MIB)
    for _ in range(2):
        client.read_resource("x:").get()
    assert server.asked["resources/read"] == 2
    client.list_tools().get()
    assert server.asked["tools/list"] == 1, "and pushes out no other"


def test_results_take_16_mebibytes_at_most_with_what_they_are_found_by(
    server: Counted, store: caching.Store
) -> None:
    large(server, 4 * MIB)
    client = server.client()
    for index in range(4):
        client.read_resource(f"x:{index}").get()
    assert len(store._cache) == 3, "four times four, and the keys, is more"
    assert 12 * MIB < store._cache.bytes_held < 12 * MIB + 2000
    client.read_resource("x:3").get()
    assert server.asked["resources/read"] == 4
    client.read_resource("x:0").get()
    assert server.asked["resources/read"] == 5


def test_many_threads_may_look_keep_and_forget_at_a_time(
    server: Counted, store: caching.Store
) -> None:
    server.answers["resources/read"] = lambda message: {
        "got": message["params"]["uri"],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }
    clients = [server.client(auth=number) for number in range(3)]
    wrong: list[Any] = []

    def run(own: int) -> None:
        for index in range(300):
            uri = f"x:{index * own % 97}"
            got = clients[(index + own) % 3].read_resource(uri).get()["got"]
            if got != uri:
                wrong.append((uri, got))
            if index % 10 == own:
                params = {"uri": f"x:{index % 97}"}
                namespace = ("runtime", server)
                store.notified([namespace], "notifications/resources/updated", params)

    threads = [threading.Thread(target=run, args=(own,)) for own in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = store._cache._entries
    assert wrong == []
    assert server.asked["resources/read"] < 1800, "nothing was kept"
    assert store._cache.bytes_held == sum(entry.size for entry in entries.values())
    assert {key for keys in store._cache._subjects.values() for key in keys} == set(entries)
