"""A process that uses a store, run by tests.

`store_worker.py DEED BACKEND STORE PATH [ARGUMENT]`; the deeds are the functions here.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from snodo_actors.oauth.file_store import FileStore
from snodo_actors.oauth.keyring_store import KeyringStore
from snodo_actors.oauth.words.errors import AuthorizationError


def open_store(kind: str, path: str) -> Any:
    if kind == "file":
        return FileStore(path)
    return KeyringStore("test", lock_folder=path, max_characters=50)


async def count(store: Any, times: str) -> None:
    """Add to one counter, as who refreshes a token does: load, change, save."""
    for _ in range(int(times)):
        async with store.locked("counter", 60.0):
            value = await store.load("counter") or {"count": 0}
            await store.save("counter", {"count": value["count"] + 1, "padding": "x" * 100})


async def save_own(store: Any, name: str) -> None:
    print("ready", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    for number in range(10):
        await store.save(f"{name} {number}", {"name": name, "number": number})


async def hold(store: Any, _argument: str) -> None:
    async with store.locked("key", 10.0):
        print("held", flush=True)
        await anyio.sleep_forever()


async def wait_behind(store: Any, _argument: str) -> None:
    print("waiting", flush=True)
    async with store.locked("key", 30.0):
        print("held", flush=True)


async def grab(store: Any, holds: str) -> None:
    """Want the lock again and again until the input ends; count in the file *holds*."""
    path = Path(holds)
    stop = anyio.Event()

    async def again() -> None:
        while not stop.is_set():
            async with store.locked("key", 30.0):
                add_one(path)
                await anyio.sleep(0.005)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(again)
        await anyio.to_thread.run_sync(sys.stdin.read)
        stop.set()


def add_one(path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_text(str(int(path.read_text()) + 1))
    new.replace(path)


async def die_in_save(store: Any, _argument: str) -> None:
    """Be killed after the new content is written and before it is in its place."""
    os.umask(0)
    os.fsync = os.fchmod = lambda *_arguments: os.kill(os.getpid(), signal.SIGKILL)
    await store.save("key", {"token": "new"})


async def fork(store: Any, backend: str) -> None:
    """Fork while holding the lock; the child outlives us and says what it sees."""
    async with store.locked("key", 10.0):
        if os.fork():
            print("parent", flush=True)
            await anyio.sleep_forever()
        try:
            # A thread, for this one still believes that it runs a loop.
            run = functools.partial(anyio.run, forked, store, backend=backend)
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        finally:
            os._exit(0)


async def forked(store: Any) -> None:
    try:
        async with store.locked("key", 0.2):
            print("child took it at once", flush=True)
    except AuthorizationError:
        print("child was refused", flush=True)
    async with store.locked("other", 10.0):
        pass
    print("child took another", flush=True)
    sys.stdin.readline()
    async with store.locked("key", 10.0):
        print("child took it", flush=True)


if __name__ == "__main__":
    deed, backend, kind, path, *rest = sys.argv[1:]
    anyio.run(globals()[deed], open_store(kind, path), *(rest or [backend]), backend=backend)
