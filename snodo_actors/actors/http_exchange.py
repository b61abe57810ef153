"""One message on its way to an HTTP server, and who hears what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from snodo_actors.actors.request import Request
from snodo_actors.machines.authorization import UNTRIED
from snodo_actors.machines.deadline import Deadline
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.headers import Fields
from snodo_actors.wire.http1 import Head
from snodo_actors.wire.ids import next_id
from snodo_actors.words.errors import Delivery, Error
from snodo_actors.words.types import JSONObject, Session
from supervisors import Ref, TimerHandle


class Exchange:
    """One message. It goes out once, unless the server refused to look at it.

    Subclasses say who sent it. Exchanges are told apart by identity.
    """

    __slots__ = (
        "body",
        "deadline",
        "fields",
        "id",
        "listed",
        "method",
        "outside",
        "renewed",
        "sent",
        "session",
        "slot",
        "token",
        "tried",
        "verb",
        "waits",
        "worker",
    )

    def __init__(
        self,
        id: int | None,
        method: str,
        fields: Fields,
        body: bytes,
        deadline: Deadline,
        *,
        verb: str = "POST",
    ) -> None:
        self.id = id
        """The id of the request; None: no response is wanted."""
        self.method = method
        """The method of the request; empty if it is none."""
        self.verb = verb
        self.fields = fields
        self.body = body
        self.deadline = deadline
        self.session: Session | None = None
        """The session it is sent in."""
        self.token: str | None = None
        self.slot = 0
        """Where it is, or was last."""
        self.worker: Ref | None = None
        """Who works on it, once its answer is a stream, which has left the pool."""
        self.waits: TimerHandle | None = None
        """Rings when it has waited for something too long."""
        self.outside = False
        """Whether it gets a connection of its own, as it must not hold up any call."""
        self.sent = False
        self.tried = UNTRIED
        """What came of it so far, if its connection has tokens."""
        self.renewed = False
        self.listed = False

    def wait_no_more(self) -> None:
        """It has what it waited for."""
        if self.waits is not None:
            self.waits.cancel()
            self.waits = None

    def done(self) -> bool:
        """Tell whether nobody waits any more."""
        return False

    def answered(self, response: JSONObject, head: Head) -> None:
        """Take the response."""

    def accepted(self) -> None:
        """Take note that the message, which wants no response, was accepted."""

    def refuse(self, error: Error, delivery: Delivery | None = None) -> None:
        """Fail."""

    def progressed(self, params: JSONObject, now: float) -> None:
        """Take a sign of progress."""


_begin = Exchange.__init__  # bound once: super() takes nearly as long as this itself


class CallExchange(Exchange):
    """A request of a caller."""

    __slots__ = ("request",)

    def __init__(self, request: Request, fields: Fields, deadline: Deadline) -> None:
        _begin(self, request.id, request.method, fields, request.line, deadline)
        self.request = request

    def done(self) -> bool:
        """Tell whether nobody waits any more."""
        return self.request.done()

    def use_new_id(self) -> None:
        """Go out again as a request of its own: the first was answered."""
        old, new = self.request.id, next_id()
        self.id = new
        self.body = self.body.replace(b'"id":%d,' % old, b'"id":%d,' % new, 1)

    def answered(self, response: JSONObject, head: Head) -> None:
        """Take the response."""
        self.request.answered(response)

    def refuse(self, error: Error, delivery: Delivery | None = None) -> None:
        """Fail."""
        self.request.refuse(error, delivery)

    def progressed(self, params: JSONObject, now: float) -> None:
        """Take a sign of progress, if it is about this request."""
        if self.request.on_progress is not None and params.get("progressToken") == self.request.id:
            self.deadline.progressed(now)
            self.request.progressed(params)


class NoticeExchange(CallExchange):
    """A notification of a caller."""

    __slots__ = ()

    def __init__(self, notice: Request, fields: Fields, deadline: Deadline) -> None:
        super().__init__(notice, fields, deadline)
        self.id = None

    def accepted(self) -> None:
        """Take note that the server has it."""
        self.request.try_set(None)


Headers: TypeAlias = list[tuple[str, str]]
Then: TypeAlias = Callable[[jsonrpc.Outcome, Headers], object]
"""Takes what came of a message, and the headers it came with."""


class OwnExchange(Exchange):
    """A message of the connection's own; *then* is called with what came of it, once."""

    __slots__ = ("_then",)

    def __init__(
        self,
        message: JSONObject | None,
        fields: Fields,
        deadline: Deadline,
        then: Then,
        verb: str = "POST",
    ) -> None:
        id: Any = None if message is None or "method" not in message else message.get("id")
        method = "" if message is None else str(message.get("method", ""))
        body = b"" if message is None else codec.encode_ascii(message)
        super().__init__(id, method, fields, body, deadline, verb=verb)
        self._then: Then | None = then

    def done(self) -> bool:
        """Tell whether it has come to its end."""
        return self._then is None

    def answered(self, response: JSONObject, head: Head) -> None:
        """Take the response."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.fields]
        self._end(jsonrpc.read_response(response), headers)

    def accepted(self) -> None:
        """Take note that the message was accepted."""
        self._end({}, [])

    def refuse(self, error: Error, delivery: Delivery | None = None) -> None:
        """Fail."""
        self._end(error.again(delivery), [])

    def _end(self, outcome: jsonrpc.Outcome, headers: Headers) -> None:
        then, self._then = self._then, None
        if then is not None:
            then(outcome, headers)
