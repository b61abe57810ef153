"""Requests that are carried out where their call is awaited, in the caller's task or thread."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio

from snodo_actors.actors.conversation import Conversation, UserCode
from snodo_actors.actors.exchange import Exchange
from snodo_actors.actors.notice import Notice
from snodo_actors.actors.request import Profile, Request
from snodo_actors.machines.server_requests import answers_server_requests
from snodo_actors.ports.calls import Flow, carry_out
from snodo_actors.ports.transport import Carriage
from snodo_actors.wire import codec
from snodo_actors.wire.headers import session_fields
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import exchange_failed
from snodo_actors.words.types import JSONObject, Session, is_object
from supervisors import Node, WouldBlock

LOST = (
    OSError,
    EOFError,
    anyio.EndOfStream,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)
"""What a transport raises when it has lost the connection."""


class InPlaceConversation(Conversation):
    """Carries its requests out where it is awaited; progress comes while one is carried out."""

    __slots__ = ("_blocks", "_carry", "_thread")

    def __init__(self, node: Node, who: str, carry: Callable[[Request], Any]) -> None:
        super().__init__(node, who, self._take)
        self._carry = carry
        self._thread: int | None = None
        self._blocks = False
        self.add_done_callback(_let_go)

    def _take(self, request: Request) -> None:
        if not request.done():
            self._work.append((UserCode(self._carried_out, request), None))
            self._ring()

    def _carried_out(self, request: Request) -> Any:
        self._thread = threading.get_ident()
        rest = self._carry(request)
        if rest is not None and self._blocks and in_async_code():
            rest.close()
            raise WouldBlock("await client.call_tool(...)")
        return rest

    def get(self, *, timeout: float | None = None) -> Any:
        """Wait in this thread for the result; see `Conversation.get`.

        Raises:
            WouldBlock: What is called here is async, and this thread runs an event loop.
        """
        self._blocks = True
        try:
            return super().get(timeout=timeout)
        finally:
            self._blocks = False

    def progress(self, function: Callable[[JSONObject], Any], params: JSONObject) -> Any:
        """Call *function* here and now; from another thread, where the call is awaited."""
        if self._thread == threading.get_ident():
            return function(params)
        super().progress(function, params)
        return None


def in_async_code() -> bool:
    """Tell whether this thread runs an event loop, so that nothing here can wait for another."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        return trio is not None and bool(trio.lowlevel.in_trio_run())
    return True


def _let_go(conversation: InPlaceConversation) -> None:
    """Forget the way to itself, so that it can go without the garbage collector."""
    conversation._send = _nowhere  # noqa: SLF001  # its own


def _nowhere(_request: Request) -> None:
    """Where the requests of a call go that is over."""


class InPlace:
    """Carries requests over one connection."""

    __slots__ = ("_client", "_options", "carriage")

    def __init__(self, carriage: Carriage, client: ClientOptions, profile: Profile) -> None:
        self.carriage = carriage
        self._client = client
        self._options = {
            "dialect": profile.version,
            **session_options(profile.session),
        }

    def carry(self, request: Request) -> Any:
        """Carry *request* out; the awaitable, if there is one, does the rest."""
        how = self._notify if type(request) is Notice else self._carry
        return carry_out(how(request))

    def _notify(self, notice: Request) -> Flow[None]:
        options = {"timeout": notice.timeouts.timeout, **self._options}
        try:
            failed = yield from notify(self.carriage, codec.decode(notice.line), options)
        except Exception as error:  # noqa: BLE001  # somebody's own code: its caller gets what it raised
            notice.try_fail(error)
            return
        if failed is not None:
            notice.refuse(failed)
        else:
            notice.try_set(None)

    def _carry(self, request: Request) -> Flow[None]:
        message: JSONObject = codec.decode(request.line)
        exchange = Exchange(self._client, request.on_progress)
        options: dict[str, Any] = {"timeout": request.timeouts.timeout, **self._options}
        if request.on_progress is not None:
            options["on_progress"] = exchange.progress
            options["reset_timeout_on_progress"] = request.timeouts.reset_timeout_on_progress
            options["max_total_timeout"] = request.timeouts.max_total_timeout
        try:
            response = yield from ask(self.carriage, message, exchange, options)
        except Exception as error:  # noqa: BLE001  # somebody's own code: its caller gets what it raised
            request.try_fail(error)
            return
        if isinstance(response, Error):
            request.refuse(response)
        else:
            request.answered(response)


def session_options(session: Session | None) -> dict[str, Any]:
    """Build the option that carries the header pairs of *session*; none in 2026-07-28."""
    if session is None:
        return {}
    fields = session_fields(session.version, session.id)
    return {"headers": [(name.decode(), value.decode()) for name, value in fields]}


def ask(
    carriage: Carriage, message: JSONObject, exchange: Exchange, options: dict[str, Any]
) -> Flow[JSONObject | Error]:
    """Send one request and return the response to it, or why there is none."""
    if answers_server_requests(options["dialect"]):
        options["on_server_request"] = exchange.answer
    try:
        response = yield functools.partial(carriage.request, message, **options)
    except Error as error:
        response = error
    except LOST as error:
        response = exchange_failed(error)
    except Exception:
        if exchange.failure is not None:
            raise exchange.failure from None
        raise
    if exchange.failure is not None:
        raise exchange.failure
    if isinstance(response, Error) or is_object(response):
        return response
    return carriage.odd(response)


def notify(carriage: Carriage, message: JSONObject, options: dict[str, Any]) -> Flow[Error | None]:
    """Send one notification; return why it failed, if it did."""
    assert carriage.notify is not None
    try:
        value = yield functools.partial(carriage.notify, message, **options)
    except Error as error:
        return error
    except LOST as error:
        return exchange_failed(error)
    return value if isinstance(value, Error) else None
