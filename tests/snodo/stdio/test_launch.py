"""What is started, with what around it, and what is said of what cannot be."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from snodo_actors.ports import launch as launching
from snodo_actors.words.errors import TransportError
from snodo_actors.words.stdio_options import StdioOptions

TELL = """
import json, os, sys
tell = {"cwd": os.getcwd(), "env": dict(os.environ), "argv": sys.argv, "group": os.getpgrp(),
        "session": os.getsid(0), "pid": os.getpid(), "fds": sorted(os.listdir("/proc/self/fd"))}
print(json.dumps(tell))
"""


def told(command=sys.executable, args=("-c", TELL), **options):
    """Start it, and what it says of itself."""
    process = launching.launch(command, args, StdioOptions(stderr="discard", **options))
    output, _ = process.communicate()
    return json.loads(output)


@pytest.fixture
def script(tmp_path):
    """A program with a name of its own."""
    path = tmp_path / "bin" / "a-server"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\n{TELL}")
    path.chmod(0o755)
    return path


def refused(command, **options):
    with pytest.raises(TransportError) as failed:
        launching.launch(command, (), StdioOptions(**options))
    assert (failed.value.code, failed.value.delivery) == (-32000, "never_sent")
    return failed.value


def test_a_server_has_a_session_of_its_own_and_three_descriptors() -> None:
    fd = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        seen = told()
    finally:
        os.close(fd)
    assert seen["group"] == seen["session"] == seen["pid"]
    assert seen["session"] != os.getsid(0)
    assert len(seen["fds"]) == 4  # the listing has one of its own


def test_the_environment_is_ours_with_changes(monkeypatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("CHANGED", "1")
    monkeypatch.setenv("TAKEN_OUT", "1")
    env = told(env={"CHANGED": "2", "ADDED": "é", "TAKEN_OUT": None, "NEVER_THERE": None})["env"]
    assert (env["KEPT"], env["CHANGED"], env["ADDED"]) == ("1", "2", "é")
    assert "TAKEN_OUT" not in env
    assert "NEVER_THERE" not in env


def test_arguments_are_passed_as_they_are() -> None:
    args = ["a b", "$HOME", "'", "", "*", "é"]
    assert told(args=("-c", TELL, *args))["argv"][1:] == args


def test_a_name_is_looked_up_on_our_path_not_that_of_env(script, monkeypatch, tmp_path) -> None:
    refused("a-server")
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    assert told("a-server", env={"PATH": "/nowhere"})["env"]["PATH"] == "/nowhere"
    assert told("a-server", cd=tmp_path)["cwd"] == str(tmp_path)


def test_a_relative_path_is_relative_to_us_also_with_cd(script, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert told("bin/a-server", cd=elsewhere)["cwd"] == str(elsewhere)
    assert told("./bin/a-server", ())["argv"] == [str(script)]


@pytest.mark.parametrize("command", ["no-such-program", "/no/such/program", "./none", "/tmp", "."])
def test_what_is_not_there_is_enoent(command) -> None:
    assert refused(command).cause == "enoent"


def test_what_may_not_be_run_says_so(script) -> None:
    script.chmod(0o644)
    error = refused(str(script))
    assert isinstance(error.cause, PermissionError)
    assert "denied" in error.message
    script.chmod(0o755)
    script.write_text("no shebang, no program")
    assert isinstance(refused(str(script)).cause, OSError)


def test_a_folder_that_is_not_there_says_so() -> None:
    error = refused(sys.executable, cd="/no/such/folder")
    assert isinstance(error.cause, FileNotFoundError)
    assert "/no/such/folder" in error.message


def test_signals_have_names() -> None:
    assert launching.signal_name(9) == "9 (SIGKILL)"
    assert launching.signal_name(signal.SIGSEGV) == "11 (SIGSEGV)"
    assert launching.signal_name(200) == "200"


def test_a_group_that_is_gone_is_no_error() -> None:
    process = launching.launch("sleep", ["30"], StdioOptions(stderr="discard"))
    launching.end_by(process, signal.SIGKILL)
    process.communicate()
    launching.end_by(process, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
