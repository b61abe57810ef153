"""One server process as the port sees it: messages to it and from it, and who waits for which.

The port that owns it hands over what came, and looks at `lost` afterwards. It ends with its server;
a server that is started anew is another peer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from snodo_actors.actors import caching, telemetry
from snodo_actors.actors.handlers import Handlers, Raised, Returned
from snodo_actors.actors.notice import Notice
from snodo_actors.actors.request import Cancel, Request
from snodo_actors.actors.streams import (
    Answered,
    Batch,
    Cancelled,
    CancelStream,
    Lost,
    Notified,
    OpenStream,
)
from snodo_actors.machines.correlation import (
    Correlation,
    Deed,
    Pending,
    Progressed,
    ServerAsked,
    ServerCancelled,
    StreamAnswered,
    StreamCancelled,
    StreamNotified,
    subscription_id,
)
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.machines.input_requests import answerable
from snodo_actors.machines.server_requests import Reply, ServerRequests, answers_server_requests
from snodo_actors.ports.child import Broken, Child, Events, Exit
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.framing import Flood, Framer, Oversized
from snodo_actors.wire.ids import next_id
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.errors import Delivery, Error, TransportError
from snodo_actors.words.lost import line_too_long, pipe_failed, server_exited
from snodo_actors.words.stdio_options import StdioOptions
from snodo_actors.words.types import JSONObject, Stdio, is_object
from supervisors import Down, Future, Node, Ref, TimerHandle
from supervisors import Error as ErrorReason

MAX_PENDING = 100_000
"""Requests that may wait for their answers on one connection."""
MAX_UNSENT_BYTES = 64 * 1024 * 1024
"""Bytes that may wait for a server that does not read."""


@dataclass(slots=True, eq=False)
class Step:
    """A request of the connection's own, while the version is being settled."""

    then: Callable[[jsonrpc.Outcome], object]

    def answered(self, response: JSONObject) -> None:
        """Go on with the server's response."""
        self.then(jsonrpc.read_response(response))

    def refuse(self, error: Error, delivery: Any = None) -> None:
        """Go on with a failure."""
        self.then(error.again(delivery))

    def progressed(self, params: JSONObject) -> None:
        """Nobody asked for progress."""


class PeerEvents(Events, Protocol):
    """Who is told what happens to a peer."""

    def due(self) -> None:
        """`expire` is to be called."""


class Peer:
    """One server process, and who waits for what it says."""

    def __init__(
        self, node: Node, events: PeerEvents, who: str, client: ClientOptions, stdio: StdioOptions
    ) -> None:
        self.who = who
        self.lost: Error | None = None
        """Why it cannot be talked with any more."""
        self.version: str | None = None
        """The version that was settled with it."""
        self.namespace: Hashable = None
        """What its results are kept under, if they are."""
        self._node = node
        self._events = events
        self._timer: TimerHandle | None = None
        self._timer_at = inf
        self._max_line_bytes = stdio.max_line_bytes
        self._framer = Framer(stdio.max_line_bytes)
        self._correlation: Correlation[Request | Step, Ref] = Correlation(MAX_PENDING)
        self._never_sent: set[Hashable] = set()
        self._batches: dict[Ref, list[Notified]] = {}
        self._server_requests = ServerRequests(
            answerable(client.input_handlers, client.capabilities), stdio.max_server_requests
        )
        self._handlers = Handlers(node, dict(client.input_handlers), stdio.max_server_requests)
        self._child = Child(node, events, who, stdio)

    def __repr__(self) -> str:
        return f"<Peer {self.pid}>"

    def start(self, target: Stdio) -> None:
        """Start the process.

        Raises:
            TransportError: There is no such executable, or it cannot be started.
        """
        self._child.start(target.command, target.args)

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._child.pid

    @property
    def under_way(self) -> Sized:
        """The requests that wait for their answers."""
        return self._correlation

    # ---- messages to it

    def send(self, request: Request) -> None:
        """Send a request that was prepared, or refuse it."""
        id, correlation = request.id, self._correlation
        deadline = Deadline(request.timeouts, self._node.now())
        refused = self._no_room() or correlation.open(
            id, request, deadline, progress=request.on_progress is not None
        )
        if refused is not None:
            request.refuse(refused)
            return
        if deadline.at < self._timer_at:
            self._set_timer(deadline.at)
        # While others are under way there will be more: they go out in one write.
        if not self._child.write(request.line, id, soon=len(correlation) > 1):
            # Why is not known yet; it is as soon as the end of the process is.
            self._never_sent.add(id)

    def notify(self, notice: Notice) -> None:
        """Send a notification that was prepared, or refuse it."""
        refused = self._no_room() or self.lost
        if refused is not None:
            notice.refuse(refused, "never_sent")
        elif self._child.write(notice.line):
            notice.try_set(None)
        else:
            self.send(notice)  # it waits with the calls there are for the reason why not

    def ask(
        self,
        method: str,
        params: JSONObject,
        timeout: float | None,
        then: Callable[[jsonrpc.Outcome], object],
    ) -> None:
        """Send a request of the connection's own, and go on with its outcome."""
        id = next_id()
        deadline = Deadline(Timeouts(timeout), self._node.now())
        self._correlation.open(id, Step(then), deadline)
        self._set_timer(deadline.at)
        if not self.write(jsonrpc.request(id, method, params)):
            self._never_sent.add(id)

    def write(self, message: JSONObject) -> bool:
        """Send a message that is not answered; False if it takes no more."""
        return self._child.write(codec.encode_ascii(message) + b"\n")

    def tell(self, message: Cancel | OpenStream | CancelStream | Returned | Raised) -> None:
        """Tell the server what a caller, a stream or a handler wants it to be told."""
        match message:
            case Cancel(request, why):
                if self._correlation.close(request.id) is not None:
                    self._cancelled(request.id, why)
            case OpenStream():
                self._open_stream(message)
            case CancelStream(id):
                if self._correlation.close_stream(id) is not None:
                    self._cancelled(id, "nobody listens any more")
            case Returned(key, value):
                self._reply(self._server_requests.returned(key, value))
            case Raised(key, text):
                self._reply(self._server_requests.raised(key, text))

    def _open_stream(self, message: OpenStream) -> None:
        refused = self._no_room() or self._correlation.open_stream(message.id, message.subscriber)
        if refused is not None:
            message.subscriber.send(Lost(refused, ours=False))
        else:
            self._child.write(message.line, message.id)

    def _no_room(self) -> Error | None:
        if self._child.unsent_bytes <= MAX_UNSENT_BYTES:
            return None
        return TransportError(
            -32000,
            "the server does not read its input, and too much waits for it",
            cause=("max_unsent_bytes", MAX_UNSENT_BYTES),
            delivery="never_sent",
        )

    def _cancelled(self, id: int, why: str) -> None:
        sent = id not in self._never_sent and not self._child.withdraw(id)
        if sent and self._no_room() is None:
            self.write(jsonrpc.cancelled(id, why))
        self._never_sent.discard(id)

    # ---- messages from it

    def consumed(self) -> None:
        """Say that what it wrote is dealt with, so that more may come."""
        self._child.consumed()

    def read(self, data: bytes) -> None:
        """Give each message in *data* to whom it is for."""
        correlation, now = self._correlation, self._node.now()
        for line in self._framer.feed(data):
            if type(line) is bytes:
                try:
                    message = codec.decode(line)
                except codec.MalformedJSON:
                    continue  # the server's chatter; it is not for us to answer
                if is_object(message):
                    deed = correlation.dispatch(message, now)
                    if type(deed) is Pending:
                        if self._batches:
                            self._hand_over()  # events before an answer are there before it
                        deed.waiter.answered(message)
                    elif deed is not None:
                        self._carry_out(deed, message)
            elif isinstance(line, Oversized):
                pending = correlation.close(line.id) if line.id is not None else None
                if pending is not None:
                    pending.waiter.refuse(line_too_long(self._max_line_bytes))
            elif isinstance(line, Flood):
                self.lose(line_too_long(self._max_line_bytes))
            if self.lost is not None:
                return  # what else there is nobody waits for
        self._hand_over()

    def _hand_over(self) -> None:
        batches, self._batches = self._batches, {}
        for subscriber, notified in batches.items():
            subscriber.send(Batch(notified))

    def _carry_out(self, deed: Deed[Request | Step, Ref], message: JSONObject) -> None:
        match deed:
            case Progressed(waiter, params):
                waiter.progressed(params)
            case StreamNotified(subscriber, method, params):
                # Before any later answer.
                caching.STORE.notified((self.namespace,), method, params)
                notified = Notified(subscription_id(params), method, params)
                self._batches.setdefault(subscriber, []).append(notified)
            case StreamAnswered(subscriber):
                self._hand_over()
                subscriber.send(Answered(message["id"], message))
            case StreamCancelled(subscriber):
                self._hand_over()
                subscriber.send(Cancelled(message["params"]["requestId"]))
            case ServerAsked(request):
                self._asked(request)
            case ServerCancelled(id):
                self._handlers.stop(self._server_requests.cancelled(id))
            case _:
                pass

    # ---- its own requests

    def _asked(self, request: JSONObject) -> None:
        """A request of the server's: answered in the initialize era, where clients answer."""
        if not answers_server_requests(self.version):
            return
        decided = self._server_requests.asked(request)
        if isinstance(decided, Reply):
            self._reply(decided)
        else:
            self._handlers.run(decided.key, decided.kind, decided.params)

    def handler_ended(self, down: Down) -> bool:
        """Tell the server if *down* is the end of a handler; False if it is not."""
        handler = self._handlers.ended(down)
        if handler is not None:
            key, reason = handler
            self._reply(self._server_requests.killed(key, str(reason)))
        return handler is not None

    def _reply(self, reply: Reply | None) -> None:
        if reply is None:
            return
        self.write(reply.message)
        no_room = self._no_room()
        if no_room is not None:  # it asks for ever, and does not read the answers
            self.lose(no_room)

    # ---- time

    def _set_timer(self, at: float) -> None:
        """Let it ring at *at*, unless it does before: then it looks again."""
        if at < self._timer_at:
            self._stop_timer()
            self._timer_at = at
            self._timer = self._node.after(at - self._node.now(), self._events.due)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = inf

    def expire(self) -> None:
        """Refuse the requests whose time is over."""
        self._stop_timer()
        due = self._correlation.take_due(self._node.now())
        unsent = self._unsent() if due else frozenset[Hashable]()
        for pending in due:
            delivery: Delivery = "never_sent" if pending.id in unsent else "unknown"
            pending.waiter.refuse(pending.deadline.error(), delivery)
            if isinstance(pending.waiter, Request):
                self._cancelled(pending.id, "the request timed out")
        next_at = self._correlation.next_at()
        if next_at is not None:
            self._set_timer(next_at)

    # ---- the end

    def ended(self, how: Exit | Broken) -> None:
        """Tell whoever waits why the process cannot be talked with any more."""
        if isinstance(how, Broken):
            self.lose(pipe_failed(how.reason))
            return
        status = how.status
        error = server_exited(status, self._child.last_words(), signal=how.signal)
        if self.lost is None and telemetry.handlers:
            telemetry.emit("port.exit", who=self.who, pid=self.pid, status=status, error=error)
        self.lose(error)

    def lose(self, error: Error, *, ours: bool = False) -> None:
        """Refuse whoever waits, and whoever comes later, with *error*."""
        if self.lost is not None:
            return
        self.lost = error
        caching.STORE.forget(self.namespace)  # before anybody hears of it, and asks again
        self._stop_timer()
        self._hand_over()  # events that came before
        waiting, streams = self._correlation.close_all(error)
        for subscriber in streams:
            subscriber.send(Lost(error, ours=ours))
        unsent = self._unsent()
        for pending in waiting:
            waiter = pending.waiter
            if pending.id not in unsent:
                waiter.refuse(error, "unknown")
            elif isinstance(waiter, Request) and not ours:
                waiter.server_ended(ErrorReason(error))
            else:
                waiter.refuse(error, "never_sent")
        self._handlers.stop(self._server_requests.close())

    def _unsent(self) -> set[Hashable]:
        """The ids of what the server has not been sent a byte of."""
        return self._never_sent | self._child.unsent()

    def stop(self) -> Future[None]:
        """Bring the process to its end; the future is done when it is gone."""
        return self._child.stop()

    def kill(self) -> None:
        """End the process here and now."""
        self._child.kill()
