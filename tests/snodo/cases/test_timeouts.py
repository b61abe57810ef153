"""Every call's time has one end, whatever the server does meanwhile, and the server is told."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pykka
import pytest
from case_servers import PLACES, across, echoes, everywhere, lost, text_of, timed_out, took

import snodo_actors as snodo
import supervisors


@pytest.fixture
def capped(server_of):
    return server_of("B-030")


@pytest.fixture
def timings(server_of):
    return server_of("timings")


def cancelled(server):
    return [fact["params"]["requestId"] for fact in server.received("notifications/cancelled")]


def total_over(error, milliseconds):
    assert isinstance(error, snodo.RequestTimeout), repr(error)
    assert (error.code, error.message) == (-32001, "Maximum total timeout exceeded")
    assert error.data == {"maxTotalTimeoutMs": milliseconds}
    assert error.cause == "max_total_timeout"


# ---- the cases


@everywhere
async def test_progress_does_not_carry_a_call_past_the_total(at, capped):
    client, seen = await at.get(capped.connect()), []
    with took(below=1.8, least=1.15):
        call = client.call_tool(
            "bug",
            {"every": 100},
            progress=seen.append,
            reset_timeout_on_progress=True,
            timeout=0.4,
            max_total_timeout=1.2,
        )
        total_over(await at.error(call), 1200)
    assert 6 <= len(seen) <= 12
    await echoes(at, client)
    count = len(seen)
    await at.sleep(0.3)
    assert len(seen) == count, "late progress"
    await at.get(client.close())


@everywhere
async def test_a_silent_server_has_the_ordinary_timeout(at, capped):
    client = await at.get(capped.connect())
    with took(below=1.2, least=0.38):
        call = client.call_tool(
            "bug",
            {"every": 0},
            progress=lambda params: None,
            reset_timeout_on_progress=True,
            timeout=0.4,
            max_total_timeout=1.2,
        )
        timed_out(await at.error(call), 0.4)
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_the_total_counts_from_the_start(at, capped):
    """It is armed without any progress, and holds though the timeout is longer."""
    client = await at.get(capped.connect())
    with took(below=1.0, least=0.28):
        call = client.call_tool(
            "bug",
            {"every": 0},
            progress=lambda params: None,
            reset_timeout_on_progress=True,
            timeout=2.0,
            max_total_timeout=0.3,
        )
        total_over(await at.error(call), 300)
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_progress_carries_a_call_over_its_timeout(at, capped):
    client = await at.get(capped.connect())
    with took(below=3, least=1.4):
        call = client.call_tool(
            "bug",
            {"every": 100, "answer_after": 1500},
            progress=lambda params: None,
            reset_timeout_on_progress=True,
            timeout=0.8,
        )
        assert text_of(await at.get(call)) == "done"
    await echoes(at, client)
    await at.get(client.close())


# ---- more of the kind


@across
async def test_the_total_needs_no_progress_function(at, timings):
    client = await at.get(timings.connect())
    with took(below=1.0, least=0.28):
        call = client.call_tool(
            "hold", reset_timeout_on_progress=True, timeout=2.0, max_total_timeout=0.3
        )
        total_over(await at.error(call), 300)
    await at.get(client.close())


@across
async def test_progress_may_go_to_a_mailbox(at, timings):
    client = await at.get(timings.connect())
    await at.get(client.call_tool("burst", {"n": 3}, progress=supervisors.self_()))
    said = [m for m in supervisors.mailbox() if isinstance(m, tuple) and m[0] == "snodo_progress"]
    assert [params["progress"] for _, params in said] == [0, 1, 2]
    for _ in said:
        await at.get(supervisors.receive(lambda m: m[0] == "snodo_progress"))
    await at.get(client.close())


@across
async def test_without_the_reset_progress_changes_nothing(at, timings):
    client = await at.get(timings.connect())
    with took(below=1.3, least=0.48):
        call = client.call_tool("steps", {"every": 50}, progress=lambda params: None, timeout=0.5)
        timed_out(await at.error(call), 0.5)
    await at.get(client.close())


@across
async def test_the_server_is_told_that_the_time_is_over(at, timings):
    client = await at.get(timings.connect())
    call = client.call_tool("steps", timeout=0.3)
    timed_out(await at.error(call), 0.3)
    await at.until(lambda: timings.facts("stopped", of=call.id))
    [told] = timings.received("notifications/cancelled")
    assert told["params"]["requestId"] == call.id
    assert isinstance(told["params"]["reason"], str)
    assert "_meta" not in told["params"]
    await at.get(client.close())


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("drips", {"pause": 0.05}), ("chatters", {"seconds": 3.0}), ("hold", {})],
)
@across
async def test_no_sign_of_life_but_progress_is_a_reason_to_wait_longer(
    at, timings, tool, arguments
):
    client = await at.get(timings.connect())
    with took(below=2, least=0.95):
        call = client.call_tool(
            tool,
            arguments,
            progress=lambda params: None,
            reset_timeout_on_progress=True,
            timeout=1.0,
        )
        timed_out(await at.error(call), 1.0)
    await at.get(client.close())


@across
async def test_timeouts_of_many_calls_come_each_at_its_time(at, timings):
    client = await at.get(timings.connect())
    times = [1.0, 0.3, 0.6, 0.3, 0.9]
    calls = [client.call_tool("hold", timeout=seconds) for seconds in times]
    with took(below=2.2, least=0.95):
        for seconds, outcome in zip(times, await at.all(*calls), strict=True):
            timed_out(outcome, seconds)
    await echoes(at, client)
    assert sorted(cancelled(timings)) == sorted(call.id for call in calls)
    await at.get(client.close())


@across
async def test_a_short_timeout_behind_a_long_one_is_not_late(at, timings):
    client = await at.get(timings.connect())
    long = client.call_tool("hold", timeout=20.0)
    with took(below=1.0):
        timed_out(await at.error(client.call_tool("hold", timeout=0.2)), 0.2)
    assert not long.done()
    await at.get(client.close())
    lost(await at.error(long), "closed")


@across
async def test_without_a_timeout_a_call_waits(at, timings):
    client = await at.get(timings.connect(timeout=0.3))
    call = client.call_tool("answer_after", {"seconds": 0.8}, timeout=None)
    assert text_of(await at.get(call)) == "done"
    await at.get(client.close())


@across
async def test_each_page_and_ping_has_the_clients_timeout(at, timings):
    client = await at.get(timings.connect(timeout=0.4))
    await at.get(client.ping())
    with took(below=1.5):
        timed_out(await at.error(client.call_tool("hold")), 0.4)
    await at.get(client.close())


# ---- progress


@across
async def test_progress_comes_in_order_and_before_the_result(at, timings):
    client, seen = await at.get(timings.connect()), []
    call = client.call_tool("burst", {"n": 500}, progress=lambda p: seen.append(p["progress"]))
    assert text_of(await at.get(call)) == "done"
    assert seen == list(range(500))
    await at.get(client.close())


@across
async def test_only_its_own_progress_comes_to_a_call(at, timings):
    client, seen = await at.get(timings.connect()), []
    call = client.call_tool("odd_signs", progress=seen.append)
    await at.get(call)
    assert seen == [
        {
            "progressToken": call_token(timings),
            "progress": "much",
            "message": "é",
            "_meta": {"x": 1},
        }
    ]
    await at.get(client.close())


def call_token(server):
    [fact] = server.facts("recv", method="tools/call")
    return fact["params"]["_meta"]["progressToken"]


@across
async def test_progress_after_the_answer_is_dropped(at, timings):
    client, seen = await at.get(timings.connect()), []
    await at.get(client.call_tool("signs_after_the_answer", progress=seen.append))
    await echoes(at, client)
    assert seen == []
    await at.get(client.close())


@across
async def test_an_async_progress_function(at, timings):
    client, seen = await at.get(timings.connect()), []

    async def progress(params):
        await anyio.lowlevel.checkpoint()
        seen.append(params["progress"])

    await at.get(client.call_tool("burst", {"n": 5}, progress=progress))
    assert seen == [0, 1, 2, 3, 4]
    await at.get(client.close())


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@across
async def test_a_progress_function_that_raises_ends_its_call(at, timings):
    client = await at.get(timings.connect())

    def progress(params):
        raise LookupError("no such bar")

    with took(below=2), pytest.raises(LookupError, match="no such bar"):
        await at.get(client.call_tool("steps", {"every": 50}, progress=progress))
    await at.until(lambda: timings.facts("stopped"))
    await echoes(at, client)
    await at.get(client.close())

    assert len(cancelled(timings)) == 1


@across
async def test_a_progress_function_may_use_the_client(at, timings):
    client, said_inside = await at.get(timings.connect()), []

    if type(at).__name__ == "Thread":

        def progress(params):
            said_inside.append(text_of(client.call_tool("echo", params).get(timeout=10)))
    else:

        async def progress(params):
            said_inside.append(text_of(await client.call_tool("echo", params)))

    await at.get(client.call_tool("burst", {"n": 3}, progress=progress))
    assert len(said_inside) == 3
    await at.get(client.close())


# ---- nobody waits any more


@across
async def test_who_gives_a_call_up_is_believed(at, timings):
    """A cancelled task or `get(timeout=...)`: the server is told; a late answer is nobody's."""
    client = await at.get(timings.connect(timeout=30.0))
    await at.give_up(client.call_tool("steps", {"after": 400}))
    await at.until(lambda: timings.facts("stopped"))
    await echoes(at, client)
    await at.get(client.close())

    assert len(cancelled(timings)) == 1


@across
async def test_who_gives_a_call_with_progress_up_is_believed_too(at, timings):
    client, seen = await at.get(timings.connect(timeout=30.0)), []
    await at.give_up(client.call_tool("steps", {"every": 20}, progress=seen.append))
    await at.until(lambda: timings.facts("stopped"))
    await echoes(at, client)
    await at.get(client.close())

    assert len(cancelled(timings)) == 1


@pytest.mark.parametrize("at", ["thread", "thread-trio"], indirect=True)
@across
async def test_get_with_a_timeout_is_a_timeout_of_pykkas_and_ours(at, timings):
    client = await at.get(timings.connect(timeout=30.0))
    with took(below=1.5), pytest.raises(pykka.Timeout) as raised:
        client.call_tool("hold").get(timeout=0.2)
    assert isinstance(raised.value, snodo.RequestTimeout)
    assert raised.value.data == {"timeoutMs": 200}
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@across
async def test_a_cancelled_list_is_cancelled_on_the_way(at, timings):
    client = await at.get(timings.connect(timeout=30.0))
    calls = [client.call_tool("hold"), client.call_tool("hold", progress=print)]
    with anyio.move_on_after(0.2):
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(at.get, call)
    await at.until(lambda: len(cancelled(timings)) == 2)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_who_had_the_answer_cancels_nothing(at, timings):
    client = await at.get(timings.connect())
    for n in range(20):
        await echoes(at, client, n=n)
    await at.get(client.close())

    assert cancelled(timings) == []
