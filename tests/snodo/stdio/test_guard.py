"""When a program is killed, its servers end; its guardian ends with it, and does nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from case_servers import SLOW, TESTS, Server

SCRIPT = TESTS / "cases_more" / "stays.py"
MODES = ("", "stubborn family", "stubborn")

PROGRAM = """
import json, os, sys, time
from pathlib import Path
from case_servers import Server
from snodo_actors.ports.guard import guard
from supervisors import current_node

script, log, *modes = sys.argv[1:]
node = current_node()
clients = [
    Server(Path(script), Path(f"{log}-{n}")).connect(env={"CASE_MODE": mode}, owner=node).get()
    for n, mode in enumerate(modes)
]
for client in clients:
    client.call_tool("echo").get()
"""
STAYS = PROGRAM + "print(json.dumps(guard._pid), flush=True)\ntime.sleep(60)"


@contextlib.contextmanager
def program(code, *args):
    """A program that runs, and what it said first."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
    )
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def until(condition, within):
    deadline = time.monotonic() + within * SLOW
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.01)


@pytest.fixture
def servers(tmp_path):
    made = [Server(SCRIPT, Path(f"{tmp_path / 'facts'}-{n}")) for n in range(len(MODES))]
    yield made
    for server in made:
        server.kill_all()


def processes(servers):
    return [pid for server in servers for pid in server.processes()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_servers_end_when_their_program_is_killed(tmp_path, servers, number):
    with program(STAYS, SCRIPT, tmp_path / "facts", *MODES) as (process, guardian):
        assert [len(server.processes()) for server in servers] == [1, 2, 1]
        process.send_signal(number)
        process.wait()
        until(lambda: not processes(servers) and gone(guardian), within=5)

    asked = [[fact["fact"] for fact in server.facts()] for server in servers]
    assert all("stdin_eof" in facts for facts in asked)
    assert ["sigterm" in facts for facts in asked] == [False, True, True]


def test_a_fork_of_the_program_changes_nothing(tmp_path, servers):
    """It holds what it inherited, but neither is the program nor has its servers."""
    code = (
        PROGRAM + "if (forked := os.fork()) == 0:\n"
        "    assert guard._pid == 0, guard._pid\n"
        "    time.sleep(60)\n    os._exit(0)\n"
        "print(json.dumps([guard._pid, forked]), flush=True)\ntime.sleep(60)"
    )
    with program(code, SCRIPT, tmp_path / "facts", *MODES) as (process, (guardian, forked)):
        process.kill()
        process.wait()
        try:
            until(lambda: not processes(servers) and gone(guardian), within=5)
            assert not gone(forked)
        finally:
            os.kill(forked, signal.SIGKILL)


def test_a_fork_has_a_guardian_of_its_own(tmp_path, servers):
    """As of a program that forks its workers, each of which connects."""
    code = (
        "import os, sys\nif os.fork():\n    os.waitpid(-1, 0)\n    sys.exit(0)\n" + PROGRAM
    ) + "print(json.dumps([os.getpid(), guard._pid]), flush=True)\ntime.sleep(60)"
    with program(code, SCRIPT, tmp_path / "facts", *MODES) as (_process, (worker, guardian)):
        os.kill(worker, signal.SIGKILL)
        until(lambda: not processes(servers) and gone(guardian), within=5)


def test_a_program_that_ends_leaves_no_guardian(tmp_path, servers):
    """In order, without closing anything; the servers end by way of the default node."""
    ends = PROGRAM + "print(json.dumps(guard._pid), flush=True)"
    with program(ends, SCRIPT, tmp_path / "facts", *MODES) as (process, guardian):
        assert process.wait(timeout=15) == 0
        until(lambda: gone(guardian), within=2)
        assert not processes(servers)


def test_a_guardian_that_was_killed_is_replaced(tmp_path, servers):
    code = (
        PROGRAM
        + """
import signal
first = guard._pid
os.kill(first, signal.SIGKILL)
while True:
    state = Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[0]
    if state == "Z":
        break
more = Server(Path(script), Path(f"{log}-0")).connect(owner=node).get()
assert not Path(f"/proc/{first}").exists(), "it was not waited for"
print(json.dumps([first, guard._pid]), flush=True)
time.sleep(60)
"""
    )
    with program(code, SCRIPT, tmp_path / "facts", *MODES) as (process, (first, second)):
        assert first != second
        process.kill()
        until(lambda: not processes(servers) and gone(second), within=5)


def test_it_holds_no_descriptor_of_the_program(tmp_path, servers):
    code = "import os\nos.set_inheritable(os.open('/dev/zero', os.O_RDONLY), True)\n" + STAYS
    with program(code, SCRIPT, tmp_path / "facts", *MODES) as (process, guardian):
        until(lambda: "pidfd" in str(list(Path(f"/proc/{guardian}/fd").iterdir())) or True, 1)
        held = {entry.name: os.readlink(entry) for entry in Path(f"/proc/{guardian}/fd").iterdir()}
        assert held["1"] == held["2"] == "/dev/null"
        assert held["0"].startswith("socket:")
        assert all("pidfd" in target for fd, target in held.items() if int(fd) > 2), held
        assert os.readlink(f"/proc/{guardian}/cwd") == "/"
        assert os.getsid(guardian) == guardian
        # Nor does a server hold the program's end of the socket.
        for pid in processes(servers):
            links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
            assert not [link for link in links if link.startswith("socket:")]
        assert process.poll() is None


def test_closed_connections_are_forgotten(tmp_path, servers):
    """A number that has been given to another group meanwhile must not be killed."""
    code = (
        PROGRAM
        + "for client in clients[1:]: client.close().get()\n"
        + "print(json.dumps(sorted(guard._groups)), flush=True)\ntime.sleep(60)"
    )
    with program(code, SCRIPT, tmp_path / "facts", *MODES) as (_process, groups):
        assert groups == servers[0].processes()
        assert not processes(servers[1:])


def test_it_ignores_what_ends_others(tmp_path, servers):
    """As does a Ctrl-C, or a `killall python`: it ends when its program does."""
    with program(STAYS, SCRIPT, tmp_path / "facts", *MODES) as (process, guardian):
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(guardian, number)
        process.kill()
        process.wait()
        until(lambda: not processes(servers) and gone(guardian), within=5)


def test_frozen_programs_have_none(monkeypatch):
    """What runs them is no Python: it would run the program once more."""
    from snodo_actors.ports import guard

    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not guard._is_python(sys.executable)
    monkeypatch.undo()
    assert guard._is_python(sys.executable)
    assert not guard._is_python("/usr/sbin/uwsgi")
    assert not guard._is_python(None)


def test_the_first_costs_next_to_nothing():
    code = """
import json, time
from snodo_actors.ports.guard import Guard
times = []
for _ in range(7):
    guard = Guard()
    start = time.perf_counter()
    guard.start()
    times.append(time.perf_counter() - start)
print(json.dumps(min(times)))
"""
    with program(code) as (_process, seconds):
        assert seconds < 0.03 * SLOW
