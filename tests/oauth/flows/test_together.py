"""Many calls, clients and programs at once: one registration, one user, one refresh."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
from case_servers import PATIENCE, PLACES, SLOW, TESTS, everywhere, text_of
from oauth.flows.ways import adds, code, connect, on_both, on_one, works
from oauth.servers.kit import User

from snodo_actors import oauth
from supervisors import Node

PROGRAM = Path(__file__).parent.parent / "programs" / "keeps_calling.py"


@on_both
async def test_64_calls_that_are_refused_at_once_are_refreshed_once(at, protect):
    authority, resource = protect()
    user = User()
    client = await at.get(connect(resource, code(user), pool_size=64))
    await adds(at, client)
    authority.revoke()
    calls = [client.call_tool("add", {"a": n, "b": 0}) for n in range(64)]
    assert [text_of(one) for one in await at.all(*calls)] == [str(n) for n in range(64)]
    await at.get(client.close())
    assert ([fact["status"] for fact in authority.refreshes()], len(user.visits)) == ([200], 1)


@on_both
async def test_clients_that_share_a_provider_share_its_tokens(at, protect):
    authority, resource = protect()
    user = User()
    provider = code(user)

    clients = await at.all(*[connect(resource, provider) for _ in range(8)])
    calls = [client.call_tool("add", {"a": 1, "b": 1}) for client in clients]
    assert {text_of(one) for one in await at.all(*calls)} == {"2"}
    assert [len(authority.facts(kind)) for kind in ("register", "authorize", "token")] == [1, 1, 1]
    authority.revoke()
    calls = [client.call_tool("add", {"a": 1, "b": 1}) for client in clients for _ in range(4)]
    assert {text_of(one) for one in await at.all(*calls)} == {"2"}
    for client in clients:
        await at.get(client.close())
    assert (len(authority.refreshes()), len(user.visits)) == (1, 1)


@on_one
async def test_providers_that_share_a_store_share_what_is_in_it(at, protect):
    authority, resource = protect()
    user, store = User(), oauth.MemoryStore()
    providers = [code(user, store=store) for _ in range(8)]
    clients = await at.all(*[connect(resource, provider) for provider in providers])
    for client in clients:
        await adds(at, client)
    authority.revoke()
    calls = [client.call_tool("add", {"a": 1, "b": 1}) for client in clients]
    assert {text_of(one) for one in await at.all(*calls)} == {"2"}
    for client in clients:
        await at.get(client.close())
    assert [len(authority.facts(kind)) for kind in ("register", "authorize")] == [1, 1]
    assert [fact["status"] for fact in authority.refreshes()] == [200]


def test_a_provider_is_shared_by_nodes_in_two_threads(protect):
    authority, resource = protect()
    user = User()
    provider = code(user)
    meet = threading.Barrier(2, timeout=PATIENCE)

    def run(name: str) -> None:
        place = PLACES[name]()

        async def calls() -> None:
            client = await place.get(connect(resource, provider, pool_size=16))
            await adds(place, client)
            meet.wait()
            if name == "asyncio":
                authority.revoke()
            meet.wait()
            calls = [client.call_tool("add", {"a": 1, "b": 1}) for _ in range(16)]
            assert {text_of(one) for one in await place.all(*calls)} == {"2"}
            await place.get(client.close())

        place.run(calls)

    with ThreadPoolExecutor(2) as pool:
        for running in [pool.submit(run, name) for name in ("asyncio", "trio")]:
            running.result()
    assert [len(authority.facts(kind)) for kind in ("register", "authorize")] == [1, 1]
    assert [fact["status"] for fact in authority.refreshes()] == [200]
    # And the next node, when these have ended.
    for name in ("trio", "asyncio"):
        authority.revoke()
        place = PLACES[name]()
        place.run(lambda place=place: works(place, resource, provider))
    assert ([fact["status"] for fact in authority.refreshes()], len(user.visits)) == ([200] * 3, 1)


@everywhere
async def test_a_provider_serves_many_servers_from_anywhere(at, authority_of, resource_of):
    authorities = [authority_of() for _ in range(3)]
    resources = [resource_of(authority) for authority in authorities]
    user = User()
    provider = code(user)
    await at.together(*[lambda one=one: works(at, one, provider) for one in resources])
    assert len(user.visits) == 3
    assert [len(authority.tokens()) for authority in authorities] == [1, 1, 1]
    for authority, resource in zip(authorities, resources, strict=True):
        assert set(resource.tokens()) == {None, authority.tokens()[0]["access_token"]}


@on_both
async def test_a_call_that_gives_up_leaves_the_flow_to_the_others(at, protect):
    authority, resource = protect(
        open=["initialize", "notifications/initialized", "server/discover"]
    )
    user, begun, go = User(), anyio.Event(), anyio.Event()
    ordinary = user.visit

    async def visit(url):
        begun.set()
        await go.wait()
        return await ordinary(url)

    user.visit = visit
    client = await at.get(connect(resource, code(user)))
    first = client.call_tool("add", {"a": 1, "b": 2})
    with anyio.fail_after(10):
        await begun.wait()
    second = client.call_tool("add", {"a": 1, "b": 2})
    await at.give_up(first)
    go.set()
    assert text_of(await at.get(second)) == "3"
    await at.get(client.close())
    assert len(user.visits) == 1
    assert len(authority.facts("register")) == 1


@on_both
async def test_a_refresh_is_not_lost_with_who_wanted_it(at, protect):
    authority, resource = protect()
    user = User()
    provider = code(user)
    client = await at.get(connect(resource, provider))
    await adds(at, client)
    authority.revoke()
    authority.turn(answers={"token": {"slow": 0.3, "then": True, "times": 1}})
    call = client.call_tool("add", {"a": 1, "b": 2})
    await at.until(authority.refreshes)
    await at.get(client.close())
    await at.error(call)
    await works(at, resource, provider)
    assert [fact["status"] for fact in authority.refreshes()] == [200]
    assert len(user.visits) == 1


@on_both
async def test_closing_a_client_does_not_wait_for_the_user(at, protect):
    _, resource = protect(open=["initialize", "notifications/initialized", "server/discover"])
    user, begun = User(), anyio.Event()

    async def visit(url):
        begun.set()
        await anyio.sleep_forever()

    user.visit = visit
    client = await at.get(connect(resource, code(user)))
    call = client.call_tool("add", {"a": 1, "b": 2})
    with anyio.fail_after(10):
        await begun.wait()
    started = time.monotonic()
    await at.get(client.close())
    await at.error(call)
    assert time.monotonic() - started < 2 * SLOW


# ---- several programs


def test_eight_programs_that_share_a_file_refresh_once_each_time(protect, tmp_path):
    lifetime, seconds = 2, 5
    authority, resource = protect({"expires_in": lifetime, "lifetime": lifetime})
    path = tmp_path / "store.json"
    anyio.run(_sign_in, resource, path)

    programs = [
        subprocess.Popen(
            [sys.executable, PROGRAM, resource.url, str(path), str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": f"{TESTS.parent}:{TESTS}", "PATH": "/usr/bin:/bin"},
        )
        for _ in range(8)
    ]
    said = [json.loads(program.communicate(timeout=60 * SLOW)[0]) for program in programs]

    assert [one["errors"] for one in said] == [[]] * 8
    assert min(one["calls"] for one in said) >= 5
    refreshes = authority.refreshes()
    # None was refused, so no refresh token was used twice and nobody was logged out.
    assert {fact["status"] for fact in refreshes} == {200}
    assert len({fact.form("refresh_token") for fact in refreshes}) == len(refreshes)
    assert len(authority.facts("authorize")) == 1
    # Once a lifetime: a token is used for most of its time before it is refreshed.
    took = refreshes[-1]["at"] - refreshes[0]["at"]
    assert 2 <= len(refreshes) <= took / (lifetime / 2) + 2


async def _sign_in(resource, path):
    async with Node():
        client = await connect(resource, code(User(), store=oauth.FileStore(path)))
        await client.call_tool("add", {"a": 1, "b": 2})
        await client.close()
