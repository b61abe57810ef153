"""Ends of every kind, while calls wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from kit import (
    MODE,
    answer,
    arguments,
    encode,
    error,
    fact,
    later,
    note,
    obey,
    raw,
    result,
    send,
    serve,
    text,
    tool,
)


@tool
def hold(message):
    """No answer."""


@tool
def status(message):
    """Exit with `status`, after `words` on stderr."""
    words = arguments(message).get("words")
    if words:
        sys.stderr.write(words)
        sys.stderr.flush()
    os._exit(arguments(message).get("status", 0))


@tool
def end_by(message):
    """Killed by the signal `name`."""
    number = signal.Signals[arguments(message)["name"]]
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)


@tool
def raise_it(message):
    raise RuntimeError("the tool of the server broke")


@tool
def answer_and_exit(message):
    raw(encode(answer(message)) + b"\n")
    os._exit(5)


@tool
def much_and_exit(message):
    """As much as the pipe holds and more, the answer last, and gone."""
    lines = [encode(note(data="z" * 1000, n=number)) for number in range(2000)]
    raw(b"\n".join([*lines, encode(answer(message))]) + b"\n")
    os._exit(5)


@tool
def half_and_exit(message):
    """A line without its newline is no line."""
    raw(encode(result(message["id"], text("half"))))
    os._exit(5)


@tool
def half_a_long_one_and_exit(message):
    raw(encode(result(message["id"], text("x" * 3_000_000)))[:1_500_000])
    os._exit(5)


@tool
def killed_in_a_write(message):
    later(0.2, os.kill, os.getpid(), signal.SIGKILL)
    while True:
        send(note(data="z" * 4096))


@tool
def error_and_exit(message):
    """The last words of a server that gives up."""
    send(error(message["id"], -32603, "giving up"))
    os._exit(5)


def leave_behind(*, session, ignore=""):
    """A process that holds our pipes for half a minute."""
    code = (
        f"import signal, time\n{ignore}\nfor s in (signal.SIGTERM, signal.SIGHUP):\n"
        "    signal.signal(s, signal.SIG_IGN)\ntime.sleep(30)"
    )
    left = subprocess.Popen([sys.executable, "-c", code], start_new_session=session)
    fact("left", of=left.pid)
    time.sleep(0.2)  # until it ignores what it ignores


@tool
def leave_one_behind_and_exit(message):
    leave_behind(session=False)
    os._exit(4)


@tool
def leave_one_far_behind_and_exit(message):
    """It is in a session of its own, so whoever ends our process group does not end it."""
    leave_behind(session=True)
    os._exit(4)


@tool
def leave_a_writer_far_behind_and_exit(message):
    """What it leaves goes on to write into our pipes, and is not ours to end."""
    code = (
        "import os, time\nend = time.monotonic() + 20\n"
        "while time.monotonic() < end:\n"
        "    os.write(1, b'still here ' * 400 + b'\\n'); os.write(2, b'and here\\n')\n"
        "    time.sleep(0.001)"
    )
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    time.sleep(0.2)
    os._exit(4)


@tool
def exit_soon(message):
    """Reads nothing more, and is gone after a while."""
    time.sleep(0.4)
    os._exit(6)


@tool
def leave_one_behind(message):
    leave_behind(session=False)
    obey(message)


@tool
def fork_and_exit(message):
    """The way a daemon starts: the child goes on with our pipes, the parent is gone."""
    if os.fork():
        os._exit(0)
    fact("forked")
    time.sleep(0.3)
    send(result(message["id"], text("from the child")))


@tool
def threads_hold(message):
    """The main thread ends; what it started goes on for a while."""
    later(0.5, os._exit, 6)
    sys.exit(0)


if MODE.startswith("exit"):
    fact("start")
    sys.stderr.write("cannot start: no configuration\n")
    sys.stderr.flush()
    os._exit(int(MODE.removeprefix("exit")))

serve()
