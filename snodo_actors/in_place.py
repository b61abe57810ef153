"""The client whose calls are carried out where they are awaited, in the caller's task or thread.

In-process servers and transports of one's own have it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from snodo_actors.actors import opening as settling
from snodo_actors.actors import telemetry
from snodo_actors.actors.caching import Sharing, sharing_of_nobody
from snodo_actors.actors.conversation import Conversation, Flow, UserCode
from snodo_actors.actors.custom import read_custom
from snodo_actors.actors.in_place import InPlace, InPlaceConversation
from snodo_actors.actors.listening import Listening
from snodo_actors.actors.notice import Notice
from snodo_actors.actors.request import Profile, Request
from snodo_actors.actors.subscription import Listen, Opening
from snodo_actors.client import Client
from snodo_actors.machines import negotiation as talks
from snodo_actors.ports.calls import carry_out
from snodo_actors.ports.transport import Carriage
from snodo_actors.subscription import Subscription
from snodo_actors.wire.catalog import LISTEN, refusal
from snodo_actors.words.checks import boolean, mapping
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.errors import Error
from snodo_actors.words.listen_options import ListenOptions
from snodo_actors.words.request_options import NO_OPTIONS, RequestOptions
from snodo_actors.words.types import INHERIT, Custom, JSONObject
from supervisors import Future, Node, Ref, self_


class InPlaceClient(Client):
    """A `Client` of a connection that no actor holds."""

    __slots__ = ("_carriage", "_closed", "_in_place")

    def __init__(
        self,
        node: Node,
        who: str,
        options: ClientOptions,
        carriage: Carriage,
        profile: Profile,
        *,
        sharing: Sharing,
    ) -> None:
        super().__init__(node, who, options, profile=profile, sharing=sharing)
        self._carriage = carriage
        self._in_place = InPlace(carriage, options, profile)
        self._closed = False

    def close(self) -> Future[None]:
        """Close the connection, here and now; what takes time goes on where the future is awaited.

        Harmless when repeated. The future never fails. A `Server` of ours has nothing to close.
        """
        rest = None
        if not self._closed and self._carriage.close is not None:
            self._closed = True
            closing = settling.close(self._carriage, self._options, self.session)
            rest = carry_out(closing)
        if rest is not None:
            return Conversation(self._node, self.who, _nowhere).follow(_rest_of(rest))
        closed: Future[None] = Future(self._node)
        closed.try_set(None)
        return closed

    def listen(
        self,
        notifications: Mapping[str, Any],
        *,
        resubscribe: bool = False,
        owner: Ref | None = None,
        **options: Any,
    ) -> Future[Subscription]:
        """Open a stream of events, as `Client.listen`; there is no restart to resubscribe after.

        Raises:
            TypeError: An argument or an option has the wrong type.
            ValueError: An option has a wrong value, or the transport has no `listen`.
        """
        read, wanted = ListenOptions(**options), mapping("notifications", notifications)
        boolean("resubscribe", resubscribe)
        carriage, profile = self._carriage, self._profile
        assert profile is not None
        assert self._sharing is not None
        if carriage.listen is None:
            raise ValueError(f"{self.who} has no listen(): it opens no streams")
        me = self_() if owner is None else owner
        opening = Opening(self._node)
        opening.actor = None
        timeout = self._options.timeout if read.timeout is INHERIT else read.timeout
        listen = Listen(
            who=self.who,
            owner=me,
            port="",
            notifications=wanted,
            options=read,
            timeout=timeout if carriage.is_timed else None,
            resubscribe=False,
            opening=opening,
            namespace=self._sharing.namespace,
        )
        listening = Listening(self._node, listen)
        refused = refusal(LISTEN, profile.version)
        if refused is not None:
            listening.try_fail(refused.named(self.who))
            return listening
        return listening.open(
            carriage,
            profile,
            lambda opened: Subscription(self.who, opened.ref, opened.id, opened.accepted, me),
        )

    def _shared(self) -> Sharing | None:
        return None if self._closed else self._sharing

    def _call(
        self,
        method: str,
        params: Mapping[str, Any],
        options: dict[str, Any],
        definition: Mapping[str, Any] | None = None,
    ) -> Future[Any]:
        del definition  # only HTTP says in headers what it tells
        read, conversation = self._converse(options)
        return conversation.follow(self._asking(read, conversation)(method, params))

    def _notify(self, notice: Notice) -> Future[None]:
        conversation = InPlaceConversation(self._node, self.who, self._in_place.carry)
        return conversation.follow(_sent(notice))

    def _converse(self, options: dict[str, Any]) -> tuple[RequestOptions, Conversation]:
        read = RequestOptions(**options) if options else NO_OPTIONS
        return read, InPlaceConversation(self._node, self.who, self._in_place.carry)

    def _request(
        self,
        method: str,
        params: Mapping[str, Any],
        options: RequestOptions,
        conversation: Conversation | None,
        again: JSONObject | None = None,
    ) -> Request:
        request = super()._request(method, params, options, conversation, again)
        if callable(options.progress) and conversation is not None:
            request.on_progress = functools.partial(conversation.progress, options.progress)
        return request


def open_in_place(
    node: Node,
    who: str,
    options: ClientOptions,
    *,
    negotiation: talks.Negotiation,
    deed: talks.Deed,
    connect: settling.Connect,
    sharing: Sharing,
) -> Future[Client]:
    """Open a connection where the future is awaited, beginning with *deed*."""
    begun = settling.Opening(options, negotiation, connect)
    opened = _Opened(node, who, _nowhere)

    def settle(_: Any) -> Any:
        if telemetry.handlers:
            _tell_of(opened)
        return carry_out(begun.settle(deed))

    def flow() -> Flow:
        carriage, profile = yield UserCode(settle, None)
        return InPlaceClient(node, who, options, carriage, profile, sharing=sharing)

    return opened.follow(flow())


def open_custom(node: Node, target: Custom, options: dict[str, Any]) -> Future[Client]:
    """Open a connection over somebody's own transport, where the future is awaited.

    Raises:
        TypeError: The transport lacks a function, or an option has the wrong type.
        ValueError: An option has a wrong value.
    """
    opening, who = read_custom(target, options), str(target)
    if isinstance(opening, Error):
        refused: Future[Client] = Future(node)
        refused.try_fail(opening.named(who))
        return refused
    client = opening.client
    negotiation = talks.Negotiation(
        opening.allowed,
        capabilities=client.capabilities,
        client_info=client.client_info,
        can_notify=opening.can_notify,
    )
    begin = negotiation.start()
    return open_in_place(
        node,
        who,
        client,
        negotiation=negotiation,
        deed=begin,
        connect=opening.connect,
        sharing=sharing_of_nobody(),
    )


class _Opened(Conversation):
    """The client that will be there."""

    __slots__ = ()

    def _broke(self, error: BaseException) -> None:
        super()._broke(error.named(self.who) if isinstance(error, Error) else error)


def _tell_of(opened: _Opened) -> None:
    """Tell the telemetry that a connection is being opened, and later what came of it."""
    start = opened.node.now()
    telemetry.emit("connect.start", who=opened.who)

    def tell(done: Any) -> None:
        error = done.exception()
        telemetry.emit(
            "connect.stop",
            who=opened.who,
            duration=opened.node.now() - start,
            version=done.get().protocol if error is None else None,
            error=error,
        )

    opened.add_done_callback(tell)


def _sent(notice: Notice) -> Flow:
    failed = yield notice
    if isinstance(failed, Error):
        raise failed


def _rest_of(rest: Any) -> Flow:
    yield UserCode(lambda _: rest, None)


def _nowhere(_request: Any) -> None:
    """Nothing is sent."""
