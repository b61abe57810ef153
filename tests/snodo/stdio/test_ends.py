"""How a port ends, and what its callers are told: which signal, and whether the server has it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from case_servers import LEGACY, MODERN, PLACES, across, echoes, lost, timed_out, took

import snodo_actors as snodo
import supervisors
from snodo_actors import telemetry

MIB = 1 << 20


@pytest.fixture
def slow_reader(server_of):
    return server_of("slow_reader")


def port_of(client):
    return client._port


# ---- what an exit is called


@pytest.mark.parametrize(
    ("name", "number"), [("SIGKILL", 9), ("SIGSEGV", 11), ("SIGTERM", 15), ("SIGABRT", 6)]
)
@across
async def test_a_signal_is_said_by_its_name(at, exits, name, number):
    client = await at.get(exits.connect())
    error = await at.error(client.call_tool("end_by", {"name": name}))
    lost(error, ("exit_status", 128 + number))
    assert f"was killed by signal {number} ({name})" in str(error)
    await at.get(client.close())


@across
async def test_a_status_over_128_is_no_signal(at, exits):
    client = await at.get(exits.connect())
    error = await at.error(client.call_tool("status", {"status": 137}))
    lost(error, ("exit_status", 137))
    assert "exited with status 137" in str(error)
    await at.get(client.close())


# ---- whether the server has it


@across
async def test_what_was_not_begun_to_be_sent_was_never_sent(at, stays):
    """The pipe is full: one line is stuck in it, those behind it have not left us."""
    client = await at.get(stays.connect(timeout=30.0))
    await at.get(client.call_tool("stop_reading"))
    calls = [client.call_tool("echo", {"pad": "x" * MIB, "n": n}) for n in range(3)]
    await at.sleep(0.1)
    [pid] = stays.processes()
    os.kill(pid, 9)
    errors = await at.all(*calls)
    for error in errors:
        lost(error, ("exit_status", 137))
    assert [error.delivery for error in errors] == ["unknown", "never_sent", "never_sent"]
    await at.get(client.close())


@across
async def test_a_call_that_timed_out_unsent_is_taken_back(at, slow_reader):
    """Its line is not sent later, nor is there anything to cancel."""
    client = await at.get(slow_reader.connect())
    await at.get(client.call_tool("stop_reading_for", {"seconds": 1.0}))
    first = client.call_tool("echo", {"pad": "x" * MIB}, timeout=20.0)
    late = [client.call_tool("echo", {"late": n, "pad": "y" * 1000}, timeout=0.3) for n in range(3)]
    for call in late:
        error = await at.error(call)
        timed_out(error, 0.3)
        assert error.delivery == "never_sent"
    await at.get(first)
    await echoes(at, client)
    await at.get(client.close())

    seen = [fact["params"].get("arguments") or {} for fact in slow_reader.received("tools/call")]
    assert not [arguments for arguments in seen if "late" in arguments]
    assert not slow_reader.received("notifications/cancelled")


@across
async def test_a_call_that_was_given_up_unsent_is_taken_back(at, slow_reader):
    client = await at.get(slow_reader.connect())
    await at.get(client.call_tool("stop_reading_for", {"seconds": 0.7}))
    first = client.call_tool("echo", {"pad": "x" * MIB}, timeout=20.0)
    late = client.call_tool("echo", {"late": 1}, timeout=20.0)
    late.cancel("no longer wanted")
    await at.get(first)
    await echoes(at, client)
    await at.get(client.close())

    seen = [fact["params"].get("arguments") or {} for fact in slow_reader.received("tools/call")]
    assert not [arguments for arguments in seen if "late" in arguments]
    assert not slow_reader.received("notifications/cancelled")


@across
async def test_a_server_that_closes_its_stdin_is_told_of_alike(at, stays):
    """Each call hears the same, whoever found out, and may be tried again."""
    client = await at.get(stays.connect(timeout=20.0))
    await at.get(client.call_tool("close_stdin"))
    with took(below=2):
        errors = await at.all(*[client.call_tool("echo", {"n": n}) for n in range(3)])
    for error in errors:
        lost(error, ("port_exit", "epipe"))
        assert error.delivery == "never_sent"
    lost(await at.error(client.call_tool("echo")), ("port_exit", "epipe"))
    await at.get(client.close())
    assert not stays.processes()


# ---- ports that are killed


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@pytest.mark.parametrize("mode", ["stubborn", "stubborn family"])
@across
async def test_a_port_that_is_killed_takes_its_server_with_it(at, stays, mode):
    client = await at.get(stays.connect(env={"CASE_MODE": mode}))
    waiting = client.call_tool("hold")
    await at.until(lambda: stays.facts("recv", tool="hold"))
    with took(below=1):
        supervisors.exit(port_of(client), "kill")
        error = await at.error(waiting)
        await at.until(lambda: not stays.processes())
    assert isinstance(error, snodo.TransportError)
    await at.get(client.close())


@across
async def test_a_port_that_is_killed_while_it_closes(at, stays):
    client = await at.get(stays.connect(env={"CASE_MODE": "stubborn"}))
    closing = client.close()
    await at.until(lambda: stays.facts("stdin_eof"))
    with took(below=1.5):
        supervisors.exit(port_of(client), "kill")
        await at.get(closing)
        await at.until(lambda: not stays.processes())


@across
async def test_asking_a_port_that_closes_how_it_is(at, stays):
    client = await at.get(stays.connect(env={"CASE_MODE": "deaf"}))
    closing = client.close()
    await at.until(lambda: stays.facts("stdin_eof"))
    with took(below=1.5), pytest.raises(supervisors.SupervisorsError):
        await at.get(supervisors.get_state(port_of(client)))
    await at.get(closing)


# ---- who is told


@across
async def test_exits_and_restarts_are_told(at, exits):
    events = []
    detach = telemetry.attach(lambda event, what: events.append((event, what)))
    try:
        tree = supervisors.Supervisor.start_link(
            [
                snodo.child_spec(
                    "told",
                    exits.target,
                    protocol=LEGACY,
                    env={"CASE_LOG": str(exits.log)},
                    restart_delay=None,
                )
            ]
        )
        tree = await at.get(tree)
        client = snodo.client("told", timeout=20.0)
        [pid] = await at.until(exits.processes)
        lost(await at.error(client.call_tool("end_by", {"name": "SIGKILL"})))
        await echoes(at, client)
        await at.get(supervisors.stop(tree))
    finally:
        detach()
    told = [(event, what) for event, what in events if event.startswith("port.")]
    assert [event for event, _ in told] == ["port.exit", "port.restart"]
    assert {name: told[0][1][name] for name in ("who", "pid", "status")} == {
        "who": "told",
        "pid": pid,
        "status": 137,
    }
    assert told[0][1]["error"].cause == ("exit_status", 137)
    assert told[1][1] == {"who": "told"}


@across
async def test_only_what_ended_by_itself_is_told(at, server_of):
    """The first process dies of the probe; the second is closed."""
    server = server_of("B-018")
    events = []
    detach = telemetry.attach(lambda event, what: events.append(event))
    try:
        client = await at.get(server.connect(protocol=None))
        await echoes(at, client)
        await at.get(client.close())
    finally:
        detach()
    assert [event for event in events if event.startswith("port.")] == ["port.exit"]


def test_the_owner_is_named(node, stays):
    def connect():
        client = stays.connect(protocol=MODERN).get()
        return client, client.call_tool("hold", timeout=20.0)

    with ThreadPoolExecutor(1) as pool:
        client, waiting = pool.submit(copy_context().run, connect).result()
    with pytest.raises(snodo.TransportError, match=r"when its owner, thread .*, ended") as told:
        waiting.get(timeout=10)
    assert told.value.cause[0] == "owner_ended"
    with pytest.raises(snodo.TransportError, match="when its owner"):
        client.call_tool("echo").get(timeout=10)
