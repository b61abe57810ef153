"""TLS between a link and its socket: bytes in, bytes out.

Knows no socket. Layers can stand upon each other, as for an https server behind an https proxy.
"""

from __future__ import annotations

import contextlib
import ssl
from typing import Final

PIECE_BYTES: Final = 1 << 14
"""How much is put in or taken out at once, a TLS record: a buffer keeps the size it once had."""


class TlsLayer:
    """What is read and written under TLS; the one *below* carries it, if there is one."""

    __slots__ = ("_below", "_incoming", "_outgoing", "_tls", "ended")

    def __init__(self, context: ssl.SSLContext, host: str, below: TlsLayer | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._below = below
        self.ended = False
        """Whether the other side said that nothing follows."""

    def shake_hands(self) -> bool:
        """Go on with the handshake; False if more has to come first.

        Raises:
            ssl.SSLError: It failed, or a certificate was refused.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def take_output(self) -> bytes:
        """Take what is to be sent now."""
        output = self._outgoing.read()
        if self._below is None:
            return output
        return (self._below.encrypt(output) if output else b"") + self._below.take_output()

    def encrypt(self, data: bytes | memoryview) -> bytes:
        """Write *data*, at most a few pieces, for the wire.

        Raises:
            ssl.SSLError: It cannot be.
        """
        written = self._tls.write(data)
        assert written == len(data)  # buffers in memory take everything
        return self.take_output()

    def put(self, data: bytes) -> None:
        """Take what came over the wire, of a handshake.

        Raises:
            ssl.SSLError: It is not TLS.
        """
        self._incoming.write(self._below.decrypt(data) if self._below is not None else data)

    def decrypt(self, data: bytes) -> bytes:
        """Read what came over the wire.

        Raises:
            ssl.SSLError: It is not TLS, was changed on its way, or says that the other side failed.
        """
        if self._below is not None:
            data = self._below.decrypt(data)
            self.ended = self.ended or self._below.ended
        if len(data) <= PIECE_BYTES:
            self._incoming.write(data)
            return self._read()
        view = memoryview(data)
        plain: list[bytes] = []
        for start in range(0, len(data), PIECE_BYTES):
            self._incoming.write(view[start : start + PIECE_BYTES])
            plain.append(self._read())
        return b"".join(plain)

    def say_goodbye(self) -> bytes:
        """Say that nothing follows."""
        with contextlib.suppress(ssl.SSLError):  # nobody waits for the other side to say it too
            self._tls.unwrap()
        return self.take_output()

    def _read(self) -> bytes:
        """Read all that can be read of what came."""
        tls, incoming = self._tls, self._incoming
        pieces: list[bytes] = []
        try:
            while incoming.pending or tls.pending():
                piece = tls.read(PIECE_BYTES)
                if not piece:
                    self.ended = True
                    break
                pieces.append(piece)
        except ssl.SSLWantReadError:
            pass  # the rest of a record comes later, or it was none of the user's
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
