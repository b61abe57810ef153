"""What a response is read as, one item after the other."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Head(NamedTuple):
    """The status line and the fields of a final response.

    The version is HTTP/1.*minor*. Names are in lower case, values without the blanks around them.
    """

    status: int
    minor: int
    fields: tuple[tuple[bytes, bytes], ...]

    def first(self, name: bytes) -> bytes | None:
        """Give the first value of the field *name*, which is in lower case."""
        for known, value in self.fields:
            if known == name:
                return value
        return None

    def all(self, name: bytes) -> list[bytes]:
        """Give every value of the field *name*, which is in lower case, in their order."""
        return [value for known, value in self.fields if known == name]


class End(NamedTuple):
    """The response was read to its exact end.

    *reusable*: the connection may carry another request. *framed*: the response itself said where
    it ends; else the connection was closed, and nothing proves that the body is whole.
    """

    reusable: bool
    framed: bool


class Malformed(NamedTuple):
    """What came is not HTTP/1.1, or can be read in two ways; *reason* is for the log."""

    reason: str


class TooLarge(NamedTuple):
    """The response passed the limit its reader was given."""


class Truncated(NamedTuple):
    """The connection ended before the response did; *began*: at least one byte had come."""

    began: bool


# Bytes are a piece of the body, never empty.
Item: TypeAlias = Head | bytes | End | Malformed | TooLarge | Truncated
