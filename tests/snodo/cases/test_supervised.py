"""A connection in a supervision tree: a broken server is started again, and hurts nobody else."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest
from case_servers import (
    LEGACY,
    MODERN,
    across,
    echoes,
    everywhere,
    lost,
    said,
    text_of,
    timed_out,
    took,
)

import snodo_actors as snodo
import supervisors
from snodo_actors.actors import waiting
from supervisors import Supervisor

QUICKLY = supervisors.Backoff(initial=0.02, maximum=0.2)


@pytest.fixture
def streams(server_of):
    return server_of("streams")


def spec(server, name, **options):
    options = {"protocol": LEGACY, "timeout": 5.0, "restart_delay": QUICKLY, **options}
    options["env"] = {"CASE_LOG": str(server.log), **options.get("env", {})}
    return snodo.child_spec(name, server.target, **options)


async def tree_of(at, *specs, **options):
    options = {"max_restarts": 3, "max_seconds": 60.0, **options}
    return await at.get(Supervisor.start_link(list(specs), **options))


def starts(server):
    return [fact["pid"] for fact in server.facts("start")]


# ---- an exit, and what callers see of it


@everywhere
async def test_after_an_exit_the_handle_works_again(at, exits):
    """Whoever waited is told at once; whoever comes next waits for the new server."""
    tree = await tree_of(at, spec(exits, "one"))
    client = snodo.client("one", timeout=10.0)
    for n in range(5):  # more often than the supervisor's own limit
        waiting = client.call_tool("hold")
        await at.until(lambda n=n: len(exits.facts("recv", tool="hold")) == n + 1)
        with took(below=2):
            error = await at.error(client.call_tool("status", {"status": n}))
            lost(error, ("exit_status", n))
            lost(await at.error(waiting), ("exit_status", n))
        await echoes(at, client, n=n)
    assert tree.is_alive()
    assert len(set(starts(exits))) == 6
    await at.get(supervisors.stop(tree))
    assert not exits.processes()


@everywhere
async def test_a_handle_may_fail_instead_of_waiting(at, exits):
    slow = supervisors.Backoff(initial=2.0, maximum=2.0)
    tree = await tree_of(at, spec(exits, "two", restart_delay=slow))
    client = snodo.client("two", when_down="fail", timeout=10.0)
    await echoes(at, client)
    lost(await at.error(client.call_tool("status")))
    await at.until(lambda: supervisors.whereis("two") is None)
    with took(below=1):
        for _ in range(3):
            error = await at.error(client.call_tool("echo"))
            lost(error, "down")
            assert error.delivery == "never_sent"
    with took(below=2):
        await at.get(supervisors.stop(tree))


@across
async def test_who_waits_for_a_server_that_is_down_waits_its_own_time(at, exits):
    slow = supervisors.Backoff(initial=5.0, maximum=5.0)
    tree = await tree_of(at, spec(exits, "three", restart_delay=slow))
    client = snodo.client("three", timeout=10.0)
    await echoes(at, client)
    lost(await at.error(client.call_tool("status")))
    await at.until(lambda: supervisors.whereis("three") is None)
    with took(below=2):
        error = await at.error(client.call_tool("echo", timeout=0.4))
    timed_out(error, 0.4)
    assert error.delivery == "never_sent"
    await at.get(supervisors.stop(tree))


@across
async def test_a_handle_made_before_its_connection_waits_for_it(at, exits):
    client = snodo.client("four", timeout=10.0)
    early = client.call_tool("echo", {"n": 1})
    tree = await tree_of(at, spec(exits, "four"))
    assert text_of(await at.get(early)) == said(n=1)
    await at.get(supervisors.stop(tree))


@across
async def test_a_server_killed_from_outside(at, stays):
    tree = await tree_of(at, spec(stays, "five"))
    client = snodo.client("five", timeout=10.0)
    await echoes(at, client)
    for _ in range(4):
        waiting = client.call_tool("hold")
        await at.until(lambda: stays.facts("recv", tool="hold", pid=starts(stays)[-1]))
        os.kill(starts(stays)[-1], signal.SIGKILL)
        lost(await at.error(waiting), ("exit_status", 137))
        await echoes(at, client)
    await at.get(supervisors.stop(tree))


# ---- servers that never work


@pytest.mark.parametrize("what", ["exits", "refuses", "silent"])
@everywhere
async def test_a_server_that_never_works_hurts_nobody_else(at, server_of, what):
    broken, sound = server_of("negotiation"), server_of("exits")
    how = {"exits": "exit 3", "refuses": 'version "2024-11-05"', "silent": "silent"}[what]
    bad = spec(broken, "bad", env={"CASE_INIT": how}, timeout=0.2)
    with took(below=5):
        tree = await tree_of(at, bad, spec(sound, "good"))
    good = snodo.client("good")
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        await echoes(at, good)
    error = await at.error(snodo.client("bad", timeout=0.4).call_tool("echo"))
    assert error.code in (-32001, -32000, -32602), repr(error)
    assert tree.is_alive()
    assert len(starts(sound)) == 1
    with took(below=5):
        await at.get(supervisors.stop(tree))
    await at.until(lambda: not broken.processes() + sound.processes(), within=2)


@pytest.mark.parametrize(("init", "settling"), [("silent", 0.15), ("exit 3", 5.0), ("late 5", 0.3)])
@everywhere
async def test_every_call_ends_in_its_time_while_the_server_comes_and_goes(
    at, server_of, init, settling
):
    """Handed from one attempt to the next, a call has its time once, not each time."""
    broken = server_of("negotiation")
    tree = await tree_of(at, spec(broken, "flapping", env={"CASE_INIT": init}, timeout=settling))
    client, begun = snodo.client("flapping"), time.monotonic()
    calls = []
    for n in range(60):
        calls.append((client.call_tool("echo", timeout=0.1 + n / 60), time.monotonic()))
        await at.sleep(0.01)
    for n, (call, start) in enumerate(calls):
        await at.until(call.done, within=max(0.0, start + 0.1 + n / 60 + 1.0 - time.monotonic()))
        error = await at.error(call)
        assert error.code in (-32001, -32000), repr(error)
        assert error.delivery == "never_sent", repr(error)
    assert time.monotonic() - begun < 5
    await at.get(supervisors.stop(tree))


@everywhere
async def test_calls_while_a_server_takes_its_time_to_go(at, stays):
    """The old one is stubborn, the new one far away: a call by name has its time all the same."""
    slow = supervisors.Backoff(initial=20.0, maximum=20.0)
    tree = await tree_of(
        at, spec(stays, "going", restart_delay=slow, env={"CASE_MODE": "stubborn"})
    )
    client = snodo.client("going", timeout=20.0)
    await echoes(at, client)
    lost(await at.error(client.call_tool("close_stdout")))
    assert stays.processes(), "it was to take a while"
    busy = time.process_time()
    with took(below=2.5, least=1.0):
        calls = [client.call_tool("echo", timeout=0.4 + n / 5) for n in range(4)]
        for n, error in enumerate(await at.all(*calls)):
            timed_out(error, 0.4 + n / 5)
            assert error.delivery == "never_sent"
    assert time.process_time() - busy < 0.7, "it spun while it waited"
    await at.until(lambda: not stays.processes(), within=6)
    with took(below=1.5):
        timed_out(await at.error(client.call_tool("echo", timeout=0.4)), 0.4)
    await at.get(supervisors.stop(tree))


@across
async def test_a_command_that_is_not_there_is_told_by_the_start(at):
    child = snodo.child_spec("bad", ("stdio", "/nowhere/at/all", []), restart_delay=QUICKLY)
    with took(below=2), pytest.raises(supervisors.StartFailed, match="/nowhere/at/all"):
        await tree_of(at, child)


@across
async def test_a_command_that_goes_and_comes_back(at, exits, tmp_path):
    command = tmp_path / "server"
    text = f"#!/bin/sh\nexec {sys.executable} {exits.script}\n"
    command.write_text(text)
    command.chmod(0o755)
    child = snodo.child_spec(
        "coming",
        ("stdio", str(command), []),
        protocol=LEGACY,
        env={"CASE_LOG": str(exits.log)},
        restart_delay=QUICKLY,
    )
    tree = await tree_of(at, child)
    client = snodo.client("coming", timeout=10.0)
    await echoes(at, client)
    command.unlink()
    lost(await at.error(client.call_tool("status")))
    call = client.call_tool("echo", {"n": 1})
    await at.sleep(0.6)
    command.write_text(text)
    command.chmod(0o755)
    assert text_of(await at.get(call)) == said(n=1)
    assert tree.is_alive()
    await at.get(supervisors.stop(tree))


@across
async def test_a_server_that_never_works_is_not_started_all_the_time(at, exits):
    delay = supervisors.Backoff(initial=0.2, maximum=10.0)
    tree = await tree_of(at, spec(exits, "bad", restart_delay=delay, env={"CASE_MODE": "exit3"}))
    await at.sleep(2.0)
    assert 2 <= len(exits.facts("start")) <= 6
    with took(below=2):
        await at.get(supervisors.stop(tree))


@across
async def test_a_server_that_works_again(at, exits, tmp_path):
    """It fails until a file is there; callers that have time wait for that."""
    ready = tmp_path / "ready"
    script = tmp_path / "server"
    script.write_text(
        f"import os, runpy, sys\nif not os.path.exists({str(ready)!r}): sys.exit(3)\n"
        f"sys.path.insert(0, {str(exits.script.parent)!r})\nsys.argv = sys.argv[1:]\n"
        f"runpy.run_path({str(exits.script)!r})\n"
    )
    child = snodo.child_spec(
        "again",
        ("stdio", sys.executable, [str(script), str(exits.script)]),
        protocol=LEGACY,
        env={"CASE_LOG": str(exits.log)},
        restart_delay=QUICKLY,
    )
    tree = await tree_of(at, child)
    client = snodo.client("again", timeout=10.0)
    call = client.call_tool("echo", {"n": 1})
    await at.sleep(0.5)
    ready.touch()
    assert text_of(await at.get(call)) == said(n=1)
    await at.get(supervisors.stop(tree))


# ---- other ends


@pytest.mark.parametrize("mode", ["", "stubborn", "family"])
@everywhere
async def test_the_end_of_the_tree_is_the_end_of_its_servers(at, stays, mode):
    tree = await tree_of(at, spec(stays, "six", env={"CASE_MODE": mode}))
    client = snodo.client("six", timeout=10.0)
    await echoes(at, client)
    waiting = client.call_tool("hold")
    await at.until(lambda: stays.facts("recv", tool="hold"))
    with took(below=8):
        await at.get(supervisors.stop(tree))
        lost(await at.error(waiting))
    await at.until(lambda: not stays.processes(), within=1)


@everywhere
async def test_a_port_that_is_killed_is_started_again_with_a_new_server(at, stays):
    tree = await tree_of(at, spec(stays, "seven"))
    client = snodo.client("seven", timeout=10.0)
    await echoes(at, client)
    for n in range(3):
        waiting = client.call_tool("hold")
        await at.until(lambda: stays.facts("recv", tool="hold", pid=starts(stays)[-1]))
        supervisors.exit(supervisors.whereis("seven"), "kill")
        with took(below=4):
            lost(await at.error(waiting))
            await echoes(at, client, n=n)
        await at.until(lambda: len(stays.processes()) == 1, within=6)
    assert tree.is_alive()
    await at.get(supervisors.stop(tree))


@pytest.mark.parametrize(
    ("restart", "status", "again"),
    [
        ("temporary", 1, False),
        ("transient", 1, True),
        ("permanent", 0, True),
    ],
)
@across
async def test_the_restart_of_the_spec_is_kept(at, exits, restart, status, again):
    tree = await tree_of(at, spec(exits, "eight", restart=restart))
    client = snodo.client("eight", timeout=2.0)
    await echoes(at, client)
    lost(await at.error(client.call_tool("status", {"status": status})))
    if again:
        await echoes(at, client)
    else:
        await at.until(lambda: not supervisors.whereis("eight"))
        assert (await at.error(client.call_tool("echo", timeout=0.4))).code in (-32001, -32000)
    assert len(starts(exits)) == 1 + again
    assert tree.is_alive()
    await at.get(supervisors.stop(tree))


@across
async def test_closing_a_supervised_connection_leaves_it_to_its_supervisor(at, stays):
    tree = await tree_of(at, spec(stays, "nine"))
    client = snodo.client("nine")
    await echoes(at, client)
    with took(below=2):
        assert await at.get(client.close()) is None
    await echoes(at, client)
    assert len(starts(stays)) == 1
    await at.get(supervisors.stop(tree))


@across
async def test_a_stream_is_opened_again_if_that_was_asked_for(at, streams):
    tree = await tree_of(at, spec(streams, "ten", protocol=MODERN))
    client = snodo.client("ten", timeout=10.0)
    subscription = await at.get(client.listen({"toolsListChanged": True}, resubscribe=True))
    assert (await at.get(subscription.next(timeout=5.0)))[0] == "notification"
    for _ in range(2):
        os.kill(starts(streams)[-1], signal.SIGKILL)
        payloads = []
        while ("resubscribed", {"toolsListChanged": True}) not in payloads:
            payloads.append(await at.get(subscription.next(timeout=5.0)))
        assert "closed" not in [payload[0] for payload in payloads]
        assert (await at.get(subscription.next(timeout=5.0)))[0] == "notification"
    with took(below=3):
        await at.get(subscription.close())
    await at.get(supervisors.stop(tree))


@across
async def test_a_stream_ends_with_its_server_if_not(at, streams):
    tree = await tree_of(at, spec(streams, "eleven", protocol=MODERN))
    client = snodo.client("eleven", timeout=10.0)
    subscription = await at.get(client.listen({"toolsListChanged": True}))
    os.kill(starts(streams)[-1], signal.SIGKILL)
    payload = ("", None)
    while payload[0] != "closed":
        payload = await at.get(subscription.next(timeout=5.0))
    lost(payload[1], ("exit_status", 137))
    await echoes(at, client)
    await at.get(supervisors.stop(tree))


@across
async def test_one_broken_server_of_many(at, server_of):
    """Ten connections side by side, one of which breaks again and again."""
    servers = [server_of("exits") for _ in range(10)]
    tree = await tree_of(at, *[spec(one, f"m{n}") for n, one in enumerate(servers)])
    clients = [snodo.client(f"m{n}", timeout=10.0) for n in range(10)]
    for _ in range(5):
        call = clients[0].call_tool("end_by", {"name": "SIGKILL"})
        for client in clients[1:]:
            await echoes(at, client)
        lost(await at.error(call))
    await echoes(at, clients[0])
    assert [len(starts(one)) for one in servers] == [6, *[1] * 9]
    with took(below=4):
        await at.get(supervisors.stop(tree))


@everywhere
async def test_a_call_waits_for_the_connection_of_its_own_node(at, stays):
    """Two nodes may each have a connection of the same name: neither gets the other's calls."""
    ours = snodo.client("seven").call_tool("echo", {"n": 1}, timeout=1.0)
    with supervisors.Node():
        theirs = snodo.client("seven", timeout=10.0)
        tree = await at.get(Supervisor.start_link([spec(stays, "seven")]))
        await echoes(at, theirs, n=2)
        error = await at.error(ours)
        timed_out(error, 1.0)
        assert error.delivery == "never_sent"
        assert [fact["params"]["arguments"] for fact in stays.received("tools/call")] == [{"n": 2}]
        await at.get(supervisors.stop(tree))


@everywhere
async def test_a_call_waits_no_longer_than_its_node_is_there(at):
    with supervisors.Node():
        calls = [snodo.client("eight", timeout=limit).call_tool("echo") for limit in (10.0, None)]
    with took(below=1):
        for call in calls:
            error = await at.error(call)
            lost(error, "closed")
            assert error.delivery == "never_sent"


@across
async def test_who_gave_up_takes_no_room_among_those_who_wait(at, monkeypatch):
    monkeypatch.setattr(waiting, "MAX_WAITING", 2)
    client = snodo.client("nine", timeout=10.0)
    for _ in range(3):
        await at.give_up(client.call_tool("echo"))
    timed_out(await at.error(client.call_tool("echo", timeout=0.2)), 0.2)
    waits = [client.call_tool("echo", timeout=0.5) for _ in range(3)]
    errors = await at.all(*waits)
    assert [error.cause for error in errors] == ["timeout", "timeout", ("max_waiting", 2)]
