"""How a stream is opened on a connection that no actor holds: in place, as its requests are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from snodo_actors.actors.conversation import Conversation, Flow, UserCode
from snodo_actors.actors.in_place import LOST
from snodo_actors.actors.request import Profile
from snodo_actors.actors.source import Asked, start_source
from snodo_actors.actors.subscription import Listen
from snodo_actors.ports.calls import Flow as Calls
from snodo_actors.ports.calls import carry_out
from snodo_actors.ports.transport import Carriage
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import connection_closed, exchange_failed, unexpected_outcome
from snodo_actors.words.types import Acknowledged
from supervisors import Future, Node

Made = Callable[[Acknowledged], Any]


class Listening(Conversation):
    """Opens one stream; given up, it closes what it opened."""

    __slots__ = ("_asked", "_listen")

    def __init__(self, node: Node, listen: Listen) -> None:
        super().__init__(node, listen.who, _nowhere)
        self._listen = listen
        self._asked: Future[Asked] = Future(node)
        self.add_done_callback(_tidy)

    def open(self, carriage: Carriage, profile: Profile, make: Made) -> Listening:
        """Begin; the value will be what *make* makes of the acknowledgement."""
        self.follow(self._steps(carriage, profile, make))
        return self

    def _steps(self, carriage: Carriage, profile: Profile, make: Made) -> Flow:
        listen = self._listen
        start = functools.partial(start_source, self.node, listen, profile, self._asked)
        asked: Asked = yield UserCode(lambda _: start(), None)
        options = {"dialect": profile.version, "timeout": listen.timeout}
        opening = _open(carriage, asked, options)
        yield UserCode(lambda _: carry_out(opening), None)
        return make((yield UserCode(lambda _: listen.opening, None)))

    def tidy(self) -> None:
        """Let go of what was begun, if nothing came of it."""
        if self.exception() is None or self._asked.try_fail(connection_closed("closed")):
            return
        self._listen.opening._withdrawn()  # noqa: SLF001  # nobody waits for it any more
        if self._asked.exception() is None:
            self._asked.get().abandoned()


def _tidy(listening: Listening) -> None:
    listening.tidy()


def _open(carriage: Carriage, asked: Asked, options: dict[str, Any]) -> Calls[None]:
    assert carriage.listen is not None
    try:
        end = yield functools.partial(carriage.listen, asked.message, asked.deliver, **options)
    except Error as error:
        end = error
    except LOST as error:
        end = exchange_failed(error)
    if callable(end):
        asked.opened(end)
    else:
        asked.failed(end if isinstance(end, Error) else unexpected_outcome(end))


def _nowhere(_request: Any) -> None:
    """Nothing is sent."""
