"""Addresses of host names, looked up in threads of their own.

A name server that does not answer holds a thread for a long time, so nobody else's threads are
used. A name that is being looked up is not looked up a second time.
"""

from __future__ import annotations

import errno
import socket
import threading
from collections import deque
from typing import Any, Final, TypeAlias

from supervisors import Future

Address: TypeAlias = tuple[int, Any]
"""A family, and what a socket of it connects to."""
_Name: TypeAlias = tuple[str, int]

MAX_THREADS: Final = 64

_lock = threading.Lock()
_sought: dict[_Name, Future[list[Address]]] = {}
_waiting: deque[_Name] = deque()
_threads: set[threading.Thread] = set()


async def resolve(host: str, port: int) -> list[Address]:
    """Find the addresses of *host*, those first that should be tried first.

    Raises:
        OSError: It has none, or nobody knows.
    """
    try:
        return _look_up(host, port, socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass  # it is a name
    try:
        return await _seek((host, port))
    except OSError as error:
        raise OSError(error.errno, f"{host}: {error.strerror}") from error


def _look_up(host: str, port: int, flags: int = 0) -> list[Address]:
    # As bytes: the codec that Python would use for a string is large, and these are ASCII.
    found = socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in found]


def _seek(name: _Name) -> Future[list[Address]]:
    with _lock:
        future = _sought.get(name)
        if future is None:
            future = _sought[name] = Future()
            _waiting.append(name)
            if len(_threads) < MAX_THREADS:
                _start_thread()
    return future


def _start_thread() -> None:
    thread = threading.Thread(target=_run, name="looks up names", daemon=True)
    _threads.add(thread)
    try:
        thread.start()
    except RuntimeError:  # there are too many of them
        _threads.discard(thread)
        if not _threads:
            _waiting.clear()
            for future in _sought.values():
                future.try_fail(OSError(errno.EAGAIN, "no thread could be started to look it up"))
            _sought.clear()


def _run() -> None:
    while True:
        with _lock:
            if not _waiting:
                _threads.discard(threading.current_thread())
                return
            name = _waiting.popleft()
        found: list[Address] | None = None
        failure: Exception | None = None
        try:
            found = _look_up(*name)
        except Exception as error:  # noqa: BLE001  # whatever it is, somebody waits for it
            failure = error
        with _lock:
            future = _sought.pop(name)
        if failure is None:
            future.try_set(found)
        else:
            future.try_fail(failure)
