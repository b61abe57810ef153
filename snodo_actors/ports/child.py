"""A child process and its pipes: bytes in and out, stderr kept, its end noticed and brought about.

Knows processes and pipes; knows nothing of lines or JSON. What happens is told to *events*, in the
thread of the node's loop.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import IO, Any, Protocol

from snodo_actors.machines.stderr_tail import StderrTail
from snodo_actors.machines.stop_ladder import CloseInput, Deed, Finished, Signal, StopLadder
from snodo_actors.ports.readiness import Watch, watch_readable, watch_writable
from snodo_actors.words.lost import command_not_found, could_not_start
from snodo_actors.words.stdio_options import StdioOptions
from supervisors import Future, Node, TimerHandle

_log = logging.getLogger("snodo_actors.stderr")

READ_BYTES = 1 << 18
"""The most bytes one read takes."""
MAX_UNREAD_CHUNKS = 16
"""Chunks that may wait for the actor before the pipe is left full."""
OUTPUT_GRACE = 0.5
"""Seconds after the end of the process in which its output may still come to its end."""


class Events(Protocol):
    """Who is told what happens to a child process."""

    def received(self, child: Child, data: bytes) -> None: ...

    def exited(self, child: Child, status: int) -> None: ...

    def input_failed(self, child: Child, error: OSError) -> None: ...


class Child:
    """One child process, in a process group of its own, so that what it starts ends with it."""

    def __init__(self, node: Node, events: Events, name: str) -> None:
        self._node = node
        self._events = events
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None
        self._watches: dict[str, Watch] = {}
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._unread_chunks = 0
        self._discarding = False
        self._status: int | None = None
        self._output_ended = False
        self._reported = False
        self._stderr = StderrTail()
        self._ladder = StopLadder()
        self._timer: TimerHandle | None = None
        self._gone: Future[None] = Future(node)

    # ---- start

    def start(
        self,
        command: str,
        args: Iterable[str],
        options: StdioOptions,
    ) -> None:
        """Start the process.

        Raises:
            TransportError: There is no such executable, or it cannot be started.
        """
        path = shutil.which(command)
        if path is None or not os.path.isfile(path):
            raise command_not_found(command)
        try:
            process = subprocess.Popen(
                [path, *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(os.environ, options.env),
                cwd=options.cd,
                bufsize=0,
                **_own_group(),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise could_not_start(command, error) from error
        self._process = process
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(_fd(pipe), False)
        self._watches["output"] = watch_readable(self._node, _fd(process.stdout), self._read_output)
        self._watches["stderr"] = watch_readable(self._node, _fd(process.stderr), self._read_stderr)
        self._watch_exit(process)

    @property
    def pid(self) -> int | None:
        """The number of the process, once it was started."""
        return self._process.pid if self._process is not None else None

    @property
    def status(self) -> int | None:
        """The exit status, once it has ended; 128 + n when signal n ended it."""
        return self._status

    def last_words(self) -> str:
        """The last lines it wrote to stderr."""
        return "\n".join(self._stderr.lines())

    # ---- bytes out

    def write(self, data: bytes) -> bool:
        """Send *data* to its stdin, now or when there is room; False if it takes no more."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.closed:
            return False
        view = memoryview(data)
        if not self._unsent:
            try:
                written = os.write(_fd(process.stdin), view)
            except BlockingIOError:
                written = 0
            except OSError as error:
                self._input_failed(error)
                return False
            if written == len(view):
                return True
            view = view[written:]
            self._watches["input"] = watch_writable(
                self._node, _fd(process.stdin), self._write_more
            )
        self._unsent.append(view)
        self._unsent_bytes += len(view)
        return True

    @property
    def unsent_bytes(self) -> int:
        """How many bytes wait for room in the pipe."""
        return self._unsent_bytes

    def _write_more(self) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.closed:
            return
        try:
            while self._unsent:
                view = self._unsent[0]
                written = os.write(_fd(process.stdin), view)
                self._unsent_bytes -= written
                if written < len(view):
                    self._unsent[0] = view[written:]
                    return
                self._unsent.popleft()
        except BlockingIOError:
            return
        except OSError as error:
            self._input_failed(error)
            return
        self._stop_watch("input")

    def _input_failed(self, error: OSError) -> None:
        """Its reader is gone, so it is on its way out; the exit says more, if it comes in time."""
        self._close_input()
        self._node.after(OUTPUT_GRACE, self._still_there, error)

    def _still_there(self, error: OSError) -> None:
        if not self._reported:
            self._events.input_failed(self, error)

    def _close_input(self) -> None:
        self._stop_watch("input")
        self._unsent.clear()
        self._unsent_bytes = 0
        if self._process is not None:
            _close(self._process.stdin)

    # ---- bytes in

    def _read_output(self) -> None:
        process = self._process
        if process is None or process.stdout is None or process.stdout.closed:
            return
        try:
            data = os.read(_fd(process.stdout), READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._output_over()
        elif not self._discarding:
            self._unread_chunks += 1
            if self._unread_chunks >= MAX_UNREAD_CHUNKS:
                self._stop_watch("output")
            self._events.received(self, data)

    def consumed(self) -> None:
        """Say that one chunk has been dealt with, so that reading may go on."""
        self._unread_chunks -= 1
        process = self._process
        if (
            "output" not in self._watches
            and not self._output_ended
            and process is not None
            and self._unread_chunks < MAX_UNREAD_CHUNKS // 2
        ):
            self._watches["output"] = watch_readable(
                self._node, _fd(process.stdout), self._read_output
            )

    def _output_over(self) -> None:
        self._output_ended = True
        self._stop_watch("output")
        if self._process is not None:
            _close(self._process.stdout)
        if self._status is not None:
            self._report_exit()
        else:
            # Whoever closes its stdout is on its way out; if it is not, it is shown the way.
            self._node.after(OUTPUT_GRACE, self._silent_for_too_long)

    def _silent_for_too_long(self) -> None:
        if self._status is None:
            self.stop()

    def _read_stderr(self) -> None:
        process = self._process
        if process is None or process.stderr is None or process.stderr.closed:
            return
        try:
            data = os.read(_fd(process.stderr), READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        lines = self._stderr.feed(data) if data else self._stderr.finish()
        if _log.isEnabledFor(logging.INFO):
            for line in lines:
                _log.info("%s: %s", self._name, line)
        if not data:
            self._stop_watch("stderr")
            _close(process.stderr)

    # ---- its end

    def _watch_exit(self, process: subprocess.Popen[bytes]) -> None:
        if sys.platform == "linux":
            try:
                fd = os.pidfd_open(process.pid)
            except OSError:
                fd = -1  # an old kernel, or no descriptor left
            if fd >= 0:
                watch = watch_readable(self._node, fd, self._reap)

                def stop() -> None:
                    watch.stop()
                    os.close(fd)

                self._watches["exit"] = Watch(stop)
                return

        def wait() -> None:
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            else:
                process.wait()
            with contextlib.suppress(RuntimeError):  # the node has stopped meanwhile
                self._node.post(self._reap)

        threading.Thread(target=wait, name=f"wait for {process.pid}", daemon=True).start()

    def _reap(self) -> None:
        process = self._process
        if process is None or self._status is not None:
            return
        # Before it is reaped its number cannot belong to anybody else.
        self._kill_group()
        status = process.poll()
        if status is None:
            return
        self._status = status if status >= 0 else 128 - status
        self._stop_watch("exit")
        self._close_input()
        self._read_stderr()
        if self._output_ended:
            self._report_exit()
        else:
            self._node.after(OUTPUT_GRACE, self._report_exit)

    def _report_exit(self) -> None:
        """Say that it has ended, once what it wrote has been read."""
        if self._reported or self._status is None:
            return
        self._reported = True
        self._read_stderr()
        if self._timer is not None:
            self._timer.cancel()
        self._carry_out(self._ladder.exited())
        self._events.exited(self, self._status)

    def _release(self) -> None:
        for name in tuple(self._watches):
            self._stop_watch(name)
        process = self._process
        if process is not None:
            for pipe in (process.stdin, process.stdout, process.stderr):
                _close(pipe)

    def stop(self) -> Future[None]:
        """Bring it to its end: end of input, then SIGTERM, then SIGKILL, each after a grace.

        The future is done when it is gone; that takes a few seconds at most.
        """
        self._discarding = True
        if self._process is None:
            self._gone.try_set(None)
        elif not self._gone.done():
            if "output" not in self._watches and not self._output_ended:
                self._unread_chunks = 0
                self._watches["output"] = watch_readable(
                    self._node, _fd(self._process.stdout), self._read_output
                )
            self._carry_out(self._ladder.start(self._node.now()))
        return self._gone

    def _carry_out(self, deed: Deed | None) -> None:
        match deed:
            case None:
                return
            case CloseInput():
                self._close_input()
            case Signal(name):
                self._signal(getattr(signal, name, signal.SIGTERM))
            case Finished():
                self._release()
                self._gone.try_set(None)
                return
        next_at = self._ladder.next_at()
        if next_at is not None:
            self._timer = self._node.after(next_at - self._node.now(), self._next_step)

    def _next_step(self) -> None:
        self._carry_out(self._ladder.due(self._node.now()))

    def _signal(self, number: int) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                process.terminate()
            else:
                os.killpg(process.pid, number)

    def _kill_group(self) -> None:
        """End what the process has started and left behind."""
        if sys.platform != "win32":
            self._signal(signal.SIGKILL)

    def _stop_watch(self, name: str) -> None:
        watch = self._watches.pop(name, None)
        if watch is not None:
            watch.stop()


def _environment(inherited: Mapping[str, str], changes: Any) -> dict[str, str]:
    env = dict(inherited)
    for name, value in changes:  # pairs, once the options are checked
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _fd(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    return pipe.fileno()


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()
