"""A server process ends: whoever waits is told why at once, whoever comes later too."""

from __future__ import annotations

import time
from itertools import chain

import pytest
from case_servers import PLACES, across, echoes, everywhere, lost, said, text_of, took

import snodo_actors as snodo

LONG = 20.0
"""A timeout that must not be what ends a call."""
AT_ONCE = 1.5


@pytest.fixture
def dying(server_of):
    return server_of("B-009")


async def is_over(at, client, server, cause):
    """The connection is at its end, and nothing is left of the server."""
    with took(below=AT_ONCE):
        for _ in range(3):
            error = await at.error(client.call_tool("echo"))
            lost(error, cause)
            assert error.delivery == "never_sent"
    with took(below=AT_ONCE):
        assert await at.get(client.close()) is None
    await at.until(lambda: not server.processes(), within=2)


# ---- the case


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_every_waiting_call_fails_at_once_when_the_server_exits(at, dying):
    client = await at.get(dying.connect(timeout=LONG))
    calls = [client.call_tool("echo", {"hold": True}) for _ in range(2)]
    with took(below=AT_ONCE):
        errors = await at.all(*calls, client.call_tool("bug"))
    for error in errors:
        lost(error, ("exit_status", 3))
        assert error.delivery == "unknown"
    assert len({id(error) for error in errors}) == 3, "one error for several callers"
    await is_over(at, client, dying, ("exit_status", 3))


@everywhere
async def test_lists_and_pings_fail_too(at, dying):
    client = await at.get(dying.connect(timeout=LONG))
    client.call_tool("bug")
    with took(below=AT_ONCE):
        for call in (client.ping(), client.list_tools(), client.list_page("tools")):
            lost(await at.error(call))
    await at.get(client.close())


@everywhere
async def test_fifty_waiting_calls(at, dying):
    client = await at.get(dying.connect(timeout=LONG))
    calls = [client.call_tool("echo", {"hold": True, "n": n}) for n in range(50)]
    with took(below=AT_ONCE):
        for error in await at.all(*calls, client.call_tool("bug")):
            lost(error, ("exit_status", 3))
    await at.get(client.close())


@everywhere
async def test_those_who_wait_elsewhere_are_told_too(at, dying):
    client = await at.get(dying.connect(timeout=LONG))

    async def wait():
        return await at.error(client.call_tool("echo", {"hold": True}))

    async def end():
        await at.until(lambda: len(dying.received("tools/call")) >= 5)
        return await at.error(client.call_tool("bug"))

    for error in await at.together(*[wait] * 5, end):
        lost(error, ("exit_status", 3))
    await at.get(client.close())


# ---- more of the kind


@pytest.mark.parametrize("status", [0, 1, 2, 77, 255])
@across
async def test_the_cause_is_the_exit_status(at, exits, status):
    client = await at.get(exits.connect(timeout=LONG))
    waiting = client.call_tool("hold")
    with took(below=AT_ONCE):
        lost(
            await at.error(client.call_tool("status", {"status": status})), ("exit_status", status)
        )
        lost(await at.error(waiting), ("exit_status", status))
    await is_over(at, client, exits, ("exit_status", status))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("SIGKILL", 9),
        ("SIGTERM", 15),
        ("SIGSEGV", 11),
        ("SIGABRT", 6),
        ("SIGPIPE", 13),
        ("SIGHUP", 1),
    ],
)
@across
async def test_the_cause_is_128_and_the_signal(at, exits, name, number):
    client = await at.get(exits.connect(timeout=LONG))
    with took(below=AT_ONCE):
        error = await at.error(client.call_tool("end_by", {"name": name}))
    lost(error, ("exit_status", 128 + number))
    await is_over(at, client, exits, ("exit_status", 128 + number))


@across
async def test_the_error_tells_what_the_server_said_last(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    words = "warning: one\nfatal: the database is gone\n"
    error = await at.error(client.call_tool("status", {"status": 1, "words": words}))
    lost(error, ("exit_status", 1))
    assert "fatal: the database is gone" in str(error)
    assert "fatal: the database is gone" in str(await at.error(client.call_tool("echo")))
    await at.get(client.close())


@across
async def test_a_traceback_is_what_it_said_last(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    error = await at.error(client.call_tool("raise_it"))
    lost(error, ("exit_status", 1))
    assert "RuntimeError: the tool of the server broke" in str(error)
    await at.get(client.close())


@pytest.mark.parametrize("tool", ["answer_and_exit", "much_and_exit"])
@across
async def test_an_answer_before_the_exit_is_an_answer(at, exits, tool):
    client = await at.get(exits.connect(timeout=LONG))
    waiting = client.call_tool("hold")
    with took(below=4):
        assert text_of(await at.get(client.call_tool(tool, {"n": 1}))) == said(n=1)
        lost(await at.error(waiting), ("exit_status", 5))
    await is_over(at, client, exits, ("exit_status", 5))


@across
async def test_an_answer_before_the_exit_is_one_also_when_others_write_meanwhile(at, exits):
    """Their writes find a broken pipe; what came out of the other one counts all the same."""
    for number in range(8):
        client = await at.get(exits.connect(timeout=LONG))
        answered = client.call_tool("answer_and_exit", {"n": number})
        late = []
        while not answered.done():
            late.append(client.call_tool("echo"))
            await at.sleep(0)
        assert text_of(await at.get(answered)) == said(n=number)
        for outcome in await at.all(*late):
            lost(outcome)
        await at.get(client.close())


@across
async def test_an_error_before_the_exit_is_the_servers(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    error = await at.error(client.call_tool("error_and_exit"))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.message, error.delivery) == (-32603, "giving up", "answered")
    await at.get(client.close())


@pytest.mark.parametrize("tool", ["half_and_exit", "half_a_long_one_and_exit"])
@across
async def test_half_an_answer_is_none(at, exits, tool):
    client = await at.get(exits.connect(timeout=LONG))
    with took(below=AT_ONCE):
        lost(await at.error(client.call_tool(tool)), ("exit_status", 5))
    await is_over(at, client, exits, ("exit_status", 5))


@across
async def test_killed_while_it_writes(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    with took(below=AT_ONCE + 1):
        lost(await at.error(client.call_tool("killed_in_a_write")), ("exit_status", 137))
    await is_over(at, client, exits, ("exit_status", 137))


@across
async def test_what_it_leaves_in_its_group_holds_nothing_up_and_ends(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    with took(below=AT_ONCE + 1):
        lost(await at.error(client.call_tool("leave_one_behind_and_exit")), ("exit_status", 4))
    await is_over(at, client, exits, ("exit_status", 4))


@across
async def test_what_it_leaves_elsewhere_holds_nothing_up(at, exits):
    """Its pipes are held by a process that is not ours to end."""
    client = await at.get(exits.connect(timeout=LONG))
    try:
        with took(below=AT_ONCE + 1.5):
            lost(
                await at.error(client.call_tool("leave_one_far_behind_and_exit")),
                ("exit_status", 4),
            )
        with took(below=AT_ONCE):
            lost(await at.error(client.call_tool("echo")), ("exit_status", 4))
        with took(below=AT_ONCE):
            await at.get(client.close())
    finally:
        exits.kill_all()


@across
async def test_what_it_leaves_may_go_on_writing(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    try:
        call = client.call_tool("leave_a_writer_far_behind_and_exit")
        with took(below=AT_ONCE + 1.5):
            lost(await at.error(call), ("exit_status", 4))
        with took(below=AT_ONCE):
            lost(await at.error(client.call_tool("echo")), ("exit_status", 4))
            await at.get(client.close())
    finally:
        exits.kill_all()


@across
async def test_an_exit_in_the_middle_of_a_big_call(at, exits):
    """The pipe is full with the half of it, and more waits behind."""
    client = await at.get(exits.connect(timeout=LONG))
    calls = [client.call_tool("exit_soon")]
    calls += [client.call_tool("echo", {"pad": "x" * 2_000_000}) for _ in range(5)]
    with took(below=3):
        outcomes = await at.all(*calls)
    for outcome in outcomes:
        lost(outcome, ("exit_status", 6))
    assert {outcome.delivery for outcome in outcomes} == {"unknown", "never_sent"}
    await is_over(at, client, exits, ("exit_status", 6))


@across
async def test_a_server_that_forks_away_has_ended(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    with took(below=AT_ONCE + 1):
        outcome = await at.outcome(client.call_tool("fork_and_exit"))
    lost(outcome, ("exit_status", 0))
    await is_over(at, client, exits, ("exit_status", 0))


@across
async def test_what_it_started_ends_with_the_connection(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    await at.get(client.call_tool("leave_one_behind"))
    await at.until(lambda: len(exits.processes()) == 2)
    with took(below=5):
        await at.get(client.close())
    await at.until(lambda: not exits.processes(), within=2)


@across
async def test_threads_that_go_on_for_a_while(at, exits):
    client = await at.get(exits.connect(timeout=LONG))
    with took(below=AT_ONCE + 1):
        lost(await at.error(client.call_tool("threads_hold")))
    await at.get(client.close())


@pytest.mark.parametrize("protocol", ["2025-11-25", None])
@across
async def test_a_server_that_cannot_start_fails_the_connect(at, exits, protocol):
    with took(below=4):
        error = await at.error(exits.connect(protocol=protocol, env={"CASE_MODE": "exit3"}))
    lost(error, ("exit_status", 3))
    assert "cannot start: no configuration" in str(error)
    await at.until(lambda: not exits.processes(), within=2)


@across
async def test_without_a_handshake_the_first_call_is_told(at, exits):
    client = await at.get(
        exits.connect(protocol="2026-07-28", env={"CASE_MODE": "exit3"}, timeout=LONG)
    )
    with took(below=AT_ONCE + 1):
        lost(await at.error(client.call_tool("echo")))
    with took(below=AT_ONCE):
        lost(await at.error(client.call_tool("echo")), ("exit_status", 3))
    await at.get(client.close())


@across
async def test_other_connections_go_on(at, exits, server_of):
    other = server_of("exits")
    client, neighbour = await at.get(exits.connect()), await at.get(other.connect())
    waiting = neighbour.call_tool("hold", timeout=0.8)
    lost(await at.error(client.call_tool("end_by", {"name": "SIGKILL"})))
    await echoes(at, neighbour)
    assert (await at.error(waiting)).code == -32001
    await at.get(client.close())
    await echoes(at, neighbour)
    await at.get(neighbour.close())


@across
async def test_a_storm_of_calls_around_the_exit_leaves_nobody_waiting(at, exits):
    """Calls before, at and after the moment: each ends, with an answer or with the exit."""
    client = await at.get(exits.connect(timeout=LONG))

    async def call():
        return [await at.outcome(client.call_tool("echo", {"n": number})) for number in range(30)]

    async def end():
        await at.sleep(0.02)
        await at.outcome(client.call_tool("end_by", {"name": "SIGKILL"}))
        return []

    start = time.monotonic()
    for outcome in chain(*await at.together(*[call] * 6, end)):
        if isinstance(outcome, Exception):
            lost(outcome)
    assert time.monotonic() - start < 10
    await at.get(client.close())
