"""Streams of connections that no actor holds: what the port is to those of others.

One source stands between one stream's actor and the function that opened the stream. It ends the
stream, whether its owner closed it, ended, or heard its last message.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from snodo_actors.actors import caching
from snodo_actors.actors.request import Profile, Ready
from snodo_actors.actors.streams import Answered, CancelStream, Lost, Notified, OpenStream
from snodo_actors.actors.subscription import Listen, SubscriptionActor
from snodo_actors.ports.transport import End
from snodo_actors.wire import codec
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import connection_closed
from snodo_actors.words.types import JSONObject, is_object
from supervisors import (
    AlreadyStarted,
    Down,
    DynamicSupervisor,
    DynamicSupervisorRef,
    Future,
    GenServer,
    Node,
    Ref,
    Stop,
    monitor,
)

STREAMS = "snodo_actors.streams"
"""The supervisor of these streams, one on a node."""
MANY = 10**9

_log = logging.getLogger("snodo_actors.transport")


@dataclass(frozen=True, slots=True)
class _Opened:
    """The function that opens the stream returned *end*; None if it did not open it."""

    end: End | None


@dataclass(frozen=True, slots=True)
class _Started:
    outcome: Future[Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """The listen request is ready: call the function that opens the stream with it."""

    source: Ref
    subscriber: Ref
    id: int
    message: JSONObject
    namespace: Hashable

    def deliver(self, message: JSONObject | Error) -> None:
        """Take the next message of the stream, or why it is lost, in any thread."""
        if isinstance(message, Error):
            self.subscriber.send(Lost(message, ours=False))
        elif "method" in message:
            params = message.get("params")
            if is_object(params):
                caching.STORE.notified((self.namespace,), message["method"], params)
                self.subscriber.send(Notified(self.id, message["method"], params))
        elif message.get("id") == self.id:
            self.subscriber.send(Answered(self.id, message))

    def opened(self, end: End) -> None:
        """The stream is open, until *end* is called."""
        self.source.send(_Opened(end))

    def failed(self, error: Error) -> None:
        """The stream is not open."""
        self.subscriber.send(Lost(error, ours=False))
        self.abandoned()

    def abandoned(self) -> None:
        """Nobody opens the stream any more."""
        self.source.send(_Opened(None))


class Source(GenServer):
    """Opens one stream, and ends it."""

    trap_exit: ClassVar[bool] = True

    def init(
        self, listen: Listen, profile: Profile, asked: Future[Asked], streams: DynamicSupervisorRef
    ) -> None:
        """Start the actor of the stream."""
        self._asked = asked
        self._profile = profile
        self._namespace = listen.namespace
        self._opened: _Opened | None = None
        self._over: Any = None
        self._owner_watch = monitor(listen.owner)
        spec = SubscriptionActor.child_spec(replace(listen, port=self.ref), restart="temporary")
        starting = streams.start_child(spec)
        starting.add_done_callback(listen.opening.started)
        starting.add_done_callback(lambda outcome: self.ref.send(_Started(outcome)))

    async def handle_info(self, message: Any) -> Any:
        """Handle what the actor of the stream wants, and what becomes of it."""
        match message:
            case Ready():
                message.try_set(self._profile)
            case _Started(outcome):
                if outcome.exception() is not None:
                    return Stop("normal")
                monitor(outcome.get())
            case OpenStream(id, line, subscriber):
                asked = Asked(self.ref, subscriber, id, codec.decode(line), self._namespace)
                if not self._asked.try_set(asked):
                    self._opened = _Opened(None)
                    subscriber.send(Lost(connection_closed("closed"), ours=True))
            case _Opened():
                self._opened = self._opened or message
            case CancelStream():
                self._over = self._over or ("cancelled", "client")
            case Down(watch, _, reason):
                by_owner = watch is self._owner_watch
                calm = reason.is_calm and not by_owner
                self._over = self._over or (
                    ("cancelled", "client") if calm else ("disconnected", reason)
                )
            case _:
                return None
        if self._over is None or self._opened is None:
            return None
        if self._opened.end is not None:
            await _call(self._opened.end, self._over)
        return Stop("normal")


async def _call(end: End, reason: Any) -> None:
    try:
        value = end(reason)
        if inspect.isawaitable(value):
            await value
    except Exception:  # noqa: BLE001  # somebody's own function, which nobody waits for
        _log.warning("ending a stream failed", exc_info=True)


async def start_source(node: Node, listen: Listen, profile: Profile, asked: Future[Asked]) -> Asked:
    """Start what serves one stream; return once the listen request is ready."""
    streams = await _streams(node)
    await streams.start_child(
        Source.child_spec(listen, profile, asked, streams, restart="temporary")
    )
    return await asked


async def _streams(node: Node) -> DynamicSupervisorRef:
    found = node.names.get(STREAMS)
    if found is not None:
        return cast("DynamicSupervisorRef", found.ref)
    spec = DynamicSupervisor.child_spec(
        id=STREAMS, name=STREAMS, type="supervisor", max_restarts=MANY, max_seconds=1.0
    )
    try:
        return cast("DynamicSupervisorRef", await node.root.start_child(spec))
    except AlreadyStarted as started:
        return cast("DynamicSupervisorRef", started.ref)
