"""What a transport of one's own offers: a connection that carries messages, by whatever means.

`connect((Transport, init_arg))` uses it: `Transport` is a class, or a module with these functions,
and what its `connect` returns is the first argument of all others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from snodo_actors.words.errors import Error
from snodo_actors.words.failures import malformed_response
from snodo_actors.words.types import JSONObject

Deliver: TypeAlias = Callable[[JSONObject | Error], object]
"""Takes the next message of a stream, or the error that ends it; may be called in any thread."""
End: TypeAlias = Callable[[Any], Any]
"""Ends a stream, for the reason it is given; called once for each, on the node's loop.

The reason is `("cancelled", "client")`, or `("disconnected", reason)` where the owner ended.
"""


class Transport(Protocol):
    """What a class has to offer whose instances are connections; each method may be async.

    They run where the call is awaited, so one instance may be used by several tasks and threads at
    the same time. A failure is an `snodo_actors.Error` that is raised; an `OSError`, or one of
    anyio's closed streams, is taken for the loss of the connection. New options may come: take the
    ones you do not know as `**options`.

    Two more methods are optional. `delete_session(*, headers, timeout)` tells the server that its
    session is over. `listen(message, deliver, *, dialect, timeout)` opens a stream: it calls
    `deliver` with each message of it, the acknowledgement first and the response, if any, last, and
    returns a function of one argument that ends the stream.
    """

    @classmethod
    def connect(cls, init_arg: Any, **options: Any) -> Self:
        """Open a connection. *options* are those the user gave, and `on_server_request`."""
        ...

    def request(
        self, message: JSONObject, *, timeout: float | None, dialect: str, **options: Any
    ) -> Any:
        """Send the request *message* and return the response to it, within *timeout* seconds.

        *dialect* is the protocol version. Where they matter there are more options: `headers`
        (pairs, of a session), `on_response_headers` (a function of such pairs, lower case, to be
        called before the return), `on_server_request` (a function of a request that returns the
        response, or an awaitable), `on_progress` (a function of the params of each progress
        notification), with it `reset_timeout_on_progress` and `max_total_timeout`.
        """
        ...

    def notify(
        self, message: JSONObject, *, timeout: float | None, dialect: str, **options: Any
    ) -> Any:
        """Deliver the notification *message*. Without this method only 2026-07-28 can be spoken."""
        ...

    def close(self) -> Any:
        """Close the connection."""
        ...


NEEDED = ("connect", "request", "close")


@dataclass(frozen=True, slots=True)
class Carriage:
    """The functions of one open connection; None is what it does not offer."""

    request: Callable[..., Any]
    notify: Callable[..., Any] | None = None
    delete_session: Callable[..., Any] | None = None
    listen: Callable[..., Any] | None = None
    close: Callable[[], Any] | None = None
    is_timed: bool = True
    """Whether the client's timeouts count."""
    odd: Callable[[Any], Error] = malformed_response
    """What a call fails with whose request returned no response."""


def missing(transport: Any) -> list[str]:
    """Say which of the functions every transport needs *transport* lacks."""
    return [name for name in NEEDED if not callable(getattr(transport, name, None))]


def offers(transport: Any, name: str) -> bool:
    """Tell whether *transport* has an optional function."""
    return callable(getattr(transport, name, None))


def carriage(transport: Any, state: Any) -> Carriage:
    """Bind the functions of *transport* to the *state* that its `connect` returned."""
    functions: Mapping[str, Any] = {
        name: functools.partial(getattr(transport, name), state)
        for name in ("request", "notify", "delete_session", "listen", "close")
        if offers(transport, name)
    }
    return Carriage(**functions)
