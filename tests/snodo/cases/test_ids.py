"""An answer belongs to the call whose id it has, exactly and once."""

from __future__ import annotations

import pytest
from case_servers import PLACES, across, echoes, everywhere, said, text_of, timed_out, took

import snodo_actors as snodo


@pytest.fixture
def strangers(server_of):
    return server_of("B-021")


@pytest.fixture
def late(server_of):
    return server_of("B-023")


@pytest.fixture
def ids(server_of):
    return server_of("ids")


# ---- B-021


@pytest.mark.parametrize("how", ["zero", "other", "bool", "float", "list"])
@everywhere
async def test_an_answer_with_another_id_is_nobodys(at, strangers, how):
    client = await at.get(strangers.connect())
    call = client.call_tool("bug", {"as": how}, timeout=0.5)
    with took(below=2):
        other = client.call_tool("echo", {"n": how})
        assert text_of(await at.get(other)) == said(n=how)
        timed_out(await at.error(call), 0.5)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["str", "floatint"])
@everywhere
async def test_an_answer_with_an_id_of_another_type_is_never_anothers(at, strangers, how):
    client = await at.get(strangers.connect())
    with took(below=2):
        outcome = await at.outcome(client.call_tool("bug", {"as": how}, timeout=0.5))
    if isinstance(outcome, Exception):
        timed_out(outcome, 0.5)
    else:
        assert text_of(outcome) == f"wrong id {how}"
    await echoes(at, client)
    await at.get(client.close())


# ---- B-023


@everywhere
async def test_answers_that_come_too_late_change_nothing(at, late):
    client = await at.get(late.connect())
    timed_out(await at.error(client.call_tool("bug", timeout=0.3)), 0.3)
    await echoes(at, client, n=2)
    await at.sleep(1.0)
    await echoes(at, client, n=3)
    assert text_of(await at.get(client.call_tool("bug", {"twice": True}))) == "first"
    await echoes(at, client, n=4)
    await at.get(client.close())


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_no_id_is_used_twice(at, late):
    client = await at.get(late.connect(timeout=30.0))
    for first in range(0, 1000, 100):
        calls = [client.call_tool("echo", {"n": first + n}) for n in range(100)]
        results = await at.all(*calls)
        assert [text_of(result) for result in results] == [said(n=first + n) for n in range(100)]
    await at.get(client.close())

    used = [fact["id"] for fact in late.received() if fact["id"] is not None]
    assert len(used) == len(set(used)) == 1001
    assert used == sorted(used)
    assert all(type(id) is int and id > 0 for id in used)


# ---- more of the kind


STRANGE = [
    "zero",
    "minus zero",
    "negative",
    "other",
    "padded string",
    "zeros string",
    "empty string",
    "true",
    "null",
    "half",
    "list",
    "object",
    "huge",
    "wrapped",
    "long",
    "too long",
    "leading zero",
    "hexadecimal",
    "nothing",
]


@across
async def test_no_strange_id_answers_anything(at, ids):
    client = await at.get(ids.connect())
    calls = [client.call_tool("written_as", {"how": how}, timeout=1.0) for how in STRANGE]
    calls += [client.call_tool("without_id", timeout=1.0)]
    calls += [client.call_tool("with_a_method_too", timeout=1.0)]
    with took(below=4):
        await echoes(at, client)
        for how, outcome in zip([*STRANGE, "without", "method"], await at.all(*calls), strict=True):
            assert isinstance(outcome, snodo.RequestTimeout), f"{how}: {outcome}"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["string", "string with a dot", "float", "exponent"])
@across
async def test_the_same_id_written_otherwise_is_this_calls_or_nobodys(at, ids, how):
    client = await at.get(ids.connect())
    other = client.call_tool("hold", timeout=0.8)
    outcome = await at.outcome(client.call_tool("written_as", {"how": how}, timeout=0.4))
    if isinstance(outcome, Exception):
        timed_out(outcome, 0.4)
    else:
        assert text_of(outcome) == "not yours"
    timed_out(await at.error(other), 0.8)
    await at.get(client.close())


@pytest.mark.parametrize(
    "tool", ["asks_with_the_same_id", "asks_with_the_same_id_and_the_answer_first"]
)
@across
async def test_the_servers_own_ids_are_apart_from_ours(at, ids, tool):
    client = await at.get(ids.connect())
    call = client.call_tool(tool)
    assert text_of(await at.get(call)) == "mine"
    await at.until(lambda: [fact for fact in ids.received() if fact.get("result") == {}])
    await echoes(at, client)
    await at.get(client.close())

    assert [fact["id"] for fact in ids.received() if "result" in fact] == [call.id]


@across
async def test_the_first_of_several_answers_counts(at, ids):
    client = await at.get(ids.connect())
    for _ in range(3):
        assert text_of(await at.get(client.call_tool("several"))) == "answer 0"
        await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_error_may_be_the_first(at, ids):
    client = await at.get(ids.connect())
    error = await at.error(client.call_tool("error_then_result"))
    assert (error.code, error.message, error.delivery) == (-32603, "first", "answered")
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_late_answers_to_many_calls(at, ids):
    client = await at.get(ids.connect())
    calls = [client.call_tool("late", timeout=0.3) for _ in range(20)]
    for outcome in await at.all(*calls):
        timed_out(outcome, 0.3)
    while len(ids.facts("late_sent")) < 20:
        await echoes(at, client)
    await echoes(at, client)
    await at.get(client.close())

    cancelled = [fact["params"]["requestId"] for fact in ids.received("notifications/cancelled")]
    assert sorted(cancelled) == [call.id for call in calls]


@across
async def test_a_cancellation_by_the_server_is_not_for_our_requests(at, ids):
    client = await at.get(ids.connect())
    assert text_of(await at.get(client.call_tool("cancels", {"n": 1}))) == said(n=1)
    await at.get(client.close())


@across
async def test_answers_in_any_order(at, ids):
    client = await at.get(ids.connect(timeout=20.0))
    calls = [client.call_tool("in_reverse", {"n": n, "of": 200}) for n in range(200)]
    assert [text_of(one) for one in await at.all(*calls)] == [str(n) for n in range(200)]
    await at.get(client.close())


@across
async def test_answers_to_what_was_never_or_already_asked(at, ids):
    client = await at.get(ids.connect(timeout=20.0))
    await echoes(at, client)
    assert text_of(await at.get(client.call_tool("earlier_ids", {"n": 1}))) == said(n=1)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_two_connections_do_not_share_ids(at, ids, server_of):
    other = server_of("ids")
    one, two = await at.get(ids.connect()), await at.get(other.connect())
    for _ in range(20):
        await echoes(at, one)
        await echoes(at, two)
    await at.get(one.close())
    await at.get(two.close())

    first, second = (
        {fact["id"] for fact in server.received() if fact["id"] is not None}
        for server in (ids, other)
    )
    assert not first & second
