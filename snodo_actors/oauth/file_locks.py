"""Locks that the processes of one machine share: two files for each key, in one folder.

Knows who may go on; knows nothing of what is done then. The system frees a file's lock when the
process that holds it ends, however it ends.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from enum import Enum, auto
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from snodo_actors.oauth.private_files import check_owner, make_folder, refused
from snodo_actors.oauth.store import lock_timed_out
from snodo_actors.oauth.turns import Turns

T = TypeVar("T")

SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
"""Seconds between two looks at a lock that is not free: they double from one to the other."""

WORK_TIMEOUT = 30.0
"""Seconds to wait for a lock that nobody holds longer than it takes to write a file."""


class _Busy(Enum):
    BUSY = auto()


class FileLocks:
    """The locks in *folder*, which is made, for its owner alone, when it is first needed.

    Raises:
        ImportError: `filelock` is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            importlib.import_module("filelock")
        except ImportError as error:
            raise ImportError(
                "a store that processes share needs filelock: pip install 'snodo-actors[oauth]'",
                name="filelock",
            ) from error
        self._folder = folder
        self._turns = Turns()

    @asynccontextmanager
    async def locked(self, name: str, timeout: float) -> AsyncGenerator[None]:
        """Hold the lock *name*; wait at most *timeout* seconds for it.

        Raises:
            AuthorizationError: It was not free in time, or the folder is of no use.
        """
        path = self._path(name)
        with ExitStack() as held:
            with anyio.move_on_after(timeout) as waiting, ExitStack() as door:
                # One task of a process waits at the files, the others behind it.
                held.callback(await self._turns.take(name))
                # Who waits for the lock stands in its door, and who lets go of the lock finds the
                # door taken: a process that wants it again and again cannot keep it.
                door.callback(await self._take(path.with_suffix(".door")))
                held.callback(await self._take(path))
            if waiting.cancelled_caught:
                raise lock_timed_out(timeout, str(path))
            yield

    async def run_locked(self, name: str, work: Callable[[], T]) -> T:
        """Do *work*, which is short, in a worker thread that holds the lock *name*.

        The thread itself takes the lock and frees it: a task that is cancelled meanwhile cannot
        free it while the work still goes on.

        Raises:
            AuthorizationError: It was not free in time, or the folder is of no use.
        """
        path = self._path(name)

        def attempt() -> T | _Busy:
            release = self._try(path)
            if release is None:
                return _Busy.BUSY
            try:
                return work()
            finally:
                release()

        pause = SHORTEST_PAUSE
        with anyio.move_on_after(WORK_TIMEOUT):
            while (answer := await anyio.to_thread.run_sync(attempt)) is _Busy.BUSY:
                await anyio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            return answer
        raise lock_timed_out(WORK_TIMEOUT, str(path))

    def _path(self, name: str) -> Path:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:32]}.lock"

    async def _take(self, path: Path) -> Callable[[], None]:
        pause = SHORTEST_PAUSE
        # Not in a worker thread: a look takes a tenth of a millisecond, which is what going to a
        # thread takes, and no thread can take the lock for a task that has been cancelled.
        while (release := self._try(path)) is None:
            await anyio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        return release

    def _try(self, path: Path) -> Callable[[], None] | None:
        """Return the function that frees the lock, or None if it is not free."""
        import filelock  # noqa: PLC0415  # an extra

        try:
            make_folder(self._folder)
            check_owner(self._folder, self._folder.stat())
            # A new object each time, for one object lets in who holds it already; and one for all
            # threads, for another thread may free it.
            lock = filelock.FileLock(path, mode=0o600, thread_local=False)
            lock.acquire(blocking=False)
        except filelock.Timeout:  # an OSError too
            return None
        except OSError as error:
            raise refused(path, error) from error
        return lock.release
