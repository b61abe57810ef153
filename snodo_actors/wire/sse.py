"""Events out of an event stream, as the HTML standard reads it.

Lines end with CR, LF or CRLF; a byte order mark at the start, comments and fields of no meaning
are passed over; several `data` lines are one text. How the bytes were cut into chunks makes no
difference, in the middle of a character or of a CRLF neither. Nothing waits for what may follow a
CR, so an event that ends with one is given at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

_BOM: Final = b"\xef\xbb\xbf"
_MESSAGE: Final = b"event: message"
_RETRY_DIGITS: Final = 18


class Event(NamedTuple):
    """One event; *data* is as it came, and *id* the last one the stream gave."""

    data: bytes
    type: str = "message"
    id: str = ""


@dataclass(frozen=True, slots=True)
class TooLarge:
    """An event passed the limit; the stream cannot be read further."""


Parsed: TypeAlias = Event | TooLarge


class EventStream:
    """Reads one stream, whose events have at most *max_event_bytes*; None: any number.

    The fields of an event count, each line with one byte for its end; a comment only while it is
    coming. The stream may say how many milliseconds to wait before a new attempt: `retry`. The
    `last_event_id` counts from the blank line on: an event that was cut off has to come again.
    """

    __slots__ = (
        "_after_cr",
        "_at_start",
        "_data",
        "_held",
        "_id",
        "_limit",
        "_line",
        "_too_large",
        "_type",
        "last_event_id",
        "retry",
    )

    def __init__(self, max_event_bytes: int | None = None) -> None:
        self._limit = float("inf") if max_event_bytes is None else max_event_bytes
        self._line = bytearray()
        self._at_start = True
        self._after_cr = False
        self._too_large = False
        self._data: list[bytes] = []
        self._type = ""
        self._held = 0
        self._id = ""
        self.last_event_id = ""
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[Parsed]:
        """Take the next bytes; give the events they complete. After `TooLarge` comes nothing."""
        parsed: list[Parsed] = []
        if self._at_start:
            chunk = self._without_mark(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if self._too_large:
            return parsed
        lines = chunk.splitlines()
        begun = lines.pop() if lines and not chunk.endswith((b"\n", b"\r")) else b""
        if self._line and lines:
            self._line += lines[0]
            lines[0] = bytes(self._line)
            self._line.clear()
        for line in lines:
            if self._held + len(line) >= self._limit:
                self._end_too_large(parsed)
                return parsed
            self._take(line, parsed)
        if begun:
            self._line += begun
            if self._held + len(self._line) > self._limit:
                self._end_too_large(parsed)
        elif chunk:
            self._after_cr = chunk.endswith(b"\r")
        return parsed

    def _end_too_large(self, parsed: list[Parsed]) -> None:
        self._too_large = True
        parsed.append(TooLarge())

    def finish(self) -> list[Parsed]:
        """Give the event that the end of the stream left without its blank line, if it has data.

        The standard drops it. Where the length of the body proves that nothing is missing, it is
        what a careless server meant.
        """
        parsed: list[Parsed] = []
        if not self._too_large:
            self._take(bytes(self._line), parsed)
            self._line.clear()
            self._dispatch(parsed)
        return parsed

    def _without_mark(self, chunk: bytes) -> bytes:
        start = bytes(self._line) + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._line[:] = start
            return b""
        self._at_start = False
        self._line.clear()
        return start.removeprefix(_BOM)

    def _take(self, line: bytes, parsed: list[Parsed]) -> None:
        if line[:5] == b"data:":
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line == _MESSAGE:  # as most say, and need not
            self._type = "message"
        elif line:
            if not self._take_field(*line.split(b":", 1)):
                return
        else:
            self._dispatch(parsed)
            return
        self._held += len(line) + 1

    def _take_field(self, name: bytes, value: bytes = b"") -> bool:
        """Take a line; false: it means nothing."""
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._type = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit() and len(value) <= _RETRY_DIGITS:
                self.retry = int(value)
            case _:
                return False
        return True

    def _dispatch(self, parsed: list[Parsed]) -> None:
        self.last_event_id = self._id
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            parsed.append(Event(data, self._type or "message", self.last_event_id))
            self._data = []
        self._type = ""
        self._held = 0
