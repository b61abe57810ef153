"""Bytes into a socket: at once where there is room, else when there is, with TLS or without.

The part of a link over a socket that writes. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import socket
from typing import Final

from snodo_actors.ports.http.layer import TlsLayer
from snodo_actors.ports.readiness import Watch, watch_writable
from supervisors import Node

ENCRYPT_BYTES: Final = 1 << 16
"""The most that is encrypted before it is written."""


class SocketWriter:
    """Writes to a connected socket that does not block."""

    __slots__ = ("_chunk", "_node", "_room", "_sock", "_tls", "_unsent", "failure", "sent_bytes")

    def __init__(self, node: Node, sock: socket.socket, tls: TlsLayer | None) -> None:
        self._node = node
        self._sock: socket.socket | None = sock
        self._tls = tls
        self._unsent: memoryview | None = None  # to be encrypted when there is room
        self._chunk: bytes | memoryview | None = None  # to be written before that
        self._room: Watch | None = None
        self.sent_bytes = 0
        self.failure: OSError | None = None

    def _write(self, data: bytes) -> None:
        """Write *data*, for which there may not be room at once."""
        if self._tls is None:
            self._chunk = data
        else:
            self._unsent = memoryview(data)
        self._write_on()

    def _write_first(self, output: bytes) -> None:
        """Write what TLS has to say, before anything that is not encrypted yet."""
        self._chunk = bytes(self._chunk or b"") + output
        self._write_on()

    def _write_on(self) -> None:
        try:
            while (chunk := self._next_chunk()) is not None:
                sent = self._open_socket().send(chunk)
                self.sent_bytes += sent
                if sent < len(chunk):
                    self._chunk = memoryview(chunk)[sent:]
                    break
                self._chunk = None
        except BlockingIOError:
            pass
        except OSError as error:
            self.failure = self.failure or error
            self._unsent = self._chunk = None
            # Not now: whoever sends is not told before send() has returned.
            self._node.loop.soon(self._give_up)
        self._watch_for_room()

    def _open_socket(self) -> socket.socket:
        if self._sock is None:
            raise ConnectionAbortedError("the connection is closed")
        return self._sock

    def _next_chunk(self) -> bytes | memoryview | None:
        unsent = self._unsent
        if self._chunk is None and self._tls is not None and unsent is not None:
            self._chunk = self._tls.encrypt(unsent[:ENCRYPT_BYTES])
            self._unsent = unsent[ENCRYPT_BYTES:] or None
        return self._chunk

    def _watch_for_room(self) -> None:
        if self._chunk is None:
            if self._room is not None:
                self._room.stop()
                self._room = None
        elif self._room is None and self._sock is not None:
            self._room = watch_writable(self._node, self._sock.fileno(), self._there_is_room)

    def _there_is_room(self) -> None:
        if self._room is not None:  # else it was stopped in this very turn
            self._write_on()

    def _give_up(self) -> None:
        """Called when nothing can be written any more; the reason is in `failure`."""

    def _shut(self) -> None:
        """Close the socket at once."""
        sock, self._sock = self._sock, None
        if sock is None:
            return
        begun, self._chunk, self._unsent = self._chunk, None, None
        self._watch_for_room()
        try:
            if self._tls is not None and begun is None:
                sock.send(self._tls.say_goodbye())
        except OSError:
            pass  # nobody listens, which is as good
        finally:
            sock.close()
