"""One session of a server of the official SDK: a process of the node, behind streams in memory.

What its tasks raise stays here. A call gets what the session sent for it, one by one, in the task
or thread that waits for it; if the session ends, the call is told why.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import mcp_types
from mcp.server import Server
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from snodo_actors.adapters.routes import Mail, Routes
from snodo_actors.ports.transport import Deliver, End
from snodo_actors.wire.jsonrpc import METHOD_NOT_FOUND, cancelled, error_response
from snodo_actors.words.errors import Error, TransportError
from snodo_actors.words.lost import connection_closed, owner_ended
from snodo_actors.words.types import JSONObject
from supervisors import Down, Future, Node, Ref, monitor, receive, spawn, when_down

GRACE = 2.0
"""Seconds a session may take to end by itself."""
CLOSE_TIMEOUT = 5.0
"""Seconds `close()` waits at most for one that cannot end, because a thread of it is stuck."""

_log = logging.getLogger("snodo_actors.adapters")


@dataclass(frozen=True, slots=True)
class _Send:
    message: JSONObject


@dataclass(frozen=True, slots=True)
class _Close:
    pass


class SDKSession:
    """The session of one client. It begins with the first message."""

    def __init__(
        self,
        server: Server[Any],
        lifespan: Callable[[], AbstractAsyncContextManager[Any]],
        node: Node,
        owner: Ref,
        auth: Any,
    ) -> None:
        self._server = server
        self._lifespan = lifespan
        self._node = node
        self._owner = owner
        self._auth = auth
        self._lock = threading.RLock()
        self._ref: Ref | None = None
        self._over: Error | None = None
        self._routes = Routes()

    # ---- where the client is

    async def request(
        self,
        message: JSONObject,
        *,
        on_progress: Callable[[JSONObject], Any] | None = None,
        on_server_request: Callable[[JSONObject], Any] | None = None,
        **_options: Any,
    ) -> JSONObject:
        """Send the request *message* and return the response, which may be long in coming."""
        id, mail = message["id"], Mail(self._node)
        self._routes.add_call(id, mail)
        try:
            self._send(message)
            while True:
                came = await mail.take()
                if isinstance(came, Error):
                    raise came.again()
                if "method" not in came:
                    return came
                if "id" in came:
                    answer = (
                        _refusal(came) if on_server_request is None else on_server_request(came)
                    )
                    self._tell(await answer if inspect.isawaitable(answer) else answer)
                elif on_progress is not None:
                    told = on_progress(came["params"])
                    if inspect.isawaitable(told):
                        await told
        finally:
            if self._routes.remove(id):
                self._tell(cancelled(id, "the caller waits no longer"))

    def notify(self, message: JSONObject, **_options: Any) -> None:
        """Send a notification."""
        self._send(message)

    def listen(self, message: JSONObject, deliver: Deliver, **_options: Any) -> End:
        """Open a stream."""
        id = message["id"]
        self._routes.add_stream(id, deliver)
        try:
            self._send(message)
        except Error:
            self._routes.remove(id)
            raise

        def end(_reason: Any) -> None:
            if self._routes.remove(id):
                self._tell(cancelled(id, "nobody listens any more"))

        return end

    def close(self) -> Future[None] | None:
        """End the session; the future, if there is one, is done when it has ended, or soon."""
        with self._lock:
            ref, self._over = self._ref, self._over or connection_closed("closed")
        if ref is None:
            return None
        ref.send(_Close())
        self._routes.close(self._over)
        closed: Future[None] = Future(self._node)
        when_down(ref).add_done_callback(lambda _down: closed.try_set(None))
        timer = self._node.after(CLOSE_TIMEOUT, closed.try_set, None)
        closed.add_done_callback(lambda _closed: timer.cancel())
        return closed

    def _send(self, message: JSONObject) -> None:
        with self._lock:
            if self._over is not None:
                raise self._over.again("never_sent")
            if self._ref is None:
                self._ref = spawn(self._run, node=self._node)
                when_down(self._ref).add_done_callback(self._ended)
            self._ref.send(_Send(message))

    def _tell(self, message: JSONObject) -> None:
        """Send what nobody waits for an answer to, unless the session has ended."""
        if self._ref is not None:
            self._ref.send(_Send(message))

    def _ended(self, _down: Any) -> None:
        with self._lock:
            self._over = self._over or connection_closed("closed")
        self._routes.close(self._over)

    # ---- where the session is

    async def _run(self) -> None:
        """Run the session as a process of the node."""
        monitor(self._owner)
        if isinstance(self._auth, AccessToken):
            auth_context_var.set(AuthenticatedUser(self._auth))
        try:
            async with self._lifespan():
                await self._serve()
        except Exception as error:  # noqa: BLE001  # the edge: whoever waits is told, nobody else
            self._fail(error)

    async def _serve(self) -> None:
        async with create_client_server_memory_streams() as (ours, theirs):
            reading, writing = ours
            async with anyio.create_task_group() as group:
                group.start_soon(self._run_server, *theirs, group.cancel_scope)
                group.start_soon(self._read, reading)
                await self._write(writing)
                await writing.aclose()
                await theirs[1].aclose()
                group.cancel_scope.deadline = anyio.current_time() + GRACE

    async def _run_server(self, reading: Any, writing: Any, scope: anyio.CancelScope) -> None:
        server = self._server
        try:
            await server.run(reading, writing, server.create_initialization_options())
        except Exception as error:  # noqa: BLE001  # see above
            self._fail(error)
        scope.cancel()

    def _fail(self, error: Exception) -> None:
        _log.warning("the server %s failed", self._server.name, exc_info=error)
        self._over = self._over or _failed(error)

    async def _write(self, writing: Any) -> None:
        """Pass on what the client sends, until it or its owner ends."""
        while True:
            match await receive():
                case _Send(message):
                    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await writing.send(self._framed(message))
                case Down(_, _, reason):
                    self._over = self._over or owner_ended(str(self._owner), reason)
                    return
                case _Close():
                    return
                case _:
                    pass

    def _framed(self, message: JSONObject) -> SessionMessage:
        framed = mcp_types.jsonrpc_message_adapter.validate_python(message, by_name=False)
        shown = self._auth is not None and not isinstance(self._auth, AccessToken)
        metadata = ServerMessageMetadata(request_context=self._auth) if shown else None
        return SessionMessage(framed, metadata)

    async def _read(self, reading: Any) -> None:
        """Hand what the server sends to whom it is for."""
        async for item in reading:
            if isinstance(item, SessionMessage):
                message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                related = getattr(item.metadata, "related_request_id", None)
                if not self._routes.take(message, related) and {"id", "method"} <= message.keys():
                    self._tell(_refusal(message))


def _refusal(message: JSONObject) -> JSONObject:
    return error_response(message["id"], METHOD_NOT_FOUND, "method not found")


def _failed(error: Exception) -> TransportError:
    """Tell of the failure of a session, not of the groups it came in."""
    first: BaseException = error
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    said = str(first) or type(first).__name__
    return TransportError(-32000, f"the in-process server failed: {said}", cause=first)
