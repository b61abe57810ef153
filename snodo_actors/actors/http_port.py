"""The port of one HTTP connection: an actor that keeps the books of its pool.

It receives what callers want and what workers have to tell, and hands each exchange to a worker, or
lets it wait. It settles the version, holds the session and has it renewed, asks for tokens, and
knows what only the connection as a whole can know.
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from snodo_actors.actors import telemetry
from snodo_actors.actors.caching import sharing_of_port
from snodo_actors.actors.http_admission import Admission
from snodo_actors.actors.http_books import DUE, MAX_WAITING, Due, Started
from snodo_actors.actors.http_exchange import CallExchange, Exchange, NoticeExchange
from snodo_actors.actors.http_messages import (
    Concluded,
    Detached,
    Family,
    Finished,
    HeadersRefused,
    Post,
    Refused,
    ServerStreamAgain,
    ServerStreamGone,
    ServerStreamUp,
    SessionLost,
    StreamRefused,
    StreamStarted,
    TimedOut,
)
from snodo_actors.actors.http_profile import HttpProfile
from snodo_actors.actors.http_settling import Settling
from snodo_actors.actors.http_standing import Standing
from snodo_actors.actors.http_streams import Streams
from snodo_actors.actors.http_tokens import Refreshed, Tokened, Tokens
from snodo_actors.actors.notice import Notice
from snodo_actors.actors.request import Cancel, Profile, Ready, Request, ended_because
from snodo_actors.actors.streams import CancelStream, Lost, OpenStream
from snodo_actors.actors.unsettled import Unsettled
from snodo_actors.actors.waiting import claim
from snodo_actors.machines import renewal
from snodo_actors.machines.deadline import Deadline
from snodo_actors.wire.meta import version_meta
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import owner_ended
from snodo_actors.words.types import Session
from snodo_actors.words.versions import is_stateless
from supervisors import (
    Down,
    ExitReason,
    Future,
    Monitor,
    ReceiveTimeout,
    Ref,
    Shutdown,
    Stop,
    monitor,
    receive,
    unregister,
    when_down,
)
from supervisors import Error as ErrorReason

STREAM_PATIENCE = 5.0
"""Seconds calls wait at most for the standing stream of their session to be open."""


class HttpPort(Admission):
    """The actor of one HTTP connection."""

    trap_exit: ClassVar[bool] = True

    def init(self, opening: Any, family: Family) -> None:
        """Begin to settle the version."""
        self.opening = opening
        self.profile: Profile | None = None
        self._family = family
        family.port = self.ref
        # Whoever has the connection by name does not know the URL.
        family.namespaces = (("http", family.url), sharing_of_port(self.ref).namespace)
        family.version = None
        self._open_books(family)
        self._early = Unsettled(self.node)
        self._calls: set[CallExchange] = set()
        """What was sent or will be, wherever it is: with a worker, or waiting for a token."""
        when_down(self.ref).add_done_callback(self._leave_nobody)
        self._cause: Error | None = None
        self._renewal: renewal.Renewal[Exchange] | None = None
        self._standing = Standing(family, self.node, self.ref)
        self._settled_but_for_stream: HttpProfile | None = None
        self._unsettled: Session | None = None
        """A session that was begun before the version could not be settled."""
        provider = family.http.token_provider
        url = family.url
        self._tokens = None if provider is None else Tokens(self.node, self.ref, provider, url)
        self._streams = Streams(family, self.node, self.ref)
        if opening.owner is not None:
            self._owner_watch: Monitor | None = monitor(opening.owner)
        else:
            self._owner_watch = None
        opening.starts.count += 1
        if opening.starts.count > 1 and telemetry.handlers:
            telemetry.emit("port.restart", who=opening.who)
        self._settling = Settling(self._family, self.node, self.ref, self._submit)
        self._settling.start(opening.allowed, self._settled, self._not_settled)
        for request in claim(self.node, self.ref.name):
            request.port = self.ref
            self._take(request)

    def handle_info(self, message: Any) -> Any:  # noqa: C901  # one arm for each message
        """Handle what callers want and workers tell."""
        match message:
            case Finished():
                self._finished(message)
            case Request():
                self._take(message)
            case Started():
                self._started(message)
            case Detached():
                self._detached(message)
            case Down():
                return self._down(message)
            case Due():
                self._due()
            case Cancel(request, why):
                self._cancel(request, why)
            case TimedOut(exchange):
                self._tell_cancelled(exchange, "the request timed out")
            case Post(exchange):
                self._submit(exchange)
            case Tokened() | Refused() | Refreshed() | StreamRefused():
                self._authorize(message)
            case Concluded(then, outcome, headers):
                then(outcome, headers)
            case SessionLost(exchange):
                self._session_lost(exchange)
            case HeadersRefused():
                self._find_headers(message)
            case Ready():
                if self.profile is not None:
                    message.try_set(self.profile)
                else:
                    self._early.tell(message)
            case ServerStreamUp():
                self._server_stream_up()
            case ServerStreamAgain(standing):
                self._open_again(standing)
            case ServerStreamGone(stream):
                self._server_stream_gone(stream)
            case OpenStream():
                self._submit_stream(self._streams.open(message))
            case CancelStream():
                self._streams.cancel(message)
            case StreamStarted():
                self._streams.started(message)
            case _:
                return super().handle_info(message)
        if self._cause is None:
            return None
        # Whoever connects is told; under a name it is a failure of the tree.
        by_name = self.ref.name is not None
        return Stop(ErrorReason(self._cause) if by_name else Shutdown(self._cause))

    async def terminate(self, reason: ExitReason) -> None:
        """Tell everybody who waits, and end the session."""
        if self.ref.name is not None and not reason.is_calm:
            unregister(self.ref.name)  # whoever comes by name waits for the next one
        error = self._cause or ended_because(reason)
        self._streams.close(error)
        self._refuse_all(error)
        self._refuse_calls(error, reason)
        session = self._session() or self._unsettled
        if session is not None and session.id is not None and self.node.running:
            await self._end_session(session, reason, error)
        self._early.refuse_ready(error, self.opening.who)
        self._close_books()

    def _refuse_calls(self, error: Error, reason: ExitReason) -> None:
        self._early.refuse_calls(reason)
        for exchange in tuple(self._calls):
            exchange.refuse(error, None if exchange.sent else "never_sent")

    def _leave_nobody(self, down: Future[ExitReason]) -> None:
        """Tell who still waits, as nobody else does where a port is killed; workers end by it."""
        reason = down.get()
        error = self._cause or ended_because(reason)
        self._refuse_calls(error, reason)
        self._early.refuse_ready(error, self.opening.who)
        if self._timer is not None:
            self._timer.cancel()
        if self._tokens is not None:
            self._tokens.close()

    async def _end_session(self, session: Session, reason: ExitReason, error: Error) -> None:
        """Tell the server that the session is over; the books are kept until it has heard."""
        exchange, ended = self._settling.end(session)
        ended.add_done_callback(lambda _ended: self.ref.send(DUE))
        until = exchange.deadline.at
        self._submit(exchange)
        while not ended.done():
            try:
                message = await receive(None, max(0.0, until - self.node.now()))
            except ReceiveTimeout:
                return
            if isinstance(message, OpenStream):
                message.subscriber.send(Lost(error, ours=error.cause == "closed", id=message.id))
            elif hasattr(message, "server_ended"):
                message.server_ended(reason)
            elif not isinstance(message, Cancel | CancelStream | Post | TimedOut):
                self.handle_info(message)

    def format_status(self) -> Any:
        """What reports show: no headers, no arguments of calls."""
        version = self.profile.version if self.profile is not None else None
        return {"url": self._family.url, "version": version, "pool": self._pool.statistics()}

    # ---- the version and the session

    def _session(self) -> Session | None:
        return None if self._renewal is None else self._renewal.session

    def _settled(self, version: str, session: Session | None) -> None:
        client = self.opening.client
        self._family.version = version
        if session is not None:
            self._renewal = renewal.Renewal(session, MAX_WAITING)
        capabilities = self._family.capabilities(version)
        meta = version_meta(version, capabilities, client.client_info)
        under_way = self._pool.under_way
        profile = HttpProfile(version, session, meta, capabilities, under_way)
        if session is not None and self._family.http.server_stream is not False:
            self._settled_but_for_stream = profile
            self._open_standing_stream(session)
            self.node.after(STREAM_PATIENCE, self.ref.send, ServerStreamUp())
        else:
            self._begin(profile)

    def _begin(self, profile: HttpProfile) -> None:
        """Let calls go out."""
        self.profile = profile
        for request in self._early.settled(profile):
            self._send(request, profile)

    def _server_stream_up(self) -> None:
        profile, self._settled_but_for_stream = self._settled_but_for_stream, None
        if profile is not None:
            self._begin(profile)

    def _server_stream_gone(self, stream: Ref) -> None:
        session = self._session()
        if session is not None and self._standing.is_of(stream):
            self._open_standing_stream(session)

    def _not_settled(self, error: Error, session: Session | None) -> None:
        self._unsettled = session
        self._cause = error.named(self.opening.who)
        self.ref.send(DUE)  # the end is looked for after each message

    def _session_lost(self, exchange: Exchange) -> None:
        assert self._renewal is not None
        sent_in = exchange.session
        assert sent_in is not None
        deed = self._renewal.lost(exchange, sent_in, again=exchange.renewed)
        exchange.renewed = True
        match deed:
            case renewal.Renew(old):
                left = exchange.deadline.left(self.node.now())
                self._settling.renew(old, left, self._renewed, self._not_renewed)
                self._give_up_in_time(exchange)
            case renewal.SendAgain(request, session):
                request.session = session
                self._submit(request)
            case renewal.Failed(request, error):
                request.refuse(error)
            case renewal.Wait():
                self._give_up_in_time(exchange)

    def _give_up_in_time(self, exchange: Exchange) -> None:
        """Fail an exchange that waits for a new session once its time is over."""
        left = exchange.deadline.left(self.node.now())
        if left < inf:
            refused = exchange.deadline.error().again("never_sent")
            exchange.waits = self.node.after(left, exchange.refuse, refused)

    def _renewed(self, _version: str, session: Session | None) -> None:
        assert self._renewal is not None
        assert session is not None
        for again in self._renewal.renewed(session):
            again.request.wait_no_more()
            again.request.session = again.session
            self._submit(again.request)
        if self._standing.was_opened:
            self._open_standing_stream(session)

    def _not_renewed(self, error: Error, session: Session | None) -> None:
        if session is not None and session.id is not None:
            self._submit(self._settling.end(session)[0])
        assert self._renewal is not None
        for failed in self._renewal.failed(error):
            failed.request.wait_no_more()
            failed.request.refuse(failed.error)

    # ---- requests

    def _take(self, request: Request) -> None:
        if self.profile is not None:
            self._send(request, self.profile)
        elif not request.done():
            self._early.take(request)

    def _send(self, request: Request, profile: Profile) -> None:
        if not request.is_fit_for(profile):
            return
        fields = request.fields
        if request.method == "tools/call" and is_stateless(profile.version):
            fields += self._family.tools.fields(request.params, request.definition)
        made = NoticeExchange if type(request) is Notice else CallExchange
        clock = self._clock
        exchange = made(request, fields, Deadline(request.timeouts, clock()))
        exchange.session = self._session()
        request.place = exchange
        self._calls.add(exchange)
        request.add_done_callback(self._forget)
        self._submit(exchange)

    def _forget(self, request: Request) -> None:
        """Let go of a call that is over; one that was given up has yet to be found."""
        self._calls.discard(request.place)
        if request.exception() is None:
            request.place = None  # else only the garbage collector would free the two, and a result

    def _cancel(self, request: Request, why: str) -> None:
        exchange: Exchange | None = request.place
        if exchange is None:
            return
        self._give_up(exchange)
        self._tell_cancelled(exchange, why)

    def _tell_cancelled(self, exchange: Exchange, why: str) -> None:
        """Tell a server of the initialize era, which does not take a disconnect for it."""
        profile = self.profile
        is_request = exchange.id is not None and exchange.sent
        if profile is not None and not is_stateless(profile.version) and is_request:
            self._settling.tell_cancelled(exchange.id, why, self._session())

    def _find_headers(self, refused: HeadersRefused) -> None:
        """List the tools for the headers that a call lacked, and send it once more."""
        exchange, response = refused.exchange, refused.response
        exchange.listed = True
        assert isinstance(exchange, CallExchange)
        request = exchange.request

        def found(_outcome: Any) -> None:
            fields = self._family.tools.fields(request.params, None)
            if not fields:
                exchange.answered(response.message, response.head)
            elif not exchange.done():
                exchange.use_new_id()
                exchange.fields = request.fields + fields
                exchange.deadline.restart(self.node.now())
                self._submit(exchange)

        if request.definition is not None:
            exchange.answered(response.message, response.head)
        else:
            self._settling.list_tools(self.profile, self.opening.client.max_pages, found)

    def _down(self, down: Down) -> Any:
        if down.monitor is self._owner_watch:
            self._cause = owner_ended(str(self.opening.owner), down.reason)
            return Stop(Shutdown(self._cause))
        slot = self._watches.pop(down.monitor, None)
        if slot is None:
            self._streams.down(down)
        else:
            self._worker_ended(slot, down.reason)
        return None
