r"""Lines out of bytes, in bounded memory.

A line ends with \n. A byte order mark before it, and carriage returns and blanks around it, are
not part of it; blank lines are nothing. How the bytes were cut into chunks makes no difference.
A line longer than the limit is thrown away as it comes. It is reported as soon as it is too long,
with the id of the request it answers where its head shows one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from snodo_actors.wire.codec import MAX_DIGITS

FLOOD_FACTOR: Final = 4

_HEAD_BYTES: Final = 4096
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line longer than the limit; it answers the request *id*, if that could be read."""

    id: int | None


@dataclass(frozen=True, slots=True)
class Flood:
    """A line longer than four times the limit: whoever writes it writes no messages."""


Framed: TypeAlias = bytes | Oversized | Flood


class Framer:
    """Cuts a stream into lines of at most *max_line_bytes*, not counting the newline."""

    __slots__ = ("_flooded", "_limit", "_line", "_skipped")

    def __init__(self, max_line_bytes: int) -> None:
        self._limit = max_line_bytes
        self._line = bytearray()
        self._skipped = 0
        self._flooded = False

    def feed(self, chunk: bytes) -> list[Framed]:
        """Take the next bytes; give what is complete, in order. After a `Flood` comes nothing."""
        framed: list[Framed] = []
        if self._flooded:
            return framed
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            whole = end
            if self._line or self._skipped or len(end) > self._limit:
                if not self._keep(end, framed):
                    return framed
                whole = bytes(self._line)
                self._line.clear()
                self._skipped = 0
            line = whole.removeprefix(_BOM).strip(b" \t\r")
            if line:
                framed.append(line)
        self._keep(rest, framed)
        return framed

    def _keep(self, piece: bytes, framed: list[Framed]) -> bool:
        """Keep *piece* of a line, or throw the line away; false: it is a flood."""
        if self._skipped:
            self._skipped += len(piece)
        elif len(self._line) + len(piece) <= self._limit:
            self._line += piece
            return True
        else:
            head = (self._line[:_HEAD_BYTES] + piece[:_HEAD_BYTES])[: min(_HEAD_BYTES, self._limit)]
            framed.append(Oversized(answered_id(bytes(head))))
            self._skipped = len(self._line) + len(piece)
            self._line = bytearray()
        if self._skipped <= FLOOD_FACTOR * self._limit:
            return True
        self._flooded = True
        framed.append(Flood())
        return False


_STRING: Final = rb'"(?:[^"\\\x00-\x1f]|\\.)*"'
_MEMBER: Final = re.compile(
    rb"\s*[{,]\s*(?P<key>%b)\s*:\s*(?P<value>(?P<number>-?[0-9]{1,%d})(?=[\s,}])|%b|true|false|null)?"
    % (_STRING, MAX_DIGITS, _STRING)
)


def answered_id(head: bytes) -> int | None:
    """Read the id of the request that a response with this *head* answers; None: not to be seen.

    A request of the server has ids of its own, so an id counts only beside `result` or `error`.
    """
    id: int | None = None
    position = 0
    while (member := _MEMBER.match(head, position)) is not None:
        position = member.end()
        match member["key"]:
            case b'"result"' | b'"error"':
                return id
            case b'"id"' if member["number"] is not None:
                id = int(member["number"])
            case b'"jsonrpc"' if member["value"] is not None:
                pass
            case _:
                return None
    return None
