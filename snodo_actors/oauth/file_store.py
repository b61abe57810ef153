"""A store in a file, which the processes of one user share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import anyio.to_thread

from snodo_actors.oauth.file_locks import FileLocks
from snodo_actors.oauth.private_files import read_private, refused, replace_private
from snodo_actors.oauth.store import to_json
from snodo_actors.oauth.words.errors import AuthorizationError

_VERSION = 1


class FileStore:
    """Keeps values in the JSON file *path*, which only its owner may read.

    The file is not encrypted. It is replaced whole, never written in place; its locks are in the
    folder `<path>.locks` beside it. Both should be on a disk of this machine.

    Raises:
        ImportError: `filelock` is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).expanduser().absolute()
        self._locks = FileLocks(self._path.with_name(f"{self._path.name}.locks"))

    def __repr__(self) -> str:
        return f"FileStore({str(self._path)!r})"

    async def load(self, key: str) -> dict[str, Any] | None:
        """Return what was saved under *key*; None if nothing.

        Raises:
            AuthorizationError: The file is damaged, not ours, or cannot be read.
        """
        return (await anyio.to_thread.run_sync(self._read)).get(key)

    async def save(self, key: str, value: dict[str, Any]) -> None:
        """Keep *value* under *key*; when this returns it is on the disk.

        Raises:
            AuthorizationError: The file is damaged, not ours, or cannot be written. It has what it
                had.
            TypeError: *value* holds what JSON does not have.
            ValueError: *value* holds a number that JSON does not have, or itself.
        """
        kept = json.loads(to_json(value))  # now, lest the caller changes it meanwhile

        def change(entries: dict[str, Any]) -> bool:
            entries[key] = kept
            return True

        await self._change(change)

    async def delete(self, key: str) -> None:
        """Forget *key*.

        Raises:
            AuthorizationError: The file is damaged, not ours, or cannot be written. It has what it
                had.
        """
        await self._change(lambda entries: entries.pop(key, None) is not None)

    def locked(self, key: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Hold *key* alone among all processes with this file; wait at most *timeout* seconds.

        Raises:
            AuthorizationError: It was not free in time, or the folder is of no use.
        """
        return self._locks.locked(f"key {key}", timeout)

    async def _change(self, change: Callable[[dict[str, Any]], bool]) -> None:
        """Read, change and replace the file as one step; *change* says whether there is one."""

        def work() -> None:
            entries = self._read()
            if not change(entries):
                return
            content = to_json({"version": _VERSION, "entries": entries})
            try:
                replace_private(self._path, content.encode("ascii"))
            except OSError as error:
                raise refused(self._path, error) from error

        await self._locks.run_locked("file", work)

    def _read(self) -> dict[str, Any]:
        try:
            content = read_private(self._path)
        except OSError as error:
            raise refused(self._path, error) from error
        if content is None:
            return {}
        entries = _entries(content)
        if entries is None:
            raise AuthorizationError(
                "store",
                f"{self._path} is not a token file of this version, or it is damaged. Nothing was"
                " changed: mend it, or move it away and sign in again",
            )
        return entries


def _entries(content: bytes) -> dict[str, Any] | None:
    """Return what is in a file of ours, or None; the reason would quote what is in it."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    match document:
        case {"version": int(version), "entries": dict()} if version == _VERSION:
            entries = cast("dict[str, Any]", document["entries"])
            return entries if all(isinstance(value, dict) for value in entries.values()) else None
        case _:
            return None
