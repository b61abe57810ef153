"""What a test left running.

Knows threads, descriptors, child processes, asyncio tasks and what `supervisors` has alive; ends
none of them.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pykka

import supervisors

PATIENCE = 3.0
"""Seconds that reaping may take: a thread, child or socket may end a turn later than its test."""

Running = dict[tuple[str, object], str]
"""What runs, and how to say it: the key tells two of them apart, also when they look the same."""


def running() -> Running:
    """Return everything that runs now and might outlive a test."""
    return {(kind, identity): text for look in LOOKS for kind, identity, text in look()}


def left_since(before: Running, patience: float = PATIENCE) -> list[str]:
    """Wait at most *patience* seconds for what is not in *before* to end; return what did not."""
    deadline = time.monotonic() + patience
    pause = 0.001
    while left := [f"{kind}: {text}" for (kind, _), text in _new(before)]:
        if time.monotonic() > deadline:
            break
        gc.collect()
        threading.Event().wait(pause)
        pause = min(pause * 2, 0.05)
    return left


def _new(before: Running) -> list[tuple[tuple[str, object], str]]:
    return [(key, text) for key, text in running().items() if key not in before]


def _threads() -> Iterator[tuple[str, object, str]]:
    for thread in threading.enumerate():
        # trio keeps idle threads for ten seconds, for its next `to_thread`.
        if not thread.name.startswith("Trio thread "):
            yield (
                "thread",
                thread,
                f"{thread.name}{' (daemon)' if thread.daemon else ''} {_where(thread)}",
            )


def _where(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame and frame.f_back and frame.f_code.co_filename == threading.__file__:
        frame = frame.f_back
    return f"at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def _descriptors() -> Iterator[tuple[str, object, str]]:
    folder = Path("/proc/self/fd")
    for entry in folder.iterdir() if folder.is_dir() else ():
        try:
            target = entry.readlink()
        except OSError:  # the listing's own
            continue
        yield "descriptor", (entry.name, target), f"{entry.name} -> {target}"


def _children() -> Iterator[tuple[str, object, str]]:
    for listing in Path("/proc/self/task").glob("*/children"):
        try:
            pids = listing.read_text().split()
        except OSError:  # the thread has ended
            continue
        for pid in pids:
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                command = ""
            text = f"{pid} {command.strip() or '(ended, not waited for)'}"
            yield "child process", pid, text


def _objects() -> Iterator[tuple[str, object, str]]:
    """What is there as an object only. One ref is one incarnation of a process."""
    for found in gc.get_objects():
        kind = type(found)
        if issubclass(kind, asyncio.Task):
            if not found.done():
                yield "asyncio task", found, repr(found)
        elif issubclass(kind, supervisors.Ref):
            # A thread that asked who it is ends with the thread.
            if found.is_alive() and type(found.process).__name__ != "FoundThread":
                yield "process", found, f"{found} on {found.node.name}"
        elif issubclass(kind, pykka.ActorRef):
            if found.is_alive():
                yield "pykka actor", found, repr(found)
        elif issubclass(kind, supervisors.Node) and found.running:
            yield "node", found, repr(found)


LOOKS: tuple[Callable[[], Iterator[tuple[str, object, str]]], ...] = (
    _threads,
    _descriptors,
    _children,
    _objects,
)
