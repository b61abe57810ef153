"""Servers that do not go, or are half gone. CASE_MODE says how, from the start.

deaf       ignores the end of input
stubborn   ignores SIGTERM too
family     has a child that is stubborn
flushing   writes much before it leaves
parting    waits for SIGTERM and says what it does then, which may be flushing or slow
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

from kit import (
    MODE,
    TOOLS,
    arguments,
    begin,
    fact,
    later,
    messages,
    note,
    obey,
    result,
    send,
    text,
    tool,
)


def ignored(name):
    def handler(*_):
        fact(name)

    return handler


def flush():
    """Much more than the pipe holds: whoever ends us has to go on reading."""
    for number in range(2000):
        send(note(data="z" * 2000, n=number))
    os.write(2, b"goodbye " * 100_000)


if "stubborn" in MODE:
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, ignored(one.name.lower()))
elif "parting" in MODE:

    def part(*_):
        fact("sigterm")
        if "slowly" in MODE:
            time.sleep(0.5)
        if "flushing" in MODE:
            flush()
        fact("parted")
        os._exit(0)

    signal.signal(signal.SIGTERM, part)

if "family" in MODE:
    STUBBORN = (
        "import signal, time\nfor s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):\n"
        "    signal.signal(s, signal.SIG_IGN)\ntime.sleep(40)"
    )
    subprocess.Popen([sys.executable, "-c", STUBBORN])


@tool
def hold(message):
    """No answer."""


@tool
def flood(message):
    """Notifications until nobody reads them any more."""
    fact("flooding")
    try:
        for number in range(arguments(message).get("n", 1_000_000)):
            send(note(data="z" * 4096, n=number))
    except OSError as failed:
        fact("write_failed", error=type(failed).__name__)
        os._exit(0)
    obey(message)


@tool
def flood_beside(message):
    """As `flood`, in a thread of its own; answers go on."""

    def run():
        while True:
            send(note(data="z" * 4096))

    threading.Thread(target=run, daemon=True).start()
    obey(message)


@tool
def close_stdout(message):
    fact("closing")
    os.close(1)


@tool
def answer_and_close_stdout(message):
    obey(message)
    os.close(1)


@tool
def close_stdin(message):
    """No more calls come in; answers still go out."""
    os.close(0)
    fact("stdin_closed")
    obey(message)
    time.sleep(40)


@tool
def close_stderr(message):
    os.close(2)
    obey(message)


@tool
def close_stdin_and_answer_later(message):
    os.close(0)
    fact("stdin_closed")
    time.sleep(0.4)
    send(result(message["id"], text("late but there")))
    time.sleep(0.1)
    os._exit(3)


@tool
def stop_reading(message):
    """Answers this call and reads nothing any more."""
    obey(message)
    fact("reads_no_more")
    time.sleep(40)


@tool
def freeze(message):
    """Stopped as by Ctrl-Z: it neither reads nor writes nor ends by SIGTERM."""
    fact("freezing")
    os.kill(os.getpid(), signal.SIGSTOP)
    fact("thawed")


@tool
def spin(message):
    """All it has goes into a loop; SIGTERM is handled only when the loop is over."""
    fact("spinning")
    end = time.monotonic() + 40
    while time.monotonic() < end:
        pass


@tool
def leave_slowly(message):
    """Needs a while after the end of input, and then goes by itself."""
    global SLOWLY  # noqa: PLW0603
    SLOWLY = arguments(message)["seconds"]
    obey(message)


SLOWLY = 0.0

begin()
for message in messages():
    TOOLS.get((message.get("params") or {}).get("name"), obey)(message)
    if message.get("method") == "initialize" and "spamming" in MODE:
        later(0, TOOLS["flood"], message)

if MODE == "flushing":
    flush()
    fact("left_by_itself")
elif SLOWLY:
    time.sleep(SLOWLY)
    fact("left_by_itself")
elif "deaf" in MODE or "stubborn" in MODE or "parting" in MODE:
    while True:
        time.sleep(0.1)
