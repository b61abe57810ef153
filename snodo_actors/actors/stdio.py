"""The port of one stdio connection: owns the child process, its pipes and who waits for what.

It receives what the pipes brought and what callers want, asks the machines, and carries out what
they say. While the version is being settled, requests wait in it, each within its own time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from snodo_actors.actors.request import Cancel, Profile, Ready, Request, ended_because
from snodo_actors.actors.handlers import Handlers, Raised, Returned
from snodo_actors.actors.subscription import (
    Answered,
    Cancelled,
    CancelStream,
    Lost,
    Notified,
    OpenStream,
)
from snodo_actors.actors.waiting import claim
from snodo_actors.machines import negotiation as talks
from snodo_actors.machines.correlation import (
    Correlation,
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
from snodo_actors.machines.server_requests import (
    Reply,
    ServerRequests,
    answers_server_requests,
)
from snodo_actors.ports.child import Child
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.framing import Flood, Framer, Oversized
from snodo_actors.wire.ids import next_id
from snodo_actors.wire.meta import version_meta
from snodo_actors.words.errors import Error, TransportError
from snodo_actors.words.failures import timed_out
from snodo_actors.words.lost import (
    connection_closed,
    line_too_long,
    not_accepting_input,
    owner_ended,
    pipe_failed,
    server_exited,
)
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.stdio_options import StdioOptions
from snodo_actors.words.types import JSONObject, Session, Stdio
from supervisors import (
    Down,
    Error as ErrorReason,
    ExitReason,
    Future,
    GenServer,
    Ref,
    Shutdown,
    Stop,
    TimerHandle,
    monitor,
)

MAX_PENDING = 100_000
"""Requests that may wait for their answers on one connection."""
MAX_UNSENT_BYTES = 64 * 1024 * 1024
"""Bytes that may wait for a server that does not read."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a stdio connection is opened with, checked."""

    who: str
    target: Stdio
    allowed: tuple[str, ...]
    client: ClientOptions
    stdio: StdioOptions
    owner: Ref | None = None


@dataclass(frozen=True, slots=True)
class _Received:
    child: Child
    data: bytes


@dataclass(frozen=True, slots=True)
class _Exited:
    child: Child
    status: int


@dataclass(frozen=True, slots=True)
class _InputFailed:
    child: Child
    error: OSError


class _Due:
    """The earliest deadline has come."""

    __slots__ = ()


_DUE = _Due()


class _Step:
    """Waits for an answer on behalf of the port itself."""

    __slots__ = ("id", "then", "timeouts")

    def __init__(
        self, id: int, timeouts: Timeouts, then: Callable[[jsonrpc.Outcome], object]
    ) -> None:
        self.id = id
        self.timeouts = timeouts
        self.then = then

    def answered(self, response: JSONObject) -> None:
        self.then(jsonrpc.read_response(response))

    def refuse(self, error: Error) -> None:
        self.then(error)

    def progressed(self, params: JSONObject) -> None:
        """Nobody asked for progress."""


class _Events:
    """Lets what happens to a child process come as messages."""

    __slots__ = ("_ref",)

    def __init__(self, ref: Ref) -> None:
        self._ref = ref

    def received(self, child: Child, data: bytes) -> None:
        self._ref.send(_Received(child, data))

    def exited(self, child: Child, status: int) -> None:
        self._ref.send(_Exited(child, status))

    def input_failed(self, child: Child, error: OSError) -> None:
        self._ref.send(_InputFailed(child, error))


class StdioPort(GenServer):
    """The actor of one stdio connection."""

    trap_exit: ClassVar[bool] = True

    def init(self, opening: Opening) -> None:
        """Start the child process and begin to settle the version."""
        self.opening = opening
        self.who = opening.who
        self.profile: Profile | None = None
        self._waiting: deque[Request] = deque()
        self._ready: list[Ready] = []
        self._timer: TimerHandle | None = None
        self._timer_at: float | None = None
        self._retired: list[Future[None]] = []
        self._cause: Error | None = None
        if opening.owner is not None:
            monitor(opening.owner)
        self._negotiation = talks.Negotiation(
            opening.allowed,
            capabilities=opening.client.capabilities,
            client_info=opening.client.client_info,
        )
        self._open()
        self._negotiate(self._negotiation.start())
        for request in claim(self.ref.name):
            self._take(request)

    def handle_info(self, message: Any) -> Any:
        """Handle what the pipes brought, and what callers want."""
        match message:
            case _Received(child, data):
                child.consumed()
                if child is self._child:
                    self._read(data)
            case Request():
                self._take(message)
            case OpenStream():
                self._open_stream(message)
            case CancelStream(id):
                if self._correlation.close_stream(id) is not None:
                    self._write(jsonrpc.cancelled(id, "nobody listens any more"))
            case Returned(key, value):
                self._reply(self._server_requests.returned(key, value))
            case Raised(key, text):
                self._reply(self._server_requests.raised(key, text))
            case Cancel(request, why):
                if self._correlation.close(request.id) is not None:
                    self._write(jsonrpc.cancelled(request.id, why))
            case Ready():
                if self.profile is not None:
                    message.try_set(self.profile)
                else:
                    self._ready.append(message)
            case _Exited(child, status):
                if child is self._child:
                    self._lost(server_exited(status, child.last_words()))
            case _InputFailed(child, error):
                if child is self._child:
                    self._lost(pipe_failed("epipe" if error.errno == 32 else error))
            case _Due():
                self._expire()
            case Down(_, _, reason):
                handler = self._handlers.ended(message)
                if handler is not None:
                    key, ended = handler
                    self._reply(self._server_requests.killed(key, str(ended)))
                    return None
                self._cause = owner_ended(str(self.opening.owner), reason)
                return Stop(Shutdown(self._cause))
            case _:
                return super().handle_info(message)
        if self._cause is not None:
            return Stop(ErrorReason(self._cause))
        return None

    async def terminate(self, reason: ExitReason) -> None:
        """Tell everybody who waits, then bring the child process to its end."""
        error = self._cause or (
            connection_closed("closed") if reason.is_calm else ended_because(reason)
        )
        self._refuse_all(error)
        if self._timer is not None:
            self._timer.cancel()
        self._handlers.stop(self._server_requests.close())
        self._retired.append(self._child.stop())
        for gone in self._retired:
            await gone

    def format_status(self) -> Any:
        """What reports show: no environment, no arguments of calls."""
        version = self.profile.version if self.profile is not None else None
        return {"target": str(self.opening.target), "pid": self._child.pid, "version": version}

    # ---- settling the version

    def _open(self) -> None:
        target, stdio = self.opening.target, self.opening.stdio
        self._framer = Framer(stdio.max_line_bytes)
        self._correlation: Correlation[Request | _Step, Ref] = Correlation(MAX_PENDING)
        client = self.opening.client
        self._server_requests = ServerRequests(
            answerable(client.input_handlers, client.capabilities), stdio.max_server_requests
        )
        self._handlers = Handlers(self.node, dict(client.input_handlers))
        self._child = Child(self.node, _Events(self.ref), self.who)
        self._child.start(target.command, target.args, stdio)

    def _negotiate(self, deed: talks.Deed) -> None:
        client = self.opening.client
        match deed:
            case talks.Discover():
                params = {"_meta": self._meta(self.opening.allowed[0])}
                self._ask(
                    "server/discover",
                    params,
                    client.probe_timeout,
                    lambda outcome: self._negotiate(self._negotiation.discovered(outcome)),
                )
            case talks.Reopen():
                self._reopen()
            case talks.Initialize(params):
                self._ask(
                    "initialize",
                    params,
                    client.timeout,
                    lambda outcome: self._negotiate(self._negotiation.initialized(outcome)),
                )
            case talks.NotifyInitialized(session):
                sent = self._write(jsonrpc.notification("notifications/initialized", {}))
                error = None if sent else not_accepting_input()
                self._negotiate(self._negotiation.notified(session, error))
            case talks.Settled(version, session):
                self._settled(version, session)
            case talks.Failed(error):
                self._cause = error.named(self.who)

    def _reopen(self) -> None:
        self._retired.append(self._child.stop())
        self._correlation.close_all(connection_closed("closed"))
        try:
            self._open()
        except Error as error:
            self._negotiate(self._negotiation.reopened(error))
        else:
            self._negotiate(self._negotiation.reopened())

    def _settled(self, version: str, session: Session | None) -> None:
        self.profile = Profile(
            version, session, self._meta(version), self.opening.client.capabilities
        )
        for ready in self._ready:
            ready.try_set(self.profile)
        self._ready.clear()
        while self._waiting:
            self._send(self._waiting.popleft())

    def _meta(self, version: str) -> JSONObject:
        client = self.opening.client
        return version_meta(version, client.capabilities, client.client_info)

    # ---- requests

    def _take(self, request: Request) -> None:
        if request.done():
            return
        if self.profile is not None:
            self._send(request)
        elif len(self._waiting) >= MAX_PENDING:
            request.refuse(connection_closed(("max_pending", MAX_PENDING), delivery="never_sent"))
        else:
            self._waiting.append(request)
            timeout = request.timeouts.timeout
            if timeout is not None:
                timer = self.node.after(
                    timeout, lambda: request.refuse(timed_out(timeout, delivery="never_sent"))
                )
                request.add_done_callback(lambda _request: timer.cancel())

    def _send(self, request: Request) -> None:
        profile = self.profile
        if request.done() or profile is None:
            return
        if request.profile is not profile:
            try:
                refused = request.prepare(profile)
            except (TypeError, ValueError) as error:
                request.try_fail(error)
                return
            if refused is not None:
                request.try_fail(refused)
                return
        if self._child.unsent_bytes > MAX_UNSENT_BYTES:
            request.refuse(
                TransportError(
                    -32000,
                    "the server does not read its input, and too much waits for it",
                    cause=("max_unsent_bytes", MAX_UNSENT_BYTES),
                    delivery="never_sent",
                )
            )
            return
        self._wait_for(request.id, request, request.timeouts, request.line)

    def _ask(
        self,
        method: str,
        params: JSONObject,
        timeout: float | None,
        then: Callable[[jsonrpc.Outcome], object],
    ) -> None:
        step = _Step(next_id(), Timeouts(timeout), then)
        line = codec.encode_ascii(jsonrpc.request(step.id, method, params)) + b"\n"
        self._wait_for(step.id, step, step.timeouts, line)

    def _wait_for(self, id: int, waiter: Request | _Step, timeouts: Timeouts, line: bytes) -> None:
        if not self._child.write(line):
            waiter.refuse(not_accepting_input())
            return
        progress = getattr(waiter, "on_progress", None) is not None
        refused = self._correlation.open(
            id, waiter, Deadline(timeouts, self.node.now()), progress=progress
        )
        if refused is not None:
            waiter.refuse(refused)
        else:
            self._set_timer()

    def _write(self, message: JSONObject) -> bool:
        return self._child.write(codec.encode_ascii(message) + b"\n")

    # ---- answers

    def _read(self, data: bytes) -> None:
        correlation, now = self._correlation, self.node.now()
        for framed in self._framer.feed(data):
            if isinstance(framed, bytes):
                try:
                    message = codec.decode(framed)
                except codec.MalformedJSON:
                    continue  # the server's chatter; it is not for us to answer
                if isinstance(message, dict):
                    deed = correlation.dispatch(message, now)
                    if type(deed) is Pending:
                        deed.waiter.answered(message)
                    elif deed is not None:
                        self._carry_out(deed, message)
            elif isinstance(framed, Oversized):
                pending = correlation.close(framed.id) if framed.id is not None else None
                if pending is not None:
                    pending.waiter.refuse(line_too_long(self.opening.stdio.max_line_bytes))
            elif isinstance(framed, Flood):
                self._lost(line_too_long(self.opening.stdio.max_line_bytes))
                return
            if correlation is not self._correlation:
                return  # that was the answer that made us start the server anew

    def _carry_out(self, deed: Any, message: JSONObject) -> None:
        match deed:
            case Progressed(waiter, params):
                waiter.progressed(params)
                self._set_timer()
            case StreamNotified(subscriber, method, params):
                id = subscription_id(params)
                subscriber.send(Notified(id, method, params))
            case StreamAnswered(subscriber):
                subscriber.send(Answered(message["id"], message))
            case StreamCancelled(subscriber):
                subscriber.send(Cancelled(message["params"]["requestId"]))
            case ServerAsked(request):
                self._asked(request)
            case ServerCancelled(id):
                self._handlers.stop(self._server_requests.cancelled(id))
            case _:
                pass

    def _asked(self, request: JSONObject) -> None:
        """A request of the server's: answered in the initialize era, where clients answer."""
        version = self.profile.version if self.profile is not None else None
        if not answers_server_requests(version):
            return
        decided = self._server_requests.asked(request)
        if isinstance(decided, Reply):
            self._write(decided.message)
        else:
            self._handlers.run(decided.key, decided.kind, decided.params)

    def _reply(self, reply: Reply | None) -> None:
        if reply is not None:
            self._write(reply.message)

    def _open_stream(self, message: OpenStream) -> None:
        refused = self._correlation.open_stream(message.id, message.subscriber)
        if refused is None and not self._child.write(message.line):
            self._correlation.close_stream(message.id)
            refused = not_accepting_input()
        if refused is not None:
            message.subscriber.send(Lost(refused, ours=False))

    # ---- time

    def _set_timer(self) -> None:
        """Let the timer ring for the earliest deadline; a later one rings early and looks again."""
        at = self._correlation.next_at()
        if at is None or (self._timer_at is not None and self._timer_at <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self.node.after(at - self.node.now(), self.ref.send, _DUE)

    def _expire(self) -> None:
        self._timer = self._timer_at = None
        for pending in self._correlation.take_due(self.node.now()):
            pending.waiter.refuse(pending.deadline.error())
            if isinstance(pending.waiter, Request):
                self._write(jsonrpc.cancelled(pending.id, "the request timed out"))
        self._set_timer()

    # ---- the end

    def _lost(self, error: Error) -> None:
        """The server is gone: whoever waits is told, and the port follows, unless it starts anew."""
        child = self._child
        waiting, streams = self._correlation.close_all(error)
        for pending in waiting:
            pending.waiter.refuse(error.again("unknown"))
        self._end_streams(streams, error, ours=False)
        if child is self._child and self._cause is None:
            self._cause = error.named(self.who)

    def _refuse_all(self, error: Error) -> None:
        waiting, streams = self._correlation.close_all(error)
        self._end_streams(streams, error, ours=error.cause == "closed")
        for pending in waiting:
            if isinstance(pending.waiter, Request):
                pending.waiter.refuse(error, "unknown")
        for request in self._waiting:
            request.refuse(error, "never_sent")
        self._waiting.clear()
        for ready in self._ready:
            ready.try_fail(error.again().named(self.who))
        self._ready.clear()

    @staticmethod
    def _end_streams(streams: list[Ref], error: Error, *, ours: bool) -> None:
        for subscriber in streams:
            subscriber.send(Lost(error, ours=ours))
