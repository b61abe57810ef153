"""Which request, stream or task a message from the server belongs to.

Knows ids, waiters and deadlines; knows nothing of bytes, pipes or actors. It stands on the way of
every call, so an answer costs two dictionary look-ups and makes nothing new. What matches nothing
is dropped: late answers, foreign ids, and ids of another type (`1`, `1.0`, `"1"` and `true` are
four different ids).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from snodo_actors.machines.deadline import Deadline
from snodo_actors.machines.limits import no_room
from snodo_actors.machines.schedule import Schedule
from snodo_actors.wire.meta import SUBSCRIPTION_ID
from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject, is_object

W = TypeVar("W")
S = TypeVar("S")

_ABSENT: Final = object()


@dataclass(slots=True, eq=False)
class Pending(Generic[W]):
    """A request without an answer yet; from `dispatch`: the message is its answer."""

    id: int
    waiter: W
    deadline: Deadline
    progress: bool


@dataclass(frozen=True, slots=True)
class Progressed(Generic[W]):
    """Tell *waiter* of the progress of its request."""

    waiter: W
    params: JSONObject


@dataclass(frozen=True, slots=True)
class StreamAnswered(Generic[S]):
    """The message is the response that ends *stream*, whose id is free now."""

    stream: S


@dataclass(frozen=True, slots=True)
class StreamCancelled(Generic[S]):
    """The server ended *stream* by a cancellation; its id is free now."""

    stream: S


@dataclass(frozen=True, slots=True)
class StreamNotified(Generic[S]):
    """Give the notification, an acknowledgement or an event, to *stream*."""

    stream: S
    method: str
    params: JSONObject


@dataclass(frozen=True, slots=True)
class ServerAsked:
    """The message is a request of the server, which wants an answer."""

    message: JSONObject


@dataclass(frozen=True, slots=True)
class ServerCancelled:
    """The server wants no answer any more to its request *id*."""

    id: Any


Deed: TypeAlias = (
    Pending[W]
    | Progressed[W]
    | StreamAnswered[S]
    | StreamCancelled[S]
    | StreamNotified[S]
    | ServerAsked
    | ServerCancelled
)


def subscription_id(params: JSONObject) -> Any:
    """Read which stream the params of a notification name; None: none."""
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID) if is_object(meta) else None


class Correlation(Generic[W, S]):
    """At most *limit* requests and streams of one connection; its user never uses an id twice."""

    __slots__ = ("_closed", "_due", "_limit", "_pending", "_streams")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pending: dict[int, Pending[W]] = {}
        self._streams: dict[int, S] = {}
        self._due: Schedule[int] = Schedule()
        self._closed: Error | None = None

    def open(
        self, id: int, waiter: W, deadline: Deadline, *, progress: bool = False
    ) -> Error | None:
        """Let *waiter* wait for the answer to *id*, or say why it cannot.

        *progress*: it is to be told of progress, whose token is the id.
        """
        if self._closed is not None or len(self) >= self._limit:
            return self._refusal()
        self._pending[id] = Pending(id, waiter, deadline, progress)
        self._due.set(id, deadline.at)
        return None

    def open_stream(self, id: int, stream: S) -> Error | None:
        """Let *stream* have what the server sends for *id*, or say why it cannot."""
        if self._closed is not None or len(self) >= self._limit:
            return self._refusal()
        self._streams[id] = stream
        return None

    def dispatch(self, message: JSONObject, now: float) -> Deed[W, S] | None:
        """Find who *message* is for; None: nobody."""
        id = message.get("id", _ABSENT)
        method = message.get("method")
        if isinstance(method, str):
            if id is not _ABSENT:
                return ServerAsked(message)
            params = message.get("params")
            return self._notified(method, params, now) if is_object(params) else None
        if type(id) is not int:
            return None
        if id in self._streams:
            return StreamAnswered(self._streams.pop(id))
        return self.close(id)

    def close(self, id: int) -> Pending[W] | None:
        """Stop waiting for the answer to *id*, and return who waited."""
        self._due.drop(id)
        return self._pending.pop(id, None)

    def close_stream(self, id: int) -> S | None:
        """Stop listening for *id*, and return who listened."""
        return self._streams.pop(id, None)

    def take_due(self, now: float) -> list[Pending[W]]:
        """Stop waiting for what is overdue at *now*, earliest first."""
        return [self._pending.pop(id) for id in self._due.take_due(now)]

    def next_at(self) -> float | None:
        """Tell when `take_due` has something to take."""
        return self._due.next_at()

    def close_all(self, reason: Error) -> tuple[list[Pending[W]], list[S]]:
        """End it all: return who waited and who listened; whoever comes later is refused.

        The first *reason* is the one all later requests are told.
        """
        if self._closed is None:
            self._closed = reason
        waiting, listening = list(self._pending.values()), list(self._streams.values())
        self._pending.clear()
        self._streams.clear()
        self._due.clear()
        return waiting, listening

    @property
    def closed(self) -> Error | None:
        """Why it all ended, once it has."""
        return self._closed

    def __len__(self) -> int:
        return len(self._pending) + len(self._streams)

    def _refusal(self) -> Error:
        if self._closed is not None:
            return self._closed.again("never_sent")
        return no_room(self._limit)

    def _notified(self, method: str, params: JSONObject, now: float) -> Deed[W, S] | None:
        stream_id = subscription_id(params)
        if type(stream_id) is int and stream_id in self._streams:
            return StreamNotified(self._streams[stream_id], method, params)
        if method == "notifications/progress":
            return self._progressed(params, now)
        if method == "notifications/cancelled":
            return self._cancelled(params.get("requestId"))
        return None

    def _progressed(self, params: JSONObject, now: float) -> Progressed[W] | None:
        token = params.get("progressToken")
        pending = self._pending.get(token) if type(token) is int else None
        if pending is None or not pending.progress:
            return None
        if pending.deadline.progressed(now):
            self._due.set(pending.id, pending.deadline.at)
        return Progressed(pending.waiter, params)

    def _cancelled(self, id: Any) -> StreamCancelled[S] | ServerCancelled:
        if type(id) is int and id in self._streams:
            return StreamCancelled(self._streams.pop(id))
        return ServerCancelled(id)
