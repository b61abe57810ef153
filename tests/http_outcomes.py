"""What becomes of a call over HTTP that does not succeed, said once."""

from __future__ import annotations

from typing import Any

from case_servers import Place, lost

import snodo_actors as snodo
from supervisors import Future


def refused(error: Any, status: int, body: bytes | None = None) -> None:
    """The answer was no message of JSON-RPC; the error shows its status and what it said."""
    lost(error)
    assert error.cause[:2] == ("http_status", status), repr(error)
    if body is not None:
        assert error.cause[2] == body[:512], repr(error)
    assert error.delivery == "answered", repr(error)


def broken(error: Any, *causes: Any) -> None:
    """The connection ended in the middle: whether the request ran is not known."""
    lost(error)
    assert not isinstance(error, snodo.RequestTimeout)
    assert error.delivery != "never_sent", repr(error)
    if causes:
        assert error.cause in causes, repr(error)


def malformed(error: Any) -> None:
    """The answer was not HTTP as it should be."""
    lost(error, "malformed")
    assert error.delivery == "answered", repr(error)


def too_large(error: Any, limit: int) -> None:
    """The answer was larger than max_response_bytes."""
    lost(error, ("max_response_bytes", limit))
    assert error.delivery == "answered", repr(error)


def not_connected(error: Any) -> None:
    """No connection was made, so nothing was sent."""
    lost(error)
    assert error.cause[0] == "failed_connect", repr(error)
    assert error.delivery == "never_sent", repr(error)


def unauthorized(error: Any, status: int) -> Any:
    """The fresh token was refused too; return the challenge."""
    lost(error)
    assert error.cause[:2] == ("unauthorized", status), repr(error)
    assert error.delivery == "answered", repr(error)
    return error.cause[2]


def said_no(error: Any, code: int, message: str | None = None, **more: Any) -> None:
    """The server answered with an error of JSON-RPC, which is passed on as it is."""
    assert isinstance(error, snodo.ServerError), f"not a ServerError: {error!r}"
    assert error.code == code, repr(error)
    if message is not None:
        assert error.message == message, repr(error)
    for name, value in more.items():
        assert getattr(error, name) == value, repr(error)
    assert error.delivery == "answered", repr(error)


async def closed(at: Place, client: Future[None] | Any) -> None:
    """Close the client, which is quick where no session has to be ended."""
    await at.get(client.close())
