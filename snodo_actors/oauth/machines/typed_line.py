"""A line that a user types or pastes, key by key.

Does for a terminal out of its line mode, which holds no long line, what that mode would do.
"""

from __future__ import annotations

from enum import Enum, auto

ENTER, ERASE, KILL, END = b"\r\n", b"\x08\x7f", b"\x15", b"\x04"


class Typed(Enum):
    """What has become of the line."""

    GOES_ON = auto()
    ENTERED = auto()
    ENDED = auto()
    """The user has nothing to say (Ctrl-D)."""


class TypedLine:
    """One line of at most *limit* bytes: what is typed beyond them is dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._keys = bytearray()

    def type(self, data: bytes) -> Typed:
        """Take *data*; what stands behind the end of the line is dropped."""
        for number in data:
            key = bytes([number])
            if key in ENTER:
                return Typed.ENTERED
            if key in END:
                return Typed.ENDED
            if key in KILL:
                self._keys.clear()
            elif key in ERASE:
                del self._keys[-1:]
            elif len(self._keys) < self._limit:
                self._keys += key
        return Typed.GOES_ON

    @property
    def text(self) -> str:
        """What was typed, without the marks that some terminals put around a paste."""
        text = self._keys.decode("utf-8", "replace")
        return text.replace("\x1b[200~", "").replace("\x1b[201~", "")
