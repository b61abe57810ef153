"""The leak check sees each kind of leak, and names it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import leaks


def new_since(before: leaks.Running) -> list[str]:
    return leaks.left_since(before, patience=0.0)


def test_nothing_is_left_by_doing_nothing() -> None:
    assert leaks.left_since(leaks.running()) == []


def test_a_thread() -> None:
    before, end = leaks.running(), threading.Event()
    thread = threading.Thread(target=end.wait, name="forgotten")
    thread.start()

    [left] = new_since(before)
    end.set()

    assert left.startswith("thread: forgotten ")
    assert leaks.left_since(before) == []


def test_a_descriptor() -> None:
    before = leaks.running()
    reader, writer = os.pipe()

    left = new_since(before)
    os.close(reader)
    os.close(writer)

    assert len(left) == 2
    assert all(text.startswith("descriptor: ") and "pipe" in text for text in left)
    assert leaks.left_since(before) == []


def test_a_child_process() -> None:
    before = leaks.running()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    left = new_since(before)
    child.communicate(b"\n")

    assert [f"child process: {child.pid} " in text for text in left].count(True) == 1
    assert leaks.left_since(before) == []


def test_a_child_that_nobody_waited_for() -> None:
    before = leaks.running()
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    left = new_since(before)
    child.wait()

    assert left == [f"child process: {child.pid} (ended, not waited for)"]


def test_a_task() -> None:
    before = leaks.running()
    loop = asyncio.new_event_loop()
    task = loop.create_task(asyncio.sleep(3600), name="forgotten")
    loop.run_until_complete(asyncio.sleep(0))

    left = new_since(before)
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))
    loop.close()

    assert any(text.startswith("asyncio task: <Task pending name='forgotten'") for text in left)
    assert leaks.left_since(before) == []
