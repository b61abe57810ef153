"""Closing brings any server to its end, in bounded time: end of input, SIGTERM, SIGKILL."""

from __future__ import annotations

import os

import pytest
from case_servers import PLACES, across, echoes, everywhere, lost, said, text_of, timed_out, took

LADDER = 7.0
"""Seconds in which the way down has to be at its end."""
QUICK = 1.5


@pytest.fixture
def undead(server_of):
    return server_of("B-011")


@pytest.fixture
def stuck(server_of):
    return server_of("B-016")


def kinds(server):
    return [fact["fact"] for fact in server.facts() if fact["fact"] not in ("recv", "start")]


# ---- the cases


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_a_server_that_neither_leaves_on_eof_nor_on_sigterm(at, undead):
    client = await at.get(undead.connect())
    await echoes(at, client)
    with took(below=LADDER):
        assert await at.get(client.close()) is None
    assert not undead.processes()
    assert kinds(undead) == ["stdin_eof", "sigterm"]
    lost(await at.error(client.call_tool("echo")), "closed")


@everywhere
async def test_closing_while_the_server_is_blocked_in_a_write(at, stuck):
    client = await at.get(stuck.connect())
    timed_out(await at.error(client.call_tool("bug", timeout=0.5)), 0.5)
    with took(below=6):
        assert await at.get(client.close()) is None
    assert not stuck.processes()


@everywhere
async def test_answers_go_on_in_the_middle_of_a_flood(at, stuck):
    client = await at.get(stuck.connect(timeout=20.0))
    call = client.call_tool("bug", timeout=1.0)
    await echoes(at, client)
    timed_out(await at.error(call), 1.0)
    await echoes(at, client)
    with took(below=3):
        await at.get(client.close())
    assert stuck.facts("flooded")


# ---- more of the kind


@across
async def test_a_server_that_leaves_at_the_end_of_input_gets_no_signal(at, stays):
    client = await at.get(stays.connect())
    with took(below=QUICK):
        await at.get(client.close())
    assert kinds(stays) == ["stdin_eof"]


@across
async def test_a_server_gets_a_while_to_leave_by_itself(at, stays):
    client = await at.get(stays.connect())
    await at.get(client.call_tool("leave_slowly", {"seconds": 1.0}))
    with took(below=3, least=0.9):
        await at.get(client.close())
    assert kinds(stays) == ["stdin_eof", "left_by_itself"]


@across
async def test_a_server_may_part_at_sigterm(at, stays):
    client = await at.get(stays.connect(env={"CASE_MODE": "parting"}))
    with took(below=5):
        await at.get(client.close())
    assert kinds(stays) == ["stdin_eof", "sigterm", "parted"]


@across
async def test_a_server_that_has_much_to_say_before_it_leaves_gets_no_signal(at, stays):
    """It is read to the end, else it would be stuck in its last write."""
    client = await at.get(stays.connect(env={"CASE_MODE": "flushing"}))
    with took(below=2.5):
        await at.get(client.close())
    assert kinds(stays) == ["stdin_eof", "left_by_itself"]


@pytest.mark.parametrize("mode", ["slowly parting", "parting flushing"])
@across
async def test_a_server_may_take_a_moment_to_part(at, stays, mode):
    client = await at.get(stays.connect(env={"CASE_MODE": mode}))
    with took(below=6):
        await at.get(client.close())
    assert kinds(stays) == ["stdin_eof", "sigterm", "parted"]


@pytest.mark.parametrize("mode", ["deaf", "stubborn", "stubborn family", "deaf family", "family"])
@across
async def test_nothing_of_a_server_outlives_close(at, stays, mode):
    client = await at.get(stays.connect(env={"CASE_MODE": mode}))
    await echoes(at, client)
    assert len(stays.processes()) == 1 + ("family" in mode)
    with took(below=LADDER):
        await at.get(client.close())
    await at.until(lambda: not stays.processes(), within=1)


@pytest.mark.parametrize("tool", ["freeze", "spin"])
@across
async def test_a_server_that_hangs_is_ended_by_force(at, stays, tool):
    client = await at.get(stays.connect(env={"CASE_MODE": "stubborn"}))
    call = client.call_tool(tool, timeout=0.5)
    timed_out(await at.error(call), 0.5)
    with took(below=LADDER):
        await at.get(client.close())
    assert not stays.processes()


@across
async def test_closing_in_the_middle_of_a_flood(at, stays):
    client = await at.get(stays.connect(env={"CASE_MODE": "stubborn"}, timeout=20.0))
    call = client.call_tool("flood")
    await at.until(lambda: stays.facts("flooding"))
    with took(below=LADDER):
        await at.get(client.close())
    lost(await at.error(call), "closed")
    assert not stays.processes()


@pytest.mark.parametrize("mode", ["deaf", "stubborn"])
@across
async def test_calls_made_while_it_closes_do_not_wait_for_the_end(at, stays, mode):
    client = await at.get(stays.connect(env={"CASE_MODE": mode}, timeout=20.0))
    closing = client.close()
    await at.until(lambda: stays.facts("stdin_eof"))
    with took(below=QUICK):
        for _ in range(3):
            lost(await at.error(client.call_tool("echo")), "closed")
        lost(await at.error(client.list_tools()), "closed")
    assert not closing.done(), "it was to take a while"
    with took(below=LADDER):
        await at.get(closing)


@across
async def test_closing_while_much_waits_to_be_written(at, stays):
    client = await at.get(stays.connect(env={"CASE_MODE": "stubborn"}, timeout=20.0))
    await at.get(client.call_tool("stop_reading"))
    calls = [client.call_tool("echo", {"pad": "x" * 1_000_000}) for _ in range(5)]
    with took(below=LADDER):
        await at.get(client.close())
    for outcome in await at.all(*calls):
        lost(outcome, "closed")
    assert not stays.processes()


@across
async def test_a_server_that_reads_nothing_costs_each_call_its_own_time(at, stays):
    client = await at.get(stays.connect())
    await at.get(client.call_tool("stop_reading"))
    calls = [client.call_tool("echo", {"pad": "x" * 200_000}, timeout=0.6) for _ in range(3)]
    with took(below=3):
        for outcome in await at.all(*calls, client.call_tool("echo", timeout=0.6)):
            timed_out(outcome, 0.6)
    with took(below=LADDER):
        await at.get(client.close())


@pytest.mark.parametrize("mode", ["", "deaf", "stubborn"])
@across
async def test_a_server_without_stdout_is_as_good_as_gone(at, stays, mode):
    """It lives on, but nobody can be answered: whoever waits is told, not left to his timeout."""
    client = await at.get(stays.connect(env={"CASE_MODE": mode}, timeout=30.0))
    waiting = client.call_tool("hold")
    with took(below=2):
        lost(await at.error(client.call_tool("close_stdout")))
        lost(await at.error(waiting))
    with took(below=QUICK):
        lost(await at.error(client.call_tool("echo")))
    with took(below=LADDER):
        await at.get(client.close())
    await at.until(lambda: not stays.processes(), within=LADDER)


@across
async def test_an_answer_before_stdout_closes_is_an_answer(at, stays):
    client = await at.get(stays.connect(timeout=30.0))
    assert text_of(await at.get(client.call_tool("answer_and_close_stdout", {"n": 1}))) == said(n=1)
    with took(below=3):
        lost(await at.error(client.call_tool("echo")))
    await at.get(client.close())


@across
async def test_a_server_that_takes_no_more_input(at, stays):
    """The next call finds out, at once; later ones are told the same."""
    client = await at.get(stays.connect(timeout=20.0))
    assert text_of(await at.get(client.call_tool("close_stdin", {"n": 1}))) == said(n=1)
    with took(below=2):
        first = await at.error(client.call_tool("echo"))
    lost(first)
    with took(below=2):
        later = [await at.error(client.call_tool("echo")) for _ in range(3)]
    for error in later:
        lost(error)
        assert error.delivery == "never_sent"
    assert len({str(error.cause) for error in later[1:]}) == 1
    with took(below=LADDER):
        await at.get(client.close())
    assert not stays.processes()


@across
async def test_stderr_may_be_closed(at, stays):
    client = await at.get(stays.connect())
    assert text_of(await at.get(client.call_tool("close_stderr", {"n": 1}))) == said(n=1)
    await echoes(at, client)
    with took(below=QUICK):
        await at.get(client.close())


@across
async def test_a_flood_nobody_asked_for_holds_nothing_up(at, stays):
    client = await at.get(stays.connect(timeout=20.0))
    await at.get(client.call_tool("flood_beside"))
    with took(below=8):
        for _ in range(10):
            await echoes(at, client)
    with took(below=LADDER):
        await at.get(client.close())
    assert not stays.processes()


@across
async def test_a_server_killed_by_somebody_else_is_noticed_by_whoever_waits(at, stays):
    client = await at.get(stays.connect(timeout=20.0))
    waiting = client.call_tool("hold")
    await at.until(lambda: stays.facts("recv", tool="hold"))
    [pid] = stays.processes()
    os.kill(pid, 9)
    with took(below=2):
        lost(await at.error(waiting), ("exit_status", 137))
    await at.get(client.close())
