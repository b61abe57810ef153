"""Files that only their owner may read.

Knows rights, owners and whole replacement; knows nothing of what is in a file.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from snodo_actors.oauth.words.errors import AuthorizationError

T = TypeVar("T")

MAX_BYTES = 16 * 1024 * 1024
"""Bytes that a file may have. What is kept about a server takes a few thousand."""

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def read_private(path: Path) -> bytes | None:
    """Read the file at *path*, after its rights have become 0600; None if there is none.

    Raises:
        AuthorizationError: It is no ordinary file of ours, or too large.
        OSError: It cannot be read.
    """
    if path.is_symlink():  # O_NOFOLLOW, where there is one, refuses what becomes one after this
        raise AuthorizationError(
            "store", f"{path} is a symbolic link, which is not followed: name what it leads to"
        )
    try:
        # A FIFO must not keep us waiting for who writes to it.
        descriptor = _patiently(lambda: os.open(path, os.O_RDONLY | _NONBLOCK | _FLAGS))
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise AuthorizationError("store", f"{path} is not an ordinary file: name another")
        check_owner(path, found)
        _mend_rights(descriptor, found)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise AuthorizationError(
            "store", f"{path} has more than {MAX_BYTES} bytes, so it is none of our files"
        )
    return content


def replace_private(path: Path, content: bytes) -> None:
    """Put *content* in the place of the file at *path*; after a crash it is the old or the new.

    The caller sees to it that one thread of one process does it at a time.

    Raises:
        AuthorizationError: It is too much.
        OSError: It cannot be written; the file is as it was.
    """
    if len(content) > MAX_BYTES:
        raise AuthorizationError(
            "store", f"{path} would have more than {MAX_BYTES} bytes: delete what is not needed"
        )
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # left by a process that was killed
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _mend_rights(descriptor, os.fstat(descriptor))  # a umask may have taken too much
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        _patiently(lambda: new.replace(path))
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    _sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make the folder *path*, and those above it that are missing, for their owner alone.

    Raises:
        OSError: It cannot be made.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        path.mkdir(mode=0o700)


def check_owner(path: Path, found: os.stat_result) -> None:
    """Refuse what somebody else has put at *path*.

    Raises:
        AuthorizationError: It belongs to somebody else.
    """
    if sys.platform != "win32" and found.st_uid != os.geteuid():
        raise AuthorizationError(
            "store",
            f"{path} belongs to user {found.st_uid}, and this process is user {os.geteuid()}:"
            " it is neither read nor replaced",
        )


def refused(path: Path, error: OSError) -> AuthorizationError:
    """Say what the system refused to do with *path*."""
    return AuthorizationError("store", f"{path} is of no use: {error.strerror}", cause=error)


def _mend_rights(descriptor: int, found: os.stat_result) -> None:
    # Windows has no such rights: a folder in the user's profile is the user's alone.
    if sys.platform != "win32" and stat.S_IMODE(found.st_mode) != 0o600:
        with contextlib.suppress(OSError):  # on a file system that is only read
            os.fchmod(descriptor, 0o600)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    # Not every file system can; the file has been replaced in any case.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _patiently(work: Callable[[], T]) -> T:
    """Do *work* again where Windows refuses it while another process has the file open."""
    if sys.platform == "win32":
        for pause in (0.01, 0.02, 0.04, 0.08, 0.16, 0.32):
            try:
                return work()
            except PermissionError:
                time.sleep(pause)
    return work()
