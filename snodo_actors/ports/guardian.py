"""Ends the process groups that a program leaves behind when it is killed: a program of its own.

Started by `guard.py`, with the number of the program's process as its argument. On its stdin come
lines, `+1234` for a group that is to end with the program and `-1234` for one that has ended. When
the program is gone it gives the groups that are still there the time to leave at the end of their
input, then SIGTERM, then SIGKILL; and ends. It imports next to nothing, so as to start quickly.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

GRACES = ((None, 1.0), (signal.SIGTERM, 0.7), (signal.SIGKILL, 1.0))
"""Signals, and how many seconds what is left of a group gets after each; first the end of input."""
POLL = 0.02
"""Seconds between two looks. The number of a group is not given to another one that soon."""


def main(program: int) -> None:
    """Keep the list of groups until the process *program* is gone, then end them."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends with the program, not with others
    groups: set[int] = set()
    poll = select.poll()
    poll.register(0, select.POLLIN)
    os.set_blocking(0, False)
    try:
        # A fork of the program may hold its end of our stdin open, so it is watched as well.
        gone = os.pidfd_open(program)
    except (AttributeError, OSError):  # not on this system, or gone already
        gone = -1
    else:
        poll.register(gone, select.POLLIN)
    rest = b""
    over = os.getppid() != program
    while True:
        over = over or any(fd == gone for fd, _ in poll.poll())
        try:
            data = os.read(0, 65536)
        except BlockingIOError:
            if over:
                break
            continue
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            change = groups.add if line[:1] == b"+" else groups.discard
            change(int(line[1:]))
    end(groups)


def end(groups: set[int]) -> None:
    """Bring *groups* to their end."""
    for number, grace in GRACES:
        if number is not None:
            groups = {group for group in groups if send(group, number)}
        until = time.monotonic() + grace
        while groups and time.monotonic() < until:
            time.sleep(POLL)
            groups = {group for group in groups if send(group, 0)}


def send(group: int, number: int) -> bool:
    """Send a signal to a group; False if there is no such group of ours."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]))
