"""How the process of a server is started: which file, with which pipes, in a group of its own.

Knows the differences between operating systems; knows nothing of what comes through the pipes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from snodo_actors.words.lost import command_not_found, could_not_start
from snodo_actors.words.stdio_options import StdioOptions

WINDOWS = os.name == "nt"

# A group of its own: what it starts ends with it, and a Ctrl-C that is meant for us is ours alone.
# On Windows no console window pops up for a server of a program that has none.
if sys.platform == "win32":
    CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
else:
    CREATION_FLAGS = 0


def launch(command: str, args: Iterable[str], options: StdioOptions) -> subprocess.Popen[bytes]:
    """Start a server; its stderr is a pipe too where the options want to see it.

    Raises:
        TransportError: There is no such executable, or it cannot be started.
    """
    path = _find(command)
    try:
        return subprocess.Popen(
            [path, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=_stderr(options.stderr),
            env=_environment(os.environ, options.env),
            cwd=options.cd,
            bufsize=0,
            creationflags=CREATION_FLAGS,
            start_new_session=not WINDOWS,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise could_not_start(command, error) from error


def end_by(process: subprocess.Popen[bytes], number: int) -> None:
    """Send the signal *number* to the process and all that it started; it is not reaped yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            _end_tree_on_windows(process)
        else:
            os.killpg(process.pid, number)


def signal_name(number: int) -> str:
    """The number of a signal, with its name where it has one."""
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _find(command: str) -> str:
    # A path is taken as it is, so that one that cannot be run says why. It is made absolute because
    # the working directory of the new process may be another.
    path = command if os.path.dirname(command) else shutil.which(command)  # noqa: PTH120  # text
    if path is None or not os.path.isfile(path):  # noqa: PTH113  # as above
        path = shutil.which(command)  # on Windows it may lack its extension
    if path is None or not os.path.isfile(path):  # noqa: PTH113  # as above
        raise command_not_found(command)
    return os.path.abspath(path)  # noqa: PTH100  # as above; symbolic links stay


def _stderr(wanted: Any) -> int | None:
    if wanted == "inherit":
        return None
    return subprocess.DEVNULL if wanted == "discard" else subprocess.PIPE


def _environment(inherited: Mapping[str, str], changes: Any) -> dict[str, str]:
    env = dict(inherited)
    for name, value in changes:  # pairs, once the options are checked
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def _end_tree_on_windows(process: subprocess.Popen[bytes]) -> None:
    """There are no signals and no groups to be killed: the tree is found by who started whom."""
    with contextlib.suppress(OSError):
        subprocess.Popen(
            ["taskkill", "/F", "/T", "/PID", str(process.pid)],  # noqa: S607  # part of Windows
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=CREATION_FLAGS,
        ).returncode = 0  # nobody waits for it
        return
    process.terminate()
