"""The listen streams of one HTTP connection: who reads which, outside of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from snodo_actors.actors.http_exchange import Exchange
from snodo_actors.actors.http_messages import Family, StreamRefused, StreamStarted
from snodo_actors.actors.http_stream import HttpStream
from snodo_actors.actors.streams import CancelStream, Lost, OpenStream
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.words.errors import Delivery, Error
from snodo_actors.words.lost import connection_closed, stream_crashed
from supervisors import SHUTDOWN, Down, Monitor, Node, Ref, monitor
from supervisors import exit as send_exit

_ENDLESS = Deadline(Timeouts(None), 0.0)
"""The time of every stream, which the subscription minds."""


class StreamExchange(Exchange):
    """Stands for a stream where it waits for a token."""

    __slots__ = ("_subscriber",)

    def __init__(self, opened: OpenStream) -> None:
        super().__init__(opened.id, "", (), opened.line, _ENDLESS)
        self._subscriber = opened.subscriber

    @property
    def subscriber(self) -> Ref:
        """Who gets what comes."""
        return self._subscriber

    def refuse(self, error: Error, delivery: Delivery | None = None) -> None:
        """Tell the subscriber that there is no stream."""
        self._subscriber.send(Lost(error.again(delivery), ours=False, id=self.id))


@dataclass(slots=True)
class _Stream:
    exchange: StreamExchange
    reader: Ref | None = None
    watch: Monitor | None = None


class Streams:
    """The streams of one connection."""

    def __init__(self, family: Family, node: Node, port: Ref) -> None:
        self._family = family
        self._node = node
        self._port = port
        self._streams: dict[int, _Stream] = {}
        self._watches: dict[Monitor, int] = {}

    def open(self, opened: OpenStream) -> StreamExchange:
        """Take note of a stream; `start` is to be called once it has a token, if it needs one."""
        exchange = StreamExchange(opened)
        self._streams[opened.id] = _Stream(exchange)
        return exchange

    def start(self, exchange: StreamExchange) -> None:
        """Start the actor that opens the stream and reads it."""
        family = self._family
        streams = family.streams
        assert exchange.id is not None
        if exchange.id not in self._streams:
            return  # it was cancelled meanwhile
        if streams is None:
            exchange.refuse(connection_closed("closed"), "never_sent")
            return
        id = exchange.id
        spec = HttpStream.child_spec(family, exchange, exchange.subscriber, restart="temporary")
        send = self._port.send
        streams.start_child(spec).add_done_callback(
            lambda outcome: send(StreamStarted(id, outcome))
        )

    def started(self, message: StreamStarted) -> None:
        """Watch the actor that reads the stream."""
        id, outcome = message.id, message.outcome
        stream = self._streams.get(id)
        if outcome.exception() is not None:
            if stream is not None:
                del self._streams[id]
                stream.exchange.refuse(stream_crashed(outcome.exception()), "never_sent")
            return
        reader: Ref = outcome.get()
        if stream is None:
            send_exit(reader, SHUTDOWN)  # it was cancelled meanwhile
            return
        stream.reader = reader
        stream.watch = monitor(reader)
        self._watches[stream.watch] = id

    def refused(self, message: StreamRefused) -> StreamExchange | None:
        """Let a stream wait for a token."""
        stream = self._streams.get(message.id)
        if stream is None:
            return None
        if stream.watch is not None:
            self._watches.pop(stream.watch, None)
        stream.reader = stream.watch = None
        return stream.exchange

    def cancel(self, message: CancelStream) -> None:
        """Close the connection of a stream."""
        stream = self._streams.pop(message.id, None)
        if stream is not None and stream.reader is not None:
            if stream.watch is not None:
                self._watches.pop(stream.watch, None)
            send_exit(stream.reader, SHUTDOWN)

    def down(self, down: Down) -> None:
        """Take note of the end of an actor that read a stream."""
        id = self._watches.pop(down.monitor, None)
        stream = self._streams.pop(id, None) if id is not None else None
        if stream is not None and not down.reason.is_calm:
            stream.exchange.refuse(stream_crashed(down.reason))

    def close(self, error: Error) -> None:
        """Tell every subscriber of the end of the connection."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            lost: Any = Lost(error, ours=error.cause == "closed", id=stream.exchange.id)
            stream.exchange.subscriber.send(lost)
            if stream.reader is not None:
                send_exit(stream.reader, SHUTDOWN)
