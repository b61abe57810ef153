"""What a failed call raises.

    Error                 everything below; catch this one
    ├── ServerError       the server answered with a JSON-RPC error
    ├── ProtocolError     refused on our side: no common version, or a method the version lacks
    ├── InputError        the server asked for input that could not be given
    └── TransportError    the connection failed, or what came over it was no valid answer
        ├── RequestTimeout    no answer in time
        └── RefusedHeader     a header among the options cannot be sent; a ValueError too

Which situation makes which error, with its text and cause, is in `failures` and `lost`.
"""

from __future__ import annotations

import reprlib
from typing import Any, ClassVar, Literal, Self

Kind = Literal["json_rpc", "protocol", "execution", "transport", "authorization"]
Delivery = Literal["never_sent", "unknown", "answered"]

_ADVICE: dict[Delivery, str] = {
    "never_sent": "nothing was sent, so it is safe to try again",
    "unknown": "the server may have run it, so try again only what is harmless to run twice",
}

_KINDS: dict[int, Kind] = {-32700: "json_rpc", -32600: "json_rpc", -32603: "execution"}

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 200
_short.maxlevel = 4


class Error(Exception):
    """A call that failed.

    Attributes:
        code: The JSON-RPC code: the server's own, or the one this client gives the situation.
        message: What happened, in one sentence.
        data: What the error carries for programs, or None. Times in it are milliseconds.
        kind: Which layer failed.
        cause: Where it came from: a tuple such as ``("exit_status", 1)``, an exception, the
            server's answer, or None.
        delivery: Whether the request reached the server: ``never_sent``, ``answered``, or
            ``unknown``.
        who: The connection it happened to, as its owner knows it, or None.
    """

    default_kind: ClassVar[Kind | None] = None

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: Any = None,
        kind: Kind | None = None,
        cause: Any = None,
        delivery: Delivery = "unknown",
        who: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.kind: Kind = kind or self.default_kind or _KINDS.get(code, "protocol")
        self.cause = cause
        self.delivery: Delivery = delivery
        self.who = who
        if isinstance(cause, BaseException):
            self.__cause__ = cause

    def named(self, who: str) -> Self:
        """Say which connection it happened to, unless that is known already."""
        if self.who is None:
            self.who = who
        return self

    def again(self, delivery: Delivery | None = None) -> Self:
        """Make the same failure for one more call, so that no two calls raise one object."""
        # Not by __init__, for which a subclass may want something else than the args it leaves.
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        other.__cause__ = self.__cause__
        if delivery is not None:
            other.delivery = delivery
        return other

    def to_json_rpc(self) -> dict[str, Any]:
        """Build the JSON-RPC error object; kind and cause never travel."""
        form: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            form["data"] = self.data
        return form

    def __str__(self) -> str:
        notes = [note for note in (_ADVICE.get(self.delivery),) if note is not None]
        notes.append(f"code {self.code}")
        head, newline, rest = self.message.partition("\n")
        text = f"{head} ({'; '.join(notes)}){newline}{rest}"
        return text if self.who is None else f"{self.who}: {text}"

    def __repr__(self) -> str:
        parts = [repr(self.code), repr(self.message), f"kind={self.kind!r}"]
        parts += [
            f"{name}={_short.repr(value)}"
            for name in ("data", "cause")
            if (value := getattr(self, name)) is not None
        ]
        parts.append(f"delivery={self.delivery!r}")
        if self.who is not None:
            parts.append(f"who={self.who!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class ServerError(Error):
    """The server answered with a JSON-RPC error: code, message and data are its own."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.data is None else f"{text}; data: {_short.repr(self.data)}"


class ProtocolError(Error):
    """Client and server share no version, or the version has no such method."""


class InputError(Error):
    """The server asked for input that no handler gave; `cause` ends with its last answer."""


class TransportError(Error):
    """The connection failed, or what it brought was not a valid answer."""

    default_kind = "transport"


class RequestTimeout(TransportError):
    """No answer came in time."""


class RefusedHeader(TransportError, ValueError):
    """A header among the options cannot be sent, or is not for callers to set. Raised at once."""
