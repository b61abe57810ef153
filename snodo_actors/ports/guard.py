"""Sees to it that no server outlives this program, not even when the program is killed.

What is killed can do nothing any more, so another process does it, the guardian: it is told which
process groups are there, and ends them when this program is gone. There is one for the program,
started with the first group. It holds nothing of the program but its end of a socket, and ends with
it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

_log = logging.getLogger("snodo_actors.guard")

_PROGRAM = Path(__file__).with_name("guardian.py")


class Guard:
    """The guardian of this program, and what it was told."""

    _lock: threading.Lock
    _groups: set[int]
    _socket: socket.socket | None
    _pid: int

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._groups = set()
        self._socket = None
        self._pid = 0
        self._possible = os.name == "posix" and _is_python(sys.executable)

    def start(self) -> None:
        """Start the guardian, if there is none."""
        with self._lock:
            if self._socket is None:
                self._start()

    def add(self, group: int) -> None:
        """Let the process group *group* end with this program."""
        with self._lock:
            self._groups.add(group)
            self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """Take note that *group* has ended. To be done while its number cannot be another's yet."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                if self._socket is not None:
                    self._tell(b"-%d\n" % group)

    def forget(self) -> None:
        """Have no guardian and no groups: this is a fork of the program, they belong to that."""
        own = self._socket
        self._begin()  # with a new lock: the old one may be held by a thread that is not here
        if own is not None:
            own.close()

    def _tell(self, news: bytes) -> None:
        if self._socket is None:
            self._start()  # which tells all there is, the news included
            return
        try:
            self._socket.send(news, _NO_SIGNAL)
        except OSError:  # it was killed, or is held up for ever
            self._replace()

    def _start(self) -> None:
        if not self._possible:
            return
        try:
            ours, its = socket.socketpair()
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-E", str(_PROGRAM), str(os.getpid())],
                    stdin=its.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
            finally:
                its.close()
        except (OSError, subprocess.SubprocessError) as error:
            _log.warning("no guardian could be started, servers outlive a kill: %s", error)
            self._possible = not isinstance(error, FileNotFoundError | PermissionError)
            return
        process.returncode = 0  # it ends after us: nobody waits for it
        ours.setblocking(False)
        self._pid, self._socket = process.pid, ours
        if self._groups:
            with contextlib.suppress(OSError):
                ours.send(b"".join(b"+%d\n" % group for group in self._groups), _NO_SIGNAL)

    def _replace(self) -> None:
        """Start another guardian in the place of one that is of no use."""
        with contextlib.suppress(ChildProcessError):  # somebody else waited for it
            if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                os.kill(self._pid, signal.SIGKILL)  # before it sees its socket closed, and acts
                os.waitpid(self._pid, 0)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._start()


_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


def _is_python(executable: str | None) -> bool:
    """Whether what runs this program would run another: not if it is frozen or embedded."""
    name = Path(executable or "").name.lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


guard = Guard()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=guard.forget)
