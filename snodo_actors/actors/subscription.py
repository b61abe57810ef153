"""The actor of one listen stream on a shared connection.

It stands between the port, which hands it what the server sends, and the owner, who says how much
it wants. It watches both: the end of the owner ends the stream on the server; the end of the port
is told to the owner, or, if that was asked for, the stream is opened again once the connection is
back.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from snodo_actors.actors import telemetry
from snodo_actors.actors.request import Profile, Ready, ended_because, given_up
from snodo_actors.actors.streams import (
    Answered,
    Batch,
    Cancelled,
    CancelStream,
    Close,
    Demand,
    Disconnected,
    Lost,
    Notified,
    OpenStream,
)
from snodo_actors.machines import subscription as stream
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.catalog import LISTEN, refusal
from snodo_actors.wire.ids import next_id
from snodo_actors.wire.meta import build_params
from snodo_actors.words.errors import Error
from snodo_actors.words.listen_options import ListenOptions
from snodo_actors.words.lost import connection_closed, stream_closed
from snodo_actors.words.types import Acknowledged, JSONObject
from supervisors import (
    NORMAL,
    Backoff,
    Down,
    ExitReason,
    Future,
    GenServer,
    Monitor,
    NoReply,
    Ref,
    Stop,
    TimerHandle,
    monitor,
    whereis,
)

BACK_OFF = Backoff(initial=0.1, maximum=30.0)


class Opening(Future[Acknowledged]):
    """The subscription that will be there; one nobody waits for any more is closed."""

    __slots__ = ("actor",)

    actor: Ref | None

    def _withdrawn(self) -> None:
        self._give_up(connection_closed("closed"))

    def _expired(self, timeout: float | None) -> None:
        self._give_up(given_up(None, timeout))

    def _give_up(self, error: Error) -> None:
        self.try_fail(error)
        if self.actor is not None:
            self.actor.send(Close())

    def started(self, start: Future[Any]) -> None:
        """Fail if the actor of the stream did not start."""
        error = start.exception()
        if error is not None:
            self.server_ended(getattr(error, "reason", NORMAL))

    def server_ended(self, reason: ExitReason) -> None:
        """Fail because there is nobody to open it."""
        self.try_fail(ended_because(reason).again("never_sent"))


@dataclass(frozen=True, slots=True)
class Listen:
    """What a stream is opened with."""

    who: str
    owner: Ref
    port: Ref | str
    """The port, or the name of a connection that may be restarted."""
    notifications: JSONObject
    options: ListenOptions
    timeout: float | None
    resubscribe: bool
    opening: Opening
    namespace: Hashable = None
    """Whose results its events make stale, where it is not the port that knows."""


class SubscriptionActor(GenServer):
    """The actor of one stream."""

    trap_exit: ClassVar[bool] = True

    def init(self, listen: Listen) -> None:
        """Watch the owner and ask the port whether it is ready."""
        self.listen = listen
        self._me = listen.opening.actor = self.ref
        self._owner_watch = monitor(listen.owner)
        self._port: Ref | None = None
        self._port_watch: Monitor | None = None
        self._id = 0
        self._opened_once = False
        self._attempts = 0
        self._deadline = Deadline(Timeouts(listen.timeout), self.node.now())
        self._stream = self._new_stream()
        self._timer: TimerHandle | None = None
        self._set_timer()
        self._reach_port()

    def format_status(self) -> Any:
        """What reports show: not what the events hold."""
        return {"who": self.listen.who, "owner": str(self.listen.owner), "id": self._id}

    def handle_info(self, message: Any) -> Any:  # noqa: C901  # one arm for each message
        """Handle what the owner wants and what the port hands over."""
        deeds: list[stream.Deed] = []
        match message:
            case Demand(count):
                deeds = self._stream.demanded(count)
            case Close():
                deeds = self._stream.closed()
            case Notified():
                deeds = self._notified(message)
            case Batch(notified):
                deeds = [deed for one in notified for deed in self._notified(one)]
            case Answered(id, response) if id == self._id:
                deeds = self._stream.answered(jsonrpc.read_response(response), response)
            case Cancelled(id) if id == self._id:
                deeds = self._stream.cancelled()
            case Lost(error, ours, id) if self._id and id in (None, self._id):
                deeds = self._lost(error, ours=ours)
            case Disconnected(id) if id == self._id:
                deeds = self._disconnected()
            case Profile():
                deeds = self._begin(message)
            case Down(watch, _, reason):
                if watch is self._owner_watch:
                    deeds = self._stream.closed()
                elif watch is self._port_watch:
                    self._port_watch = None
                    deeds = self._lost(ended_because(reason), ours=False)
            case Error():
                deeds = self._lost(message, ours=False)
            case _Due():
                deeds = self._stream.due(self.node.now())
                self._set_timer()
            case _Again():
                self._reach_port()
            case _:
                return None
        return self._carry_out(deeds)

    def _notified(self, one: Notified) -> list[stream.Deed]:
        return self._stream.notified(one.method, one.params) if one.id == self._id else []

    def terminate(self, reason: ExitReason) -> None:
        """Tell whoever still waits for the stream."""
        if self._timer is not None:
            self._timer.cancel()
        self.listen.opening.server_ended(reason)

    # ---- reaching the connection

    def _new_stream(self) -> stream.Subscription:
        options = self.listen.options
        return stream.Subscription(
            self._id,
            max_buffer=options.max_buffer,
            overflow=options.overflow,
            deadline=self._deadline,
            keep_early=True,
        )

    def _reach_port(self) -> None:
        where = self.listen.port
        port = whereis(where) if isinstance(where, str) else where
        if port is None:
            self._try_later()
            return
        self._port = port
        ready = Ready(self.node)
        ready.add_done_callback(lambda done: self.ref.send(done.exception() or done.get()))
        port.send(ready)  # one that has ended says how, so it is asked before it is watched
        self._port_watch = monitor(port)

    def _try_later(self) -> None:
        delay = min(BACK_OFF.initial * BACK_OFF.factor**self._attempts, BACK_OFF.maximum)
        self._attempts = min(self._attempts + 1, 20)
        self.node.after(delay, self.ref.send, _AGAIN)

    def _begin(self, profile: Profile) -> list[stream.Deed]:
        refused = refusal(LISTEN, profile.version)
        if refused is not None:
            return self._stream.lost(refused.named(self.listen.who))
        listen = self.listen
        self._id = next_id()
        self._stream.use_id(self._id)
        self._stream.keeps_early = not profile.has_head
        params = build_params(
            {"notifications": listen.notifications},
            profile.meta,
            meta=listen.options.meta,
            trace_context=cast("Mapping[str, str] | None", listen.options.trace_context),
        )
        line = codec.encode_ascii(jsonrpc.request(self._id, LISTEN, params)) + b"\n"
        assert self._port is not None
        self._port.send(OpenStream(self._id, line, self.ref))
        return []

    def _disconnected(self) -> list[stream.Deed]:
        if self.listen.resubscribe and self._opened_once:
            return self._lost(stream_closed(), ours=False)
        return self._stream.disconnected()

    def _lost(self, error: Error, *, ours: bool) -> list[stream.Deed]:
        named = error.again().named(self.listen.who)
        if ours:
            return self._stream.aborted(named)
        # A port that is there still lost no more than this stream.
        by_name = isinstance(self.listen.port, str)
        comes_back = self.listen.resubscribe and (by_name or self._port_watch is not None)
        if not (comes_back and self._opened_once) or self._stream.done:
            return self._stream.lost(named)
        # The buffer stays, with what the owner has not asked for yet; only the request is new.
        self._id = 0
        self._stream.reopen()
        self._try_later()
        return []

    # ---- carrying out

    def _carry_out(self, deeds: list[stream.Deed]) -> Any:
        owner = self.listen.owner
        for deed in deeds:
            match deed:
                case stream.Opened(accepted):
                    if self._opened_once:
                        again = ("resubscribed", accepted)
                        owner.send(("snodo_subscription", self.ref, again))
                    self._opened_once = True
                    self._attempts = 0
                    acknowledged = Acknowledged(self.ref, self._id, accepted)
                    self.listen.opening.try_set(acknowledged)
                case stream.Refused(error):
                    self.listen.opening.try_fail(error.again().named(self.listen.who))
                case stream.Deliver(payloads):
                    me = self._me
                    for payload in payloads:
                        if payload[0] == "dropped" and telemetry.handlers:
                            self._tell_dropped(payload[1])
                        owner.send(("snodo_subscription", me, payload))
                case stream.Cancel():
                    if self._port is not None and self._id:
                        self._port.send(CancelStream(self._id))
                case stream.Done():
                    return Stop("normal")
        return NoReply()

    def _tell_dropped(self, count: int) -> None:
        telemetry.emit("subscription.dropped", who=self.listen.who, ref=self.ref, count=count)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self._stream.next_at()
        if at is not None:
            self._timer = self.node.after(at - self.node.now(), self.ref.send, _DUE)


class _Due:
    __slots__ = ()


class _Again:
    __slots__ = ()


_DUE = _Due()
_AGAIN = _Again()
