"""How the end of a child process is noticed, whichever way the system offers.

On Linux, macOS and the BSDs a descriptor tells, and the process still has its number when it does:
nobody else can have it before it is reaped. Elsewhere a thread waits.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable

from snodo_actors.ports.readiness import Watch, watch_readable
from snodo_actors.ports.threaded import post
from supervisors import Node


def watch_exit(node: Node, process: subprocess.Popen[bytes], ended: Callable[[], object]) -> Watch:
    """Call *ended*, in the thread of the loop, when *process* has ended; perhaps more than once."""
    try:
        close, fd = _descriptor(process.pid)
    except OSError:  # an old kernel, no descriptor left, or it has ended already
        return _watch_in_thread(node, process, ended)
    watch = watch_readable(node, fd, ended)

    def stop() -> None:
        watch.stop()
        close()

    return Watch(stop)


def _descriptor(pid: int) -> tuple[Callable[[], None], int]:
    """A descriptor that can be read when the process has ended, and how to close it."""
    if sys.platform == "linux":
        fd = os.pidfd_open(pid)
        return (lambda: os.close(fd)), fd
    elif sys.platform == "win32":  # noqa: RET505  # type checkers look at one system's branch only
        raise OSError("no descriptor tells of the end of a process here")
    else:
        queue = select.kqueue()
        event = select.kevent(
            pid,
            filter=select.KQ_FILTER_PROC,
            flags=select.KQ_EV_ADD,
            fflags=select.KQ_NOTE_EXIT,
        )
        try:
            queue.control([event], 0, 0)
        except OSError:
            queue.close()
            raise
        return queue.close, queue.fileno()


def _watch_in_thread(
    node: Node, process: subprocess.Popen[bytes], ended: Callable[[], object]
) -> Watch:
    watching = True

    def wait() -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):  # somebody else waits for all children
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        post(node, lambda: ended() if watching else None)

    def stop() -> None:
        nonlocal watching
        watching = False

    threading.Thread(target=wait, name=f"waits for {process.pid}", daemon=True).start()
    return Watch(stop)
