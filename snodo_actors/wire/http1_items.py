"""What a response is read as, one item after the other."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple, TypeAlias


class _Read(NamedTuple):
    status: int
    minor: int
    fields: tuple[tuple[bytes, bytes], ...]


class Head(_Read):
    """The status line and the fields of a final response.

    The version is HTTP/1.*minor*. Names are in lower case, values without the blanks around them.
    What many responses say is read once, and so is what each of them is asked for here.
    """

    @cached_property
    def is_event_stream(self) -> bool:
        """Whether the body is an event stream."""
        return (self.first(b"content-type") or b"")[:17].lower() == b"text/event-stream"

    @cached_property
    def coding(self) -> str:
        """What the body was coded with besides `identity`; empty: nothing."""
        codings = [
            coding.strip().decode("latin-1").lower()
            for value in self.all(b"content-encoding")
            for coding in value.split(b",")
        ]
        return ", ".join(coding for coding in codings if coding not in ("", "identity"))

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


# The ends of responses that say where they end, by whether the connection is reusable.
FRAMED_ENDS: Final = (End(reusable=False, framed=True), End(reusable=True, framed=True))


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
