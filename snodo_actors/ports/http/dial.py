"""TCP connections, made to whichever address of a host answers first (RFC 8305)."""

from __future__ import annotations

import errno
import os
import socket
import sys
from typing import Final

import anyio

from snodo_actors.ports.http.resolve import Address, resolve

HEAD_START: Final = 0.25
"""Seconds an address is tried alone before the next one is tried too."""

_PENDING: Final = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR, 10035}  # 10035: on Windows
# A peer that vanished without a word is noticed within two minutes, not two hours.
_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
_KEEP_ALIVE_OPTIONS: Final = tuple(
    (getattr(socket, name), value)
    for name, value in _KEEP_ALIVE
    if sys.platform == "linux" and hasattr(socket, name)
)


async def dial(host: str, port: int) -> socket.socket:
    """Connect to *host*; the socket does not block.

    Raises:
        OSError: Nobody answers there; the text says what each address said.
    """
    addresses = _interleaved(await resolve(host, port))
    if len(addresses) == 1:
        return await _connect(addresses[0])
    return await _race(addresses)


def _interleaved(addresses: list[Address]) -> list[Address]:
    """Put the families in turn, so that one that leads nowhere does not hold up the other."""
    if not addresses:
        raise OSError("the name has no address")
    first = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    mixed: list[Address] = []
    while first or others:
        mixed += first[:1] + others[:1]
        del first[:1], others[:1]
    return mixed


async def _race(addresses: list[Address]) -> socket.socket:
    connected: list[socket.socket] = []
    failures: list[OSError] = []
    try:
        async with anyio.create_task_group() as attempts:

            async def attempt(address: Address, failed: anyio.Event) -> None:
                try:
                    connected.append(await _connect(address))
                except OSError as failure:
                    failures.append(failure)
                    failed.set()
                else:
                    attempts.cancel_scope.cancel()

            for address in addresses:
                failed = anyio.Event()
                attempts.start_soon(attempt, address, failed)
                with anyio.move_on_after(HEAD_START):
                    await failed.wait()
    except BaseException:
        for sock in connected:
            sock.close()
        raise
    if not connected:
        reasons = (failure.strerror or str(failure) for failure in failures)
        raise OSError("; ".join(dict.fromkeys(reasons)))
    for sock in connected[1:]:
        sock.close()
    return connected[0]


async def _connect(address: Address) -> socket.socket:
    family, where = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        _tune(sock)
        error = sock.connect_ex(where)
        if error in _PENDING:
            await anyio.wait_writable(sock)
            error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not error and sock.getsockname() == where:
            # Nobody listens, and of all ports this socket was given the one it wanted to reach.
            error = errno.ECONNREFUSED
    except BaseException:
        sock.close()
        raise
    if error:
        sock.close()
        raise OSError(error, f"{where[0]} port {where[1]}: {os.strerror(error)}")
    return sock


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE_OPTIONS:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
