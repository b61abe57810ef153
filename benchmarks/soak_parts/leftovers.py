"""What is still running: threads, descriptors, child processes, tasks and processes of ours."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from pathlib import Path

import pykka

from supervisors import Ref

Running = set[str]


def running() -> Running:
    """Everything that runs outside of Python's objects."""
    found = {f"thread {t.name} ({t.ident})" for t in threading.enumerate()}
    folder = Path("/proc/self/fd")
    for entry in folder.iterdir() if folder.is_dir() else ():
        try:
            found.add(f"descriptor {entry.name} -> {entry.readlink()}")
        except OSError:  # the listing's own
            continue
    for listing in Path("/proc/self/task").glob("*/children"):
        found.update(f"child process {pid}" for pid in listing.read_text().split())
    return found


def left_since(before: Running, patience: float = 5.0) -> list[str]:
    """What is not in *before* and does not end within *patience* seconds."""
    until = time.monotonic() + patience
    while (left := sorted((running() - before) | _objects())) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _objects() -> Running:
    gc.collect()
    found: Running = {f"pykka actor {ref}" for ref in pykka.ActorRegistry.get_all()}
    for thing in gc.get_objects():
        if isinstance(thing, asyncio.Task) and not thing.done():
            found.add(f"task {thing!r}")
        elif isinstance(thing, Ref) and Ref.is_alive(thing):
            found.add(f"process {thing!r}")
    return found
