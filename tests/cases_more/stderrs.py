"""Servers that write much, little or odd things on stderr."""

from __future__ import annotations

import os
import threading
import time

from kit import MODE, arguments, fact, later, obey, serve, tool


def spam(unit, total):
    for _ in range(total // len(unit)):
        os.write(2, unit)


@tool
def lines(message):
    """`n` lines, then the answer."""
    for number in range(arguments(message)["n"]):
        os.write(2, b"line %d\n" % number)
    obey(message)


@tool
def without_newline(message):
    spam(b"\r progress #########" * 512, arguments(message)["total"])
    obey(message)


@tool
def bytes_of_any_kind(message):
    spam(bytes(range(256)), 256 * 400)
    obey(message)


@tool
def for_ever(message):
    """A thread that never stops to write."""
    wanted = arguments(message)

    def run():
        try:
            while True:
                os.write(2, wanted["unit"].encode())
                time.sleep(wanted.get("pause", 0))
        except OSError as failed:
            fact("stderr_failed", error=type(failed).__name__)

    threading.Thread(target=run, daemon=True).start()
    obey(message)


@tool
def last_words(message):
    os.write(2, arguments(message)["words"].encode())
    os._exit(arguments(message).get("status", 1))


@tool
def words_and_a_child_with_stderr(message):
    """Its stderr is held open by a child when it exits."""
    os.write(2, b"fatal: gone\n")
    if os.fork() == 0:
        os.setsid()
        os.close(0)
        os.close(1)
        time.sleep(20)
        os._exit(0)
    os._exit(7)


if MODE == "spam first":
    spam(b"W: validation failed for one of 31 candidates ............\n", 1 << 20)
if MODE == "spam at the end":
    later(0.0, time.sleep, 0)

serve()
if MODE == "spam at the end":
    spam(b"goodbye " * 1024, 4 << 20)
    fact("said_goodbye")
