"""The body of a response: by its length, in chunks, or until the connection is closed.

A body is fed with bytes from a place on, gives its pieces and its end into a list of items, and
tells whether it is over.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from snodo_actors.wire.http1_head import TEXT, Section, head_limit, read_trailers
from snodo_actors.wire.http1_items import (
    FRAMED_ENDS,
    End,
    Item,
    Malformed,
    TooLarge,
    Truncated,
)

_MAX_LINE_BYTES: Final = 4096
_MAX_TAKEN_BYTES: Final = _MAX_LINE_BYTES + 8  # a whole line with the two line ends around it

# Every chunk's line begins with the line end before it: that of the head, or that of the data.
_CHUNK: Final = re.compile(rb"\r\n([0-9a-fA-F]{1,15})(?:;%b*+)?\r\n" % TEXT)
_BEGUN: Final = re.compile(rb"(?:\r(?:\n(?:[0-9a-fA-F]{1,15}(?:;%b*+)?\r?)?)?)?" % TEXT)
_BAD_CHUNK: Final = Malformed("a chunk without its size or its line end")


class LengthBody:
    """A body of *left* bytes."""

    __slots__ = ("_is_reusable", "_left")

    def __init__(self, left: int, *, is_reusable: bool) -> None:
        self._left = left
        self._is_reusable = is_reusable

    def feed(self, data: bytes, at: int, items: list[Item]) -> bool:
        """Take the bytes of *data* from *at* on."""
        left = self._left - len(data) + at
        self._left = left
        piece = data[at : len(data) + min(left, 0)]
        if piece:
            items.append(piece)
        if left > 0:
            return False
        items.append(FRAMED_ENDS[self._is_reusable and left == 0])
        return True

    def finish(self) -> End | Truncated:
        """Tell what the end of the connection means."""
        return Truncated(began=True)

    def unlimit(self) -> None:
        """Do nothing: a length over the limit is refused before the body."""


class OpenBody:
    """A body of at most *room* bytes that ends with the connection; None: of any number."""

    __slots__ = ("_room",)

    def __init__(self, room: int | None) -> None:
        self._room = room

    def feed(self, data: bytes, at: int, items: list[Item]) -> bool:
        """Take the bytes of *data* from *at* on."""
        piece = data[at:]
        room = self._room
        if room is not None:
            self._room = room - len(piece)
            piece = piece[:room]
        if piece:
            items.append(piece)
        if self._room is not None and self._room < 0:
            items.append(TooLarge())
            return True
        return False

    def finish(self) -> End | Truncated:
        """Tell what the end of the connection means."""
        return End(reusable=False, framed=False)

    def unlimit(self) -> None:
        """Take any number of bytes from now on."""
        self._room = None


class ChunkedBody:
    """A body in chunks of at most *room* bytes in all; None: of any number.

    It is fed from the end of the head's last line on, that line's CRLF included.
    """

    __slots__ = ("_begun", "_is_reusable", "_left", "_max_bytes", "_room", "_trailers")

    def __init__(self, max_bytes: int | None, *, is_reusable: bool) -> None:
        self._max_bytes = self._room = max_bytes
        self._is_reusable = is_reusable
        self._left = 0
        self._begun = b""  # what came of a chunk's line
        self._trailers: Section | None = None

    def feed(self, data: bytes, at: int, items: list[Item]) -> bool:
        """Take the bytes of *data* from *at* on."""
        before = len(items)
        is_over = self._read(data, at, items)
        if len(items) - before > 1:
            # What came together is handed on together: each piece costs its reader as much again.
            pieces = [item for item in items[before:] if isinstance(item, bytes)]
            items[before : before + len(pieces)] = [b"".join(pieces)]
        return is_over

    def _read(self, data: bytes, at: int, items: list[Item]) -> bool:
        while self._trailers is None:
            if self._left:
                piece = data[at : at + self._left]
                if piece:
                    items.append(piece)
                    at += len(piece)
                    self._left -= len(piece)
                if self._left:
                    return False
            begun = self._begun
            line, start = (begun + data[at : at + _MAX_TAKEN_BYTES], 0) if begun else (data, at)
            match = _CHUNK.match(line, start)
            if match is None or match.end() - start > _MAX_LINE_BYTES + 4:
                return self._keep(line[start:], items)
            self._begun = b""
            at += match.end() - start - len(begun)
            self._left = int(match[1], 16)
            if not self._left:
                rest = data[at:]
                if rest == b"\r\n":
                    items.append(FRAMED_ENDS[self._is_reusable])
                    return True
                limit = head_limit(self._max_bytes)
                self._trailers = Section(limit, self._max_bytes, is_head=False)
                return self._end(self._trailers, b"\r\n" + rest, items)
            if self._room is not None:
                self._room -= self._left
                if self._room < 0:
                    items.append(TooLarge())
                    return True
        return self._end(self._trailers, data, items)

    def _keep(self, begun: bytes, items: list[Item]) -> bool:
        """Keep what came of a chunk's line, unless it cannot become one."""
        length = len(begun.removeprefix(b"\r\n").removesuffix(b"\r"))
        if length > _MAX_LINE_BYTES or not _BEGUN.fullmatch(begun):
            items.append(_BAD_CHUNK)
            return True
        self._begun = begun
        return False

    def _end(self, trailers: Section, data: bytes, items: list[Item]) -> bool:
        """Read the trailers, which mean nothing to us."""
        whole = trailers.take(data)
        if whole is None:
            return False
        length = read_trailers(whole) if isinstance(whole, bytes) else whole
        if isinstance(length, int):
            items.append(FRAMED_ENDS[self._is_reusable and length == len(whole)])
        else:
            items.append(length)
        return True

    def finish(self) -> End | Truncated:
        """Tell what the end of the connection means."""
        return Truncated(began=True)

    def unlimit(self) -> None:
        """Take any number of bytes from now on."""
        self._room = None


Body: TypeAlias = LengthBody | OpenBody | ChunkedBody
