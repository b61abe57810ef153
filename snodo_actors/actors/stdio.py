"""The port of one stdio connection: an actor that owns the server process.

It receives what the pipes brought and what callers want, and hands it to the peer that stands for
the server. While the version is being settled, requests wait in it, each within its own time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from snodo_actors.actors import telemetry
from snodo_actors.actors.caching import sharing_of_port
from snodo_actors.actors.handlers import Raised, Returned
from snodo_actors.actors.notice import Notice
from snodo_actors.actors.request import Cancel, Profile, Ready, Request, ended_because
from snodo_actors.actors.stdio_opening import Opening
from snodo_actors.actors.stdio_peer import Peer
from snodo_actors.actors.streams import CancelStream, Lost, OpenStream
from snodo_actors.actors.unsettled import Unsettled
from snodo_actors.actors.waiting import claim
from snodo_actors.machines import negotiation as talks
from snodo_actors.ports.child import Broken, Exit
from snodo_actors.wire import jsonrpc
from snodo_actors.wire.meta import version_meta
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import connection_closed, owner_ended
from snodo_actors.words.types import JSONObject, Session
from supervisors import (
    Down,
    ExitReason,
    Future,
    GenServer,
    Ref,
    Shutdown,
    Stop,
    monitor,
    receive,
    unregister,
    when_down,
)
from supervisors import Error as ErrorReason


class _Received:
    __slots__ = ("data", "peer")

    def __init__(self, peer: Peer, data: bytes) -> None:
        self.peer = peer
        self.data = data


@dataclass(frozen=True, slots=True)
class _Ended:
    peer: Peer
    how: Exit | Broken


@dataclass(frozen=True, slots=True)
class _Due:
    peer: Peer


class _Gone:
    __slots__ = ()


_GONE = _Gone()


class _Events:
    """Tells the port what happens to the process of a peer."""

    def __init__(self, port: Ref) -> None:
        self._port = port
        self.peer: Peer

    def received(self, data: bytes) -> None:
        self._port.send(_Received(self.peer, data))

    def ended(self, how: Exit | Broken) -> None:
        self._port.send(_Ended(self.peer, how))

    def due(self) -> None:
        self._port.send(_Due(self.peer))


class StdioPort(GenServer):
    """The actor of one stdio connection."""

    trap_exit: ClassVar[bool] = True

    def init(self, opening: Opening) -> Stop | None:
        """Start the server and begin to settle the version."""
        self.opening = opening
        self.profile: Profile | None = None
        self._early = Unsettled(self.node)
        self._peers: list[Peer] = []
        self._cause: Error | None = None
        if opening.owner is not None:
            monitor(opening.owner)
        when_down(self.ref).add_done_callback(self._leave_nothing)
        client = opening.client
        self._negotiation = talks.Negotiation(
            opening.allowed, capabilities=client.capabilities, client_info=client.client_info
        )
        try:
            self._peer = self._open()
        except Error as error:  # whoever starts the connection gets it; it is no crash
            return Stop(Shutdown(error))
        opening.starts.count += 1
        if opening.starts.count > 1 and telemetry.handlers:
            telemetry.emit("port.restart", who=opening.who)
        self._negotiate(self._negotiation.start())
        for request in claim(self.node, self.ref.name):
            request.port = self.ref
            self._take(request)
        return None

    def handle_info(self, message: Any) -> Any:
        """Handle what the pipes brought, and what callers want."""
        peer = self._peer
        match message:
            case Request():
                self._take(message)
            case _Received():
                message.peer.consumed()
                if message.peer is peer:
                    peer.read(message.data)
            case Cancel() | OpenStream() | CancelStream() | Returned() | Raised():
                peer.tell(message)
            case Ready():
                if self.profile is not None:
                    message.try_set(self.profile)
                else:
                    self._early.tell(message)
            case _Ended():
                if message.peer is peer:
                    peer.ended(message.how)
            case _Due():
                message.peer.expire()
            case Down():
                if not peer.handler_ended(message):
                    return self._owner_ended(message)
            case _:
                return super().handle_info(message)
        if self._peer.lost is not None and self._cause is None:
            self._cause = self._peer.lost.named(self.opening.who)
        return None if self._cause is None else Stop(ErrorReason(self._cause))

    async def terminate(self, reason: ExitReason) -> None:
        """Tell everybody who waits, then bring the server to its end."""
        if self.ref.name is not None and not reason.is_calm:
            unregister(self.ref.name)  # whoever comes by name waits for the next one
        error = self._refuse_all(reason)
        for peer in self._peers:
            peer.stop().add_done_callback(lambda _gone: self.ref.send(_GONE))
        left = len(self._peers)
        while left:  # whoever comes meanwhile does not wait for it
            message = await receive()
            if message is _GONE:
                left -= 1
            elif isinstance(message, OpenStream):
                message.subscriber.send(Lost(error, ours=error.cause == "closed"))
            elif hasattr(message, "server_ended"):
                message.server_ended(reason)

    def _leave_nothing(self, down: Future[ExitReason]) -> None:
        """Do on the spot what `terminate` has not done: it is not always given the time."""
        self._refuse_all(down.get())
        for peer in self._peers:
            peer.kill()

    def _refuse_all(self, reason: ExitReason) -> Error:
        error = self._cause or ended_because(reason)
        for peer in self._peers:
            peer.lose(error, ours=error.cause == "closed")
        self._early.refuse_calls(reason)
        self._early.refuse_ready(error, self.opening.who)
        return error

    def format_status(self) -> Any:
        """What reports show: no environment, no arguments of calls."""
        version = self.profile.version if self.profile is not None else None
        return {"target": str(self.opening.target), "pid": self._peer.pid, "version": version}

    def _owner_ended(self, down: Down) -> Stop:
        self._cause = owner_ended(str(self.opening.owner), down.reason)
        return Stop(Shutdown(self._cause))

    # ---- settling the version

    def _open(self) -> Peer:
        opening, events = self.opening, _Events(self.ref)
        peer = Peer(self.node, events, opening.who, opening.client, opening.stdio)
        events.peer = peer
        peer.namespace = sharing_of_port(self.ref).namespace
        self._peers.append(peer)
        peer.start(opening.target)
        return peer

    def _negotiate(self, deed: talks.Deed) -> None:
        client, negotiation = self.opening.client, self._negotiation
        match deed:
            case talks.Discover():
                params = {"_meta": self._meta(self.opening.allowed[0])}
                self._ask("server/discover", params, client.probe_timeout, negotiation.discovered)
            case talks.Reopen():
                self._peer.lose(connection_closed("closed"))
                self._peer.stop()
                try:
                    self._peer = self._open()
                except Error as error:
                    self._negotiate(negotiation.reopened(error))
                else:
                    self._negotiate(negotiation.reopened())
            case talks.Initialize(params):
                self._ask("initialize", params, client.timeout, negotiation.initialized)
            case talks.NotifyInitialized(session):
                # If it takes no more, it is at its end, and whoever waits for us hears why.
                if self._peer.write(jsonrpc.notification("notifications/initialized", {})):
                    self._negotiate(negotiation.notified(session))
            case talks.Settled(version, session):
                self._settled(version, session)
            case talks.Failed(error):
                self._cause = error.named(self.opening.who)

    def _ask(
        self,
        method: str,
        params: JSONObject,
        timeout: float | None,
        next_deed: Callable[[jsonrpc.Outcome], talks.Deed],
    ) -> None:
        self._peer.ask(method, params, timeout, lambda outcome: self._negotiate(next_deed(outcome)))

    def _settled(self, version: str, session: Session | None) -> None:
        self._peer.version = version
        capabilities = self.opening.client.capabilities
        under_way = self._peer.under_way
        self.profile = Profile(version, session, self._meta(version), capabilities, under_way)
        for request in self._early.settled(self.profile):
            self._send(request, self.profile)

    def _meta(self, version: str) -> JSONObject:
        client = self.opening.client
        return version_meta(version, client.capabilities, client.client_info)

    # ---- requests

    def _take(self, request: Request) -> None:
        if request.done():
            return
        if self.profile is not None:
            self._send(request, self.profile)
        else:
            self._early.take(request)

    def _send(self, request: Request, profile: Profile) -> None:
        if not request.is_fit_for(profile):
            return
        if type(request) is Notice:
            self._peer.notify(request)
        else:
            self._peer.send(request)
