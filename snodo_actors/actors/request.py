"""A request on its way: what is to be sent, and the future of its answer.

It travels in a mailbox as itself, so whoever takes it sets the caller's future directly.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sized
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import pykka

from snodo_actors.machines.deadline import Timeouts
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.catalog import refusal
from snodo_actors.wire.headers import Fields
from snodo_actors.wire.ids import next_id
from snodo_actors.wire.meta import build_params
from snodo_actors.words.errors import Delivery, Error, RequestTimeout
from snodo_actors.words.failures import milliseconds
from snodo_actors.words.lost import connection_closed
from snodo_actors.words.types import InputRequired, JSONObject, Session
from supervisors import Error as ErrorReason
from supervisors import ExitReason, Future, Node, Ref, Shutdown

if TYPE_CHECKING:
    from snodo_actors.actors.caching import Lookup


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What one settled connection wants said in every request."""

    version: str
    session: Session | None
    meta: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    has_head: ClassVar[bool] = False
    """Whether a request says something outside its line, in the headers of HTTP."""
    under_way: Sized | None = None
    """The requests that wait for their answers on this connection, where they go to a server."""
    end_of_line: bytes = field(init=False)
    """What follows the caller's params in the line of most requests."""

    def __post_init__(self) -> None:
        meta = b'"_meta":' + codec.encode_ascii(self.meta) if self.meta else b""
        object.__setattr__(self, "end_of_line", meta + b"}}\n")

    def head(self, request: Request, params: Mapping[str, Any]) -> Fields | Error:
        """Build the header fields that *request*, with its final *params*, decides."""
        del request, params
        return ()

    def plain_head(self, method: str, params: Mapping[str, Any]) -> Fields | Error:
        """Build what `head` does for a request of the core whose *params* have no `_meta`."""
        del method, params
        return ()

    def line(self, id: int, method: str, params: Mapping[str, Any]) -> bytes:
        """Make the line of a request whose *params* have no `_meta`; that of `prepare`, quicker."""
        body = codec.encode_ascii(params)[:-1]
        comma = b"," if len(body) > 1 and len(self.end_of_line) > 3 else b""
        return b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b%b%b' % (
            id,
            _method_text(method),
            body,
            comma,
            self.end_of_line,
        )


@lru_cache(maxsize=256)
def _method_text(method: str) -> bytes:
    return codec.encode_ascii(method)


_begin: Callable[[Any, Node], None] = vars(Future)["__init__"]
"""Found once: super() takes longer than this itself."""


class Request(Future[Any]):
    """One request and, once it is there, its result."""

    __slots__ = (
        "conversation",
        "definition",
        "extension",
        "extra",
        "fields",
        "id",
        "line",
        "lookup",
        "may_be_annotated",
        "method",
        "node",
        "on_progress",
        "otherwise",
        "params",
        "place",
        "port",
        "profile",
        "timeouts",
        "who",
    )

    def __init__(
        self,
        node: Node,
        who: str,
        method: str,
        params: Mapping[str, Any],
        timeouts: Timeouts,
        *,
        on_progress: Callable[[JSONObject], object] | None = None,
        **extra: Any,
    ) -> None:
        _begin(self, node)
        self.node = node
        self.id = next_id()
        self.who = who
        self.method = method
        self.params = params
        self.timeouts = timeouts
        self.on_progress = on_progress
        self.extra = extra
        self.port: Ref | None = None
        self.profile: Profile | None = None
        self.line = b""
        self.fields: Fields = ()
        self.extension: Any = None
        self.definition: Mapping[str, Any] | None = None
        """The tool that is called, if its caller knows it."""
        self.may_be_annotated = True
        """Whether a tool of the list that came may have a header; False: surely none has."""
        self.place: Any = None
        """Where its connection has it."""
        self.conversation: Any = None
        """The call it is a part of, where the user's code can run."""
        self.lookup: Lookup | None = None
        """Keeps the result, if it may be kept."""
        self.otherwise: Callable[[Request], object] | None = None
        """What to do when the connection fails before it took the request; None: fail too."""

    def prepare(self, profile: Profile) -> Error | None:
        """Make the line to send on a connection of this *profile*, or say why it is refused.

        Raises:
            TypeError: A value of the params has no form in JSON.
            ValueError: As above, or the params contradict the options.
        """
        refused = refusal(self.method, profile.version)
        if refused is not None:
            return refused.named(self.who)
        self.profile = profile
        params = self.params
        plain = not self.extra and self.on_progress is None and "_meta" not in params
        if plain and isinstance(params, dict):
            self.line = profile.line(self.id, self.method, params)
            if self.extension is None:
                return self._take_head(profile.plain_head(self.method, params))
            return self._prepare_head(profile, params) if profile.has_head else None
        params = build_params(
            params,
            profile.meta,
            progress_token=self.id if self.on_progress is not None else None,
            **self.extra,
        )
        self.line = codec.encode_ascii(jsonrpc.request(self.id, self.method, params)) + b"\n"
        return self._prepare_head(profile, params) if profile.has_head else None

    def is_fit_for(self, profile: Profile) -> bool:
        """Make it ready to be sent on a connection of this *profile*; False: it has failed."""
        if self._state:
            return False
        if self.profile is not profile:
            try:
                refused: Exception | None = self.prepare(profile)
            except (TypeError, ValueError) as error:
                refused = error
            if refused is not None:
                self.try_fail(refused)
                return False
        return True

    def _prepare_head(self, profile: Profile, params: Mapping[str, Any]) -> Error | None:
        return self._take_head(profile.head(self, params))

    def _take_head(self, fields: Fields | Error) -> Error | None:
        if isinstance(fields, Error):
            return fields.again().named(self.who)
        self.fields = fields
        return None

    def __await__(self) -> Generator[Any, Any, Any]:
        profile = self.profile
        if profile is None or not profile.under_way:
            return (yield from super().__await__())
        # Others are under way, so the loop comes round anyway: one turn takes all their requests.
        while not self._state:
            yield from self._suspend()
        return self._result()

    __iter__ = __await__

    def answered(self, response: JSONObject) -> None:
        """Set the result from the server's response."""
        profile = self.profile
        version = None if profile is None else profile.version
        if profile is None or not profile.capabilities:
            outcome = jsonrpc.read_response(response, version)
        else:
            types = jsonrpc.result_types(self.method, profile.capabilities)
            outcome = jsonrpc.read_response(response, version, types)
        self.settle(outcome)

    def settle(self, outcome: JSONObject | InputRequired | Error) -> None:
        """Set what came of it."""
        if isinstance(outcome, Error):
            self.refuse(outcome)
        else:
            if self.lookup is not None:
                self.lookup.keep(outcome)  # before the caller has it, and can change it
            self.try_set(outcome)

    def refuse(self, error: Error, delivery: Delivery | None = None) -> None:
        """Fail with an error of this call's own."""
        self.try_fail(error.again(delivery).named(self.who))

    def progressed(self, params: JSONObject) -> None:
        """Hand over a progress notification."""
        if self.on_progress is not None:
            self.on_progress(params)

    def cancel(self, why: str) -> None:
        """Give the request up: the server is told, if it has it, and a late answer is dropped."""
        if self.try_fail(given_up(self.who)) and self.port is not None:
            self.port.send(Cancel(self, why))

    def _withdrawn(self) -> None:
        self.cancel("the caller waits no longer")

    def _expired(self, timeout: float | None) -> None:
        error = given_up(self.who, timeout)
        if self.try_fail(error) and self.port is not None:
            self.port.send(Cancel(self, "the caller waits no longer"))

    def server_ended(self, reason: ExitReason) -> None:
        """Fail because the connection ended before it took the request; or do otherwise."""
        if self.otherwise is not None and not reason.is_calm:
            self.otherwise(self)
        else:
            self.refuse(ended_because(reason), "never_sent")


@dataclass(frozen=True, slots=True)
class Cancel:
    """Tells the connection that nobody waits for *request* any more."""

    request: Request
    why: str


class GivenUp(RequestTimeout, pykka.Timeout):
    """Raised when the caller stopped waiting: `get(timeout=...)` ran out, or it was cancelled."""


def given_up(who: str | None, timeout: float | None = None) -> GivenUp:
    """The failure of a call nobody waits for any more."""
    after = "" if timeout is None else f" after {timeout:g} s"
    data = None if timeout is None else {"timeoutMs": milliseconds(timeout)}
    return GivenUp(
        -32001, f"the caller stopped waiting{after}", data=data, cause="timeout", who=who
    )


def ended_because(reason: ExitReason) -> Error:
    """The error that tells of a connection that ended with *reason*."""
    if isinstance(reason, ErrorReason) and isinstance(reason.exception, Error):
        return reason.exception
    if isinstance(reason, Shutdown) and isinstance(reason.term, Error):
        return reason.term
    return connection_closed("closed" if reason.is_calm else reason)


class Ready(Future[Profile]):
    """Asks to be told once the connection is settled."""

    __slots__ = ()

    def server_ended(self, reason: ExitReason) -> None:
        """Fail because the connection ended before that."""
        self.try_fail(ended_because(reason).again())
