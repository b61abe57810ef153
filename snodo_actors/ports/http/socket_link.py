"""A link over a socket of its own, with TLS or without.

The socket is watched while the link is open, idle or not, so that its end is noticed at once. Most
requests are written, and most responses read, by one call of the system each.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from functools import partial
from typing import Final

from snodo_actors.ports.http.layer import TlsLayer
from snodo_actors.ports.http.link import NOBODY, LinkEvents, Outgoing
from snodo_actors.ports.http.origin import Origin
from snodo_actors.ports.http.socket_writer import SocketWriter
from snodo_actors.ports.readiness import Watch, watch_readable
from snodo_actors.wire.headers import Fields
from snodo_actors.wire.http1 import (
    End,
    Head,
    Item,
    ResponseReader,
    Truncated,
    field_lines,
    request_bytes,
)
from supervisors import Node

READ_BYTES: Final = 1 << 18
"""The most bytes a read takes."""


class _Shared:
    """What the links of one thread share.

    Attributes:
        view: Where they read to, one after another.
        due: On how many of them a response is due, but those that are for one request only.
    """

    __slots__ = ("due", "view")

    def __init__(self) -> None:
        self.view = memoryview(bytearray(READ_BYTES))
        self.due = 0


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.shared = _Shared()


_of_thread = _OfThread()


class SocketLink(SocketWriter):
    """Carries requests over a connected socket, which it owns."""

    __slots__ = (
        "_events",
        "_fields",
        "_first",
        "_keep_alive",
        "_lines",
        "_look",
        "_origin",
        "_reader",
        "_shared",
        "_watch",
    )

    def __init__(
        self,
        node: Node,
        sock: socket.socket,
        origin: Origin,
        events: LinkEvents,
        tls: TlsLayer | None = None,
    ) -> None:
        super().__init__(node, sock, tls)
        self._origin = origin
        self._events = events
        self._shared = _of_thread.shared  # a link stays in its thread
        # The fields of the last request, and how they are written: those of the next are the same.
        self._fields: Fields = ()
        self._lines = b""
        self._reader: ResponseReader | None = None  # there while a response is due
        self._keep_alive = True
        self._first = 0  # how much its reader takes at first, if that matters
        self._look: select.poll | None = None
        self._watch: Watch | None = None
        self.resume()

    # ---- the request

    def send(self, request: Outgoing, *, max_bytes: int | None) -> None:
        """Send *request*; a failure comes as an item, never at once."""
        assert self._reader is None, "one request at a time"
        self._reader = ResponseReader(
            max_bytes, head_request=request.method == "HEAD", streams=request.streams
        )
        self._keep_alive = request.keep_alive
        self._shared.due += request.keep_alive
        # Whoever wants no limit says so once it has the head: no more comes with that than is
        # allowed in any case.
        self._first = max_bytes if max_bytes is not None and max_bytes < READ_BYTES else 0
        self.sent_bytes = 0
        lines, keep_alive = self._lines, request.keep_alive
        if request.fields != self._fields:
            lines = field_lines(request.fields)
            if keep_alive:  # else there is no next one
                self._fields, self._lines = request.fields, lines
        prefix = self._origin.prefix(request.method)
        self._write(request_bytes(prefix, lines, request.body, keep_alive))

    def _give_up(self) -> None:
        """Take what the server said before it stopped to listen, such as why; then it is over."""
        while self._sock is not None and self._reader is not None and self._read():
            pass
        if self._reader is not None:
            self._end(self.failure)

    # ---- the response

    def unlimit(self) -> None:
        """Take a body of any length from here on."""
        if self._reader is not None:
            self._reader.unlimit()

    def pause(self) -> None:
        """Read no more for now."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def resume(self) -> None:
        """Read again."""
        if self._watch is None and self._sock is not None:
            self._watch = watch_readable(self._node, self._sock.fileno(), self._ready)

    def is_usable(self) -> bool:
        """Tell whether a request can be sent: idle, open, and nothing waits to be read."""
        if self._sock is None or self._reader is not None:
            return False
        if not self._has_something(self._sock):
            return True
        reason: OSError | str
        try:
            while True:
                data = self._receive()
                if data is None or data:
                    break
            reason = _closed if data is None else _unasked
        except BlockingIOError:
            return True
        except OSError as error:
            reason = error
        # Not now: whoever asks is not told before it has its answer.
        self._shut()
        self._node.loop.soon(partial(self._tell_lost, reason))
        return False

    def _has_something(self, sock: socket.socket) -> bool:
        """Tell whether there are bytes or the end right now; true where only a read can tell."""
        look = self._look
        if look is None:
            if not hasattr(select, "poll"):  # as on Windows
                return True
            look = self._look = select.poll()
            look.register(sock, select.POLLIN)
        return bool(look.poll(0))

    def _ready(self) -> None:
        # What this causes is done in this turn of the loop, not in the next, unless other answers
        # may have come in this turn: what all of them cause is done at once then, which costs less,
        # as it goes to the same few. What a stream brings goes to actors of its own.
        if not self._keep_alive or self._shared.due < 2:
            self._node.do_at_once(self._read_what_is_ready)
        else:
            self._read_what_is_ready()

    def _read_what_is_ready(self) -> None:
        if self._watch is None:
            return  # it was stopped in the very turn in which there was something
        ends_at_error = self._watch.ends_at_error
        self._read()
        if ends_at_error and self._sock is not None:
            self._look_for_error(self._sock)

    def _look_for_error(self, sock: socket.socket) -> None:
        """Read to the end where an error came behind what was read: nothing tells of it again."""
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self.failure = self.failure or OSError(code, os.strerror(code))
            while self._watch is not None and self._read():
                pass

    def _read(self) -> bool:
        """Read what there is and hand it over; False if there is nothing now."""
        try:
            data = self._receive()
        except BlockingIOError:
            return False
        except OSError as error:
            self._end(error)
            return True
        if data is None:
            self._end(None)
        elif data:
            self._take(data)
        return True

    def _receive(self) -> bytes | None:
        """Read what there is: no bytes if it was only TLS talking to itself, None at the end."""
        tls = self._tls
        if tls is not None and tls.ended:
            return None
        view = self._shared.view
        size = self._open_socket().recv_into(view)
        if not size:
            return None
        data = bytes(view[:size])
        if tls is not None:
            data = tls.decrypt(data)
            output = tls.take_output()
            if output:
                self._write_first(output)
            if tls.ended and not data:
                return None
        return data

    def _take(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            self._shut()
            self._tell_lost(_unasked)
            return
        rest = b""
        if self._first:
            data, rest = data[: self._first], data[self._first :]
        items = reader.feed(data)
        if items:
            self._first = 0
            self._hand_over(items, is_all=not rest)
        if rest and self._reader is reader:
            self._node.run_ready_inline()  # whoever wants no limit may be an actor that was told
            if self._reader is reader:
                self._take(rest)
        elif self._tls is not None and self._tls.ended and self._sock is not None:
            self._end(None)

    def _hand_over(self, items: list[Item], *, is_all: bool) -> None:
        last = items[-1]
        if type(last) is not bytes and type(last) is not Head:
            self._over()
            if type(last) is not End or not last.reusable:
                self._shut()
            elif not (is_all and self._can_carry_another()):
                items[-1] = End(reusable=False, framed=last.framed)
                self._shut()
        self._events.came(items)

    def _can_carry_another(self) -> bool:
        """Tell whether the server had all of the request, and nobody was to close or has."""
        has_ended = self.failure is not None or (self._tls is not None and self._tls.ended)
        return self._keep_alive and self._chunk is None and not has_ended

    # ---- the end

    def close(self) -> None:
        """Close it at once; harmless when repeated."""
        self._events = NOBODY
        self._over()
        self._shut()

    def _end(self, error: OSError | None) -> None:
        self.failure = self.failure or error
        reader = self._over()
        self._shut()
        if reader is None:
            self._tell_lost(error or _closed)
            return
        items = reader.finish()
        if error is not None and items and type(items[-1]) is End:
            items[-1] = Truncated(began=True)  # it lasts until the end, and this was another end
        self._events.came(items)

    def _over(self) -> ResponseReader | None:
        """Await a response no more; what was to read it, if one was due."""
        reader, self._reader = self._reader, None
        if reader is not None:
            self._shared.due -= self._keep_alive
        return reader

    def _tell_lost(self, reason: OSError | str) -> None:
        self._events.lost(reason)

    def _shut(self) -> None:
        self.pause()
        super()._shut()


_closed: Final = "the server closed the connection"
_unasked: Final = "the server sent what nobody had asked for"
