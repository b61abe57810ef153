"""A child process and its pipes: bytes in and out, its end noticed and brought about.

Knows processes and pipes; knows nothing of lines or JSON. What happens is told to *events*, in the
thread of the node's loop.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from errno import EPIPE
from typing import Any, Protocol

from snodo_actors.machines.stop_ladder import CloseInput, Deed, Finished, Signal, StopLadder
from snodo_actors.ports.exits import watch_exit
from snodo_actors.ports.guard import guard
from snodo_actors.ports.launch import WINDOWS, end_by, launch, signal_name
from snodo_actors.ports.reader import PolledReader, Reader
from snodo_actors.ports.readiness import Watch
from snodo_actors.ports.stderr import Stderr
from snodo_actors.ports.threaded import ThreadedReader, ThreadedWriter
from snodo_actors.ports.writer import PolledWriter, Writer
from snodo_actors.words.stdio_options import StdioOptions
from supervisors import Future, Node, TimerHandle

MAX_UNREAD_CHUNKS = 16
"""Chunks that may wait for the actor before the pipe is left full."""
GRACE = 0.5
"""Seconds in which an end that announced itself may still explain itself by the exit."""
KILL_WAIT = 0.25
"""Seconds a process that is killed on the spot may take to be gone, which are microseconds."""

_KILL = signal.SIGTERM if WINDOWS else signal.SIGKILL


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended."""

    status: int
    """Its exit status; 128 + n when signal n ended it."""
    signal: str | None
    """The signal that ended it, with its name."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a process that lives on cannot be talked with any more: "epipe", "eof" or an OSError."""

    reason: Any


class Events(Protocol):
    """Who is told what happens to a child process."""

    def received(self, data: bytes) -> None:
        """It wrote *data*; `consumed` is to be called once that was dealt with."""

    def ended(self, how: Exit | Broken) -> None:
        """All it had written was handed over, and there will be no more."""


class Child:
    """One child process, in a process group of its own, so that what it starts ends with it."""

    def __init__(self, node: Node, events: Events, name: str, options: StdioOptions) -> None:
        self._node = node
        self._events = events
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._input: Writer | None = None
        self._output: Reader | None = None
        self._errors: Reader | None = None
        self._exit_watch: Watch | None = None
        self._stderr = Stderr(name, options.stderr)
        self._unread_chunks = 0
        self._discarding = False
        self._exit: Exit | None = None
        self._reported = False
        self._ladder = StopLadder()
        self._timer: TimerHandle | None = None
        self._gone: Future[None] = Future(node)

    # ---- start

    def start(self, command: str, args: Iterable[str]) -> None:
        """Start the process.

        Raises:
            TransportError: There is no such executable, or it cannot be started.
        """
        guard.start()
        process = launch(command, args, self._options)
        guard.add(process.pid)
        self._process = process
        node = self._node
        read, write = (ThreadedReader, ThreadedWriter) if WINDOWS else (PolledReader, PolledWriter)
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = write(node, process.stdin, self._input_failed)
        self._output = read(node, process.stdout, self._output_came)
        if process.stderr is not None:
            self._errors = read(node, process.stderr, self._errors_came)
        self._exit_watch = watch_exit(node, process, self._ended)

    @property
    def pid(self) -> int | None:
        """The number of the process, once it was started."""
        return self._process.pid if self._process is not None else None

    def last_words(self) -> str:
        """The last lines it wrote to stderr."""
        return self._stderr.last_lines()

    # ---- bytes out

    def write(self, data: bytes, key: Hashable = None, *, soon: bool = False) -> bool:
        """Send *data* to its stdin, now or when there is room; False if it takes no more.

        *soon*: in the next turn of the loop, together with what else there is then. If it takes no
        more without being told to stop, the reason comes as an event.
        """
        return self._input is not None and self._input.write(data, key, soon=soon)

    @property
    def unsent_bytes(self) -> int:
        """How many bytes wait for room in the pipe."""
        return 0 if self._input is None else self._input.unsent_bytes

    def unsent(self) -> set[Hashable]:
        """The keys of what it has not been sent a byte of."""
        return set() if self._input is None else self._input.unsent()

    def withdraw(self, key: Hashable) -> bool:
        """Do not send what was given with *key*; False if it has been sent, at least in part."""
        return self._input is not None and self._input.withdraw(key)

    def _input_failed(self, error: OSError) -> None:
        # Its reader is gone, so it is on its way out; the exit says more, if it comes in time.
        self._node.after(GRACE, self._broke, "epipe" if error.errno == EPIPE else error)

    # ---- bytes in

    def _output_came(self, data: bytes) -> None:
        if not data:
            self._output_over()
        elif not self._discarding:
            self._unread_chunks += 1
            if self._unread_chunks >= MAX_UNREAD_CHUNKS and self._output is not None:
                self._output.pause()
            self._events.received(data)

    def consumed(self) -> None:
        """Say that one chunk has been dealt with, so that reading may go on."""
        self._unread_chunks -= 1
        if self._unread_chunks == MAX_UNREAD_CHUNKS // 2 and self._output is not None:
            self._output.resume()

    def _output_over(self) -> None:
        if self._exit is not None:
            self._report_if_read()
        else:
            # Whoever closes its stdout is on its way out; if it is not, it is shown the way.
            self._node.after(GRACE, self._broke, "eof")

    def _errors_came(self, data: bytes) -> None:
        self._stderr.received(data)
        if not data:
            self._report_if_read()

    def _broke(self, reason: Any) -> None:
        if self._exit is None and not self._discarding:
            self._events.ended(Broken(reason))
            self.stop()

    # ---- its end

    def _ended(self) -> None:
        process = self._process
        if process is None or self._exit is not None:
            return
        # As long as it is not reaped, its number cannot be anybody else's.
        if not WINDOWS:
            end_by(process, _KILL)  # what it has left behind
        guard.remove(process.pid)
        status = process.poll()
        if status is None:
            return
        self._exit = Exit(status, None) if status >= 0 else Exit(128 - status, signal_name(-status))
        if self._exit_watch is not None:
            self._exit_watch.stop()
        self._report_if_read()
        if not self._reported:
            self._node.after(GRACE, self._report)

    def _report_if_read(self) -> None:
        """Say that it has ended, once what it wrote has been read."""
        if self._exit is None:
            return
        errors_read = self._errors is None or self._errors.drain()
        output_read = self._output is None or self._output.drain()
        if errors_read and output_read:
            self._report()

    def _report(self) -> None:
        if self._reported or self._exit is None:
            return
        self._reported = True
        if self._timer is not None:
            self._timer.cancel()
        self._carry_out(self._ladder.exited())
        self._events.ended(self._exit)

    def stop(self) -> Future[None]:
        """Bring it to its end: end of input, then SIGTERM, then SIGKILL, each after a grace.

        The future is done when it is gone; that takes a few seconds at most.
        """
        self._discarding = True
        if self._process is None:
            self._gone.try_set(None)
        elif not self._gone.done():
            if self._output is not None:
                self._output.resume()  # it may be blocked in a write
            self._carry_out(self._ladder.start(self._node.now()))
        return self._gone

    def kill(self) -> None:
        """End it here and now, as there is no time left for anything else."""
        process = self._process
        if process is None or self._gone.done():
            return
        self._discarding = True
        until = time.monotonic() + KILL_WAIT
        self._signal(_KILL)
        while self._exit is None and time.monotonic() < until:
            time.sleep(0.0005)
            self._ended()
        self._carry_out(self._ladder.exited())

    def _carry_out(self, deed: Deed | None) -> None:
        match deed:
            case None:
                return
            case CloseInput():
                if self._input is not None:
                    self._input.close()
            case Signal(name):
                self._signal(getattr(signal, name, _KILL))
            case Finished():
                self._release()
                self._gone.try_set(None)
                return
        next_at = self._ladder.next_at()
        if next_at is not None:
            self._timer = self._node.after(next_at - self._node.now(), self._next_step)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._exit is None:  # else its number may be another's
            end_by(self._process, number)

    def _next_step(self) -> None:
        self._carry_out(self._ladder.due(self._node.now()))

    def _release(self) -> None:
        """Close the pipes. One that not even force could end is still watched, and reaped."""
        for end in (self._input, self._output, self._errors):
            if end is not None:
                end.close()
