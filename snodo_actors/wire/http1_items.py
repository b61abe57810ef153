"""What a response is read as, one item after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

# Not tuples with names: to read one of those takes four times as long, and what is here is read for
# every response.


@dataclass(frozen=True, slots=True)
class Head:
    """The status line and the fields of a final response.

    The version is HTTP/1.*minor*. Names are in lower case, values without the blanks around them.
    """

    status: int
    minor: int
    fields: tuple[tuple[bytes, bytes], ...]
    is_event_stream: bool = field(init=False, compare=False)
    """Whether the body is an event stream."""
    coding: str = field(init=False, compare=False)
    """What the body was coded with besides `identity`; empty: nothing."""

    def __post_init__(self) -> None:
        media_type = (self.first(b"content-type") or b"")[:17].lower()
        object.__setattr__(self, "is_event_stream", media_type == b"text/event-stream")
        codings = [
            coding.strip().decode("latin-1").lower()
            for value in self.all(b"content-encoding")
            for coding in value.split(b",")
        ]
        coding = ", ".join(coding for coding in codings if coding not in ("", "identity"))
        object.__setattr__(self, "coding", coding)

    def first(self, name: bytes) -> bytes | None:
        """Give the first value of the field *name*, which is in lower case."""
        for known, value in self.fields:
            if known == name:
                return value
        return None

    def all(self, name: bytes) -> list[bytes]:
        """Give every value of the field *name*, which is in lower case, in their order."""
        return [value for known, value in self.fields if known == name]


@dataclass(frozen=True, slots=True)
class End:
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
