"""The last lines a server wrote to stderr.

Knows bytes and lines; knows nothing of processes. It holds the first *max_line_bytes* of each of
the last *max_lines* lines, so a server that never ends its line costs no more than one that does.
"""

from __future__ import annotations

from collections import deque


class StderrTail:
    """The end of what was written; at most *max_lines* lines of *max_line_bytes* bytes each."""

    __slots__ = ("_cut", "_lines", "_max_line_bytes", "_open")

    def __init__(self, *, max_lines: int = 20, max_line_bytes: int = 1000) -> None:
        self._max_line_bytes = max_line_bytes
        self._lines: deque[str] = deque(maxlen=max_lines)
        self._open = bytearray()
        self._cut = 0  # bytes of the open line that were not kept

    def feed(self, data: bytes) -> list[str]:
        """Take what was read, and return the lines it completes."""
        *ended, rest = data.split(b"\n")
        lines: list[str] = []
        for piece in ended:
            self._extend(piece)
            lines.append(self._end_line())
        self._extend(rest)
        self._lines.extend(lines)
        return lines

    def finish(self) -> list[str]:
        """Take the end of the stream, and return the line that had no newline, if there is one."""
        if not self._open:
            return []
        line = self._end_line()
        self._lines.append(line)
        return [line]

    def lines(self) -> list[str]:
        """Return the last lines, the unfinished one included."""
        lines = self._lines.copy()
        if self._open:
            lines.append(self._text())
        return list(lines)

    def _extend(self, piece: bytes) -> None:
        room = self._max_line_bytes - len(self._open)
        self._open += piece[:room]
        self._cut += max(0, len(piece) - room)

    def _end_line(self) -> str:
        line = self._text()
        self._open.clear()
        self._cut = 0
        return line

    def _text(self) -> str:
        text = self._open.rstrip(b"\r").decode(errors="replace")
        return f"{text}... ({self._cut} bytes more)" if self._cut else text
