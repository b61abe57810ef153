"""The client whose calls are carried out where they are awaited, in the caller's task or thread.

In-process servers and transports of one's own have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snodo_actors.actors import opening
from snodo_actors.actors.conversation import Conversation, Flow, UserCode
from snodo_actors.actors.in_place import InPlace, InPlaceConversation
from snodo_actors.actors.request import Profile
from snodo_actors.client import Client
from snodo_actors.machines import negotiation as talks
from snodo_actors.ports.calls import carry_out
from snodo_actors.ports.transport import Carriage
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.request_options import NO_OPTIONS, RequestOptions
from supervisors import Future, Node


class InPlaceClient(Client):
    """A `Client` of a connection that no actor holds."""

    __slots__ = ("_carriage", "_closed", "_in_place")

    def __init__(
        self, node: Node, who: str, options: ClientOptions, carriage: Carriage, profile: Profile
    ) -> None:
        super().__init__(node, who, options, profile=profile)
        self._carriage = carriage
        self._in_place = InPlace(carriage, options, profile)
        self._closed = False

    def close(self) -> Future[None]:
        """Close the connection, where this is awaited; closing one to our own server does nothing.

        Harmless when repeated. The future never fails.
        """
        if self._closed or self._carriage.close is None:
            closed: Future[None] = Future(self._node)
            closed.try_set(None)
            return closed
        self._closed = True
        return Conversation(self._node, self.who, _nowhere).follow(self._closing())

    def _closing(self) -> Flow:
        carriage, options, session = self._carriage, self._options, self.session
        yield UserCode(lambda _: carry_out(opening.close(carriage, options, session)), None)

    def _call(self, method: str, params: Mapping[str, Any], options: dict[str, Any]) -> Future[Any]:
        read, conversation = self._converse(options)
        return conversation.follow(self._asking(read, conversation)(method, params))

    def _converse(self, options: dict[str, Any]) -> tuple[RequestOptions, Conversation]:
        read = RequestOptions(**options) if options else NO_OPTIONS
        return read, InPlaceConversation(self._node, self.who, self._in_place.carry)


def open_in_place(
    node: Node,
    who: str,
    options: ClientOptions,
    negotiation: talks.Negotiation,
    deed: talks.Deed,
    connect: opening.Connect,
) -> Future[Client]:
    """Open a connection where the future is awaited, beginning with *deed*."""
    settling = opening.Opening(options, negotiation, connect)

    def flow() -> Flow:
        carriage, profile = yield UserCode(lambda _: carry_out(settling.settle(deed)), None)
        return InPlaceClient(node, who, options, carriage, profile)

    return _Opened(node, who, _nowhere).follow(flow())


class _Opened(Conversation):
    """The client that will be there."""

    __slots__ = ()

    def _broke(self, error: BaseException) -> None:
        super()._broke(error.named(self.who) if isinstance(error, Error) else error)


def _nowhere(_request: Any) -> None:
    """Nothing is sent."""
