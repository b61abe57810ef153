"""What is around the server and the client: shells, locks, signals, descriptors, full pipes."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from case_servers import (
    LEGACY,
    MODERN,
    across,
    echoes,
    everywhere,
    lost,
    program,
    said,
    text_of,
    timed_out,
    took,
)

import snodo_actors as snodo


@pytest.fixture
def wrapped(server_of):
    return server_of("wrapped")


# ---- the server is not the process that was started


@pytest.mark.parametrize("mode", ["shell", "parent", "pipeline"])
@across
async def test_a_server_inside_another_process(at, wrapped, mode):
    client = await at.get(wrapped.connect(env={"CASE_MODE": mode}))
    await echoes(at, client)
    assert len(wrapped.processes()) >= 2
    with took(below=6):
        await at.get(client.close())
    await at.until(lambda: not wrapped.processes(), within=2)
    assert wrapped.facts("stdin_eof")


@pytest.mark.parametrize("mode", ["shell", "parent"])
@across
async def test_the_exit_of_a_server_inside_another_process(at, wrapped, mode):
    client = await at.get(wrapped.connect(env={"CASE_MODE": mode}, timeout=20.0))
    with took(below=3):
        error = await at.error(client.call_tool("bug", {"exit": 7}))
    lost(error, ("exit_status", 0 if mode == "shell" else 7))
    await at.get(client.close())
    await at.until(lambda: not wrapped.processes(), within=2)


# ---- the server says what it hears


@pytest.mark.parametrize("protocol", [LEGACY, MODERN, None])
@across
async def test_a_server_that_echoes_what_it_reads(at, wrapped, protocol):
    """As behind a terminal. The client's own lines are no answers, and make no storm."""
    client = await at.get(wrapped.connect(protocol=protocol, env={"CASE_MODE": "echo"}))
    for n in range(5):
        await echoes(at, client, n=n)
    await at.get(client.close())
    assert len(wrapped.received()) < 50


@pytest.mark.parametrize("protocol", [LEGACY, None])
@across
async def test_a_mirror_is_no_server(at, wrapped, protocol):
    with took(below=6):
        connecting = wrapped.connect(
            protocol=protocol, timeout=1.0, probe_timeout=1.0, env={"CASE_MODE": "mirror"}
        )
        error = await at.error(connecting)
    assert isinstance(error, snodo.Error)
    await at.until(lambda: not wrapped.processes(), within=5)


@across
async def test_a_mirror_answers_no_call(at, wrapped):
    client = await at.get(wrapped.connect(protocol=MODERN, env={"CASE_MODE": "mirror"}))
    with took(below=3):
        timed_out(await at.error(client.call_tool("echo", timeout=0.5)), 0.5)
    await at.get(client.close())


@everywhere
async def test_the_first_server_is_gone_before_the_second_starts(at, wrapped):
    """They may not run side by side: a port, a lock or a file is theirs alone."""
    client = await at.get(
        wrapped.connect(protocol=None, probe_timeout=0.4, env={"CASE_MODE": "lock"})
    )
    assert client.protocol == LEGACY
    await echoes(at, client)
    await at.get(client.close())
    assert not wrapped.facts("locked")


# ---- pipes that are full on both sides


@everywhere
async def test_much_in_both_directions_at_a_time(at, exits):
    """Forty megabytes each way, through pipes of 64 kB, and a server that reads while it can."""
    client = await at.get(exits.connect(timeout=60.0))
    pad = "x" * 200_000
    with took(below=30):
        calls = [client.call_tool("echo", {"n": n, "pad": pad}) for n in range(200)]
        results = await at.all(*calls)
    for n, result in enumerate(results):
        assert text_of(result) == said(n=n, pad=pad)
    await at.get(client.close())


@pytest.mark.parametrize("size", [70_000, 3_000_000, 12_000_000])
@across
async def test_one_big_call(at, exits, size):
    client = await at.get(exits.connect(timeout=60.0))
    with took(below=15):
        result = await at.get(client.call_tool("echo", {"pad": "é" * (size // 6)}))
    assert len(text_of(result)) > size // 2
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_answer_as_long_as_the_call_that_is_too_long(at, exits):
    client = await at.get(exits.connect(timeout=60.0))
    error = await at.error(client.call_tool("echo", {"pad": "x" * (17 << 20)}))
    lost(error, ("max_line_bytes", 16 << 20))
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_ten_thousand_calls_wait_at_a_time(at, exits):
    client = await at.get(exits.connect(timeout=60.0))
    with took(below=30):
        calls = [client.call_tool("hold") for _ in range(10_000)]
        await echoes(at, client)
        with took(below=5):
            await at.get(client.close())
        outcomes = await at.all(*calls)
    for outcome in outcomes:
        lost(outcome, "closed")


# ---- a loop that is busy


@pytest.mark.parametrize("at", ["asyncio", "trio"], indirect=True)
@everywhere
async def test_an_answer_in_time_counts_though_the_loop_was_busy(at, stays):
    """The answer came after a tenth of a second; the loop looked after a whole one."""
    client = await at.get(stays.connect())
    call = client.call_tool("echo", {"n": 1}, timeout=0.6)
    await at.until(lambda: stays.facts("recv", tool="echo"))
    time.sleep(1.0)  # noqa: ASYNC251  # that is the point
    assert text_of(await at.get(call)) == said(n=1)
    await at.get(client.close())


# ---- arguments, folders, environments


@across
async def test_arguments_that_are_too_long(at, exits):
    with took(below=3):
        error = await at.error(snodo.connect(("stdio", sys.executable, ["-c", "x" * 5_000_000])))
    lost(error)
    assert isinstance(error.cause, OSError)


@across
async def test_arguments_come_as_they_are(at, tmp_path):
    odd = ["a b", "", "$HOME", "*", "'\"\\", "-c", "é\n漢"]
    code = "import json, sys; open(sys.argv[1], 'w').write(json.dumps(sys.argv[2:])); sys.exit(4)"
    target = ("stdio", sys.executable, ["-X", "utf8", "-c", code, str(tmp_path / "args"), *odd])
    lost(await at.error(snodo.connect(target, protocol=LEGACY)), ("exit_status", 4))
    assert json.loads((tmp_path / "args").read_text()) == odd


@across
async def test_the_folder_and_the_environment_are_the_servers_only(at, exits, tmp_path):
    before = Path.cwd(), dict(os.environ)
    client = await at.get(exits.connect(cd=tmp_path, env={"HOME": None, "ODD": "a=b\nc"}))
    [pid] = exits.processes()
    assert os.readlink(f"/proc/{pid}/cwd") == str(tmp_path)
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: ASYNC230, PTH123  # it is there
        environment = file.read().split(b"\0")
    assert b"ODD=a=b\nc" in environment
    assert not [entry for entry in environment if entry.startswith(b"HOME=")]
    assert before == (Path.cwd(), dict(os.environ))
    await at.get(client.close())


@across
async def test_a_server_holds_none_of_our_descriptors(at, exits, server_of):
    """Else the end of input of one server is held open by the next."""
    other = server_of("exits")
    one, two = await at.get(exits.connect()), await at.get(other.connect())
    for server in (exits, other):
        [pid] = server.processes()
        assert set(os.listdir(f"/proc/{pid}/fd")) == {"0", "1", "2"}  # noqa: PTH208  # shorter
    with took(below=1.5):
        await at.get(one.close())
    assert exits.facts("stdin_eof")
    await echoes(at, two)
    await at.get(two.close())


# ---- what the program around does

AROUND = """
import asyncio, json, os, resource, signal, subprocess, sys, threading, time
from case_servers import Server
from pathlib import Path
import snodo_actors as snodo
import supervisors

script, log, backend, what = sys.argv[1:5]
server = Server(Path(script), Path(log))
outcomes = []

def outcome(future):
    try:
        value = future.get(timeout=20)
        return "client" if isinstance(value, snodo.Client) else value["content"][0]["text"]
    except snodo.Error as error:
        return [error.code, type(error.cause).__name__]

if what == "ignores children":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if what == "reaps children":
    def reap(*_):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
    signal.signal(signal.SIGCHLD, reap)
    def reap_always():
        while True:
            reap()
            time.sleep(0.001)
    threading.Thread(target=reap_always, daemon=True).start()
if what == "many descriptors":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]

with supervisors.Node(backend=backend):
    if what == "no descriptors":
        warm = server.connect().get()
        warm.close().get()
        here = len(os.listdir("/proc/self/fd"))
        for spare in range(0, 8):
            resource.setrlimit(resource.RLIMIT_NOFILE, (here + spare, 4096))
            outcomes.append(outcome(server.connect(timeout=5.0)))
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        time.sleep(0.2)
    start = time.monotonic()
    client = server.connect(timeout=10.0).get()
    outcomes.append(outcome(client.call_tool("echo", {"n": 1})))
    if what == "runs others":
        async def run():
            other = await asyncio.create_subprocess_exec("echo", "5", stdout=subprocess.PIPE)
            return (await other.communicate())[0].decode().strip()
        outcomes.append(asyncio.run(run()))
        outcomes.append(subprocess.check_output(["echo", "6"], text=True).strip())
        outcomes.append(outcome(client.call_tool("echo", {"n": 2})))
    outcomes.append(outcome(client.call_tool("status", {"status": 3})))
    outcomes.append(outcome(client.call_tool("echo")))
    client.close().get()
    second = server.connect(timeout=10.0).get()
    outcomes.append(outcome(second.call_tool("echo", {"n": 3})))
    second.close().get()
    seconds = time.monotonic() - start
print(json.dumps({"outcomes": outcomes, "seconds": seconds}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    "what", ["nothing", "ignores children", "reaps children", "many descriptors", "runs others"]
)
def test_the_program_around(exits, backend, what):
    ran = program(AROUND, exits.script, exits.log, backend, what)
    outcomes = ran["outcomes"]

    others = ["5", "6", said(n=2)] if what == "runs others" else []
    assert outcomes[: 1 + len(others)] == [said(n=1), *others]
    *exited, last = outcomes[1 + len(others) :]
    assert [code for code, _ in exited] == [-32000, -32000]
    assert last == said(n=3)
    assert ran["seconds"] < 6, ran


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_program_without_descriptors(exits, backend):
    """Connecting fails as itself while there are too few, leaks none, and works again."""
    ran = program(AROUND, exits.script, exits.log, backend, "no descriptors")
    *few, first, exited, after, last = ran["outcomes"]

    assert few[0][0] == -32000, "there was no descriptor left at all"
    for outcome in few:
        assert outcome == "client" or outcome[0] == -32000
    assert (first, exited[0], after[0], last) == (said(n=1), -32000, -32000, said(n=3))
