"""The actor of a session's standing stream: started, told to open it again, and started anew."""

from __future__ import annotations

import functools
from typing import Any

from snodo_actors.actors.http_messages import Family, ServerStreamGone, ServerStreamUp
from snodo_actors.actors.http_server_stream import (
    REOPEN,
    RETRY,
    HttpServerStream,
    StandingStream,
)
from supervisors import SHUTDOWN, ExitReason, Future, Node, Ref, when_down
from supervisors import exit as send_exit


class Standing:
    """The standing stream of one connection, whose *port* hears what becomes of it."""

    def __init__(self, family: Family, node: Node, port: Ref) -> None:
        self._family = family
        self._node = node
        self._port = port
        self._actor: Ref | None = None
        self._stream: StandingStream | None = None
        """What the actor was started for."""

    @property
    def was_opened(self) -> bool:
        """Whether there is one, or was."""
        return self._actor is not None

    def open(self, stream: StandingStream) -> None:
        """Open the *stream* with the token it has now, in place of a former one."""
        streams, actor = self._family.streams, self._actor
        if actor is not None and self._stream is stream and actor.is_alive():
            actor.send(REOPEN)
            return
        self._stream = stream
        if actor is not None:
            send_exit(actor, SHUTDOWN)
        if streams is not None:
            spec = HttpServerStream.child_spec(self._family, stream, restart="temporary")
            streams.start_child(spec).add_done_callback(self._started)

    def is_of(self, actor: Ref) -> bool:
        """Tell whether *actor* is the one that was started last."""
        return actor is self._actor

    def _started(self, started: Future[Any]) -> None:
        if started.exception() is None:
            self._actor = actor = started.get()
            when_down(actor).add_done_callback(functools.partial(self._ended, actor))
        else:
            self._port.send(ServerStreamUp())

    def _ended(self, actor: Ref, down: Future[ExitReason]) -> None:
        if not down.get().is_calm and self._port.is_alive():  # it was killed, or crashed
            self._node.after(RETRY, self._port.send, ServerStreamGone(actor))
