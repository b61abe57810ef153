"""The life of one listen stream: opening, open, ending, done.

Knows the acknowledgement, the end and the owner's buffer; knows nothing of the pipe or socket the
stream comes over. Deeds are carried out in order; after `Done` there are no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from typing import Any, Final, TypeAlias

from snodo_actors.machines.buffer import EventBuffer, Reason
from snodo_actors.machines.correlation import subscription_id
from snodo_actors.machines.deadline import Deadline
from snodo_actors.wire.jsonrpc import Outcome
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import (
    ended_before_acknowledging,
    malformed_acknowledgement,
    stream_asked_for_input,
    stream_closed,
)
from snodo_actors.words.types import (
    InputRequired,
    JSONObject,
    Notification,
    Overflow,
    Payload,
    is_object,
)

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


@dataclass(frozen=True, slots=True)
class Opened:
    """Give the caller its handle; the server agreed to the *accepted* filter."""

    accepted: JSONObject


@dataclass(frozen=True, slots=True)
class Refused:
    """Fail the caller: there is no stream."""

    error: Error


@dataclass(slots=True)  # frozen takes twice the time, and each event makes one
class Deliver:
    """Send the owner these *payloads*, in order."""

    payloads: Sequence[Payload]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Tell the server that nobody listens any more; it has not ended the stream itself."""


@dataclass(frozen=True, slots=True)
class Done:
    """Forget the stream."""


Deed: TypeAlias = Opened | Refused | Deliver | Cancel | Done


class _State(Enum):
    OPENING = auto()
    REOPENING = auto()
    OPEN = auto()
    ENDING = auto()
    DONE = auto()


_OPEN, _DONE = _State.OPEN, _State.DONE  # an enumeration is slow to ask for its members


class Subscription:
    """The stream of the listen request *id*, from the request to the last message.

    *deadline* bounds the wait for the acknowledgement. *keep_early*: events that overtake it are
    kept for the owner; else they are dropped. What names another stream is never for this one.
    """

    __slots__ = ("_buffer", "_deadline", "_id", "_state", "keeps_early")

    def __init__(
        self,
        id: int,
        *,
        max_buffer: int,
        overflow: Overflow,
        deadline: Deadline,
        keep_early: bool,
    ) -> None:
        self._id = id
        self._buffer: EventBuffer[Notification] = EventBuffer(max_buffer, overflow)
        self._deadline = deadline
        self.keeps_early = keep_early
        self._state = _State.OPENING

    def use_id(self, id: int) -> None:
        """Take note of the *id* the listen request is sent with."""
        self._id = id

    def reopen(self) -> None:
        """Wait for an acknowledgement once more: the connection was lost, and will be back.

        What is queued and what the owner wants stay as they are.
        """
        if self._state is _State.OPEN:
            self._state = _State.REOPENING

    def notified(self, method: str, params: JSONObject) -> list[Deed]:
        """Take a notification of the stream: the acknowledgement, or an event."""
        named = subscription_id(params)
        if named is not None and (type(named) is not int or named != self._id):
            return []
        if method == ACKNOWLEDGED:
            return self.acknowledged(params, params)
        is_open = self._state is _OPEN
        if is_open or (self.keeps_early and self._state in (_State.OPENING, _State.REOPENING)):
            return self._deliver(self._buffer.event(("notification", method, params)))
        return []

    def acknowledged(self, params: Any, cause: Any) -> list[Deed]:
        """Take the acknowledgement; *cause* explains one without a filter."""
        if self._state not in (_State.OPENING, _State.REOPENING):
            return []
        accepted = params.get("notifications") if is_object(params) else None
        if not is_object(accepted) and self._state is _State.REOPENING:
            return [Cancel(), *self._end(malformed_acknowledgement(cause))]
        if not is_object(accepted):
            return self._refuse(malformed_acknowledgement(cause), Cancel())
        self._state = _State.OPEN
        return [Opened(accepted)]

    def answered(self, outcome: Outcome, response: Any) -> list[Deed]:
        """Take the *response* that ends the stream, and its *outcome*."""
        if isinstance(outcome, Error):
            return self.lost(outcome)
        if self._state is _State.OPENING:
            return self._refuse(ended_before_acknowledging(response))
        if isinstance(outcome, InputRequired):
            return self._end(stream_asked_for_input(outcome.result))
        return self._end("complete")

    def cancelled(self) -> list[Deed]:
        """Take the server's own cancellation, which ends the stream as a response does."""
        if self._state is _State.OPENING:
            return self._refuse(ended_before_acknowledging())
        return self._end("complete")

    def disconnected(self) -> list[Deed]:
        """Take the end of a connection that was the stream's own, without a response."""
        opening = self._state is _State.OPENING
        return self.lost(ended_before_acknowledging() if opening else stream_closed())

    def lost(self, error: Error) -> list[Deed]:
        """Take the end of the connection: what is queued still reaches the owner, then *error*."""
        return self._refuse(error) if self._state is _State.OPENING else self._end(error)

    def aborted(self, error: Error) -> list[Deed]:
        """Take our own end of the connection: what is queued is thrown away."""
        if self._state is _State.OPENING:
            return self._refuse(error)
        return self._deliver(self._buffer.abort(error))

    def closed(self) -> list[Deed]:
        """Take the owner's wish to end it, or the owner's own end: nothing more is sent to it."""
        listening = self._state in (_State.OPENING, _State.REOPENING, _State.OPEN)
        over = self._state is _State.DONE
        self._state = _State.DONE
        if over:
            return []
        return [Cancel(), Done()] if listening else [Done()]

    def demanded(self, count: object) -> list[Deed]:
        """Take the owner's wish for *count* more events."""
        if self._state is _State.OPENING:
            return []
        return self._deliver(self._buffer.demand(count))

    def due(self, now: float) -> list[Deed]:
        """Give up if no acknowledgement has come by the deadline."""
        if self._state is not _State.OPENING or not self._deadline.has_passed(now):
            return []
        return self._refuse(self._deadline.error(), Cancel())

    def next_at(self) -> float | None:
        """Tell when `due` has something to do."""
        at = self._deadline.at if self._state is _State.OPENING else inf
        return None if at == inf else at

    @property
    def done(self) -> bool:
        """True after `Done`."""
        return self._state is _State.DONE

    def _refuse(self, error: Error, *deeds: Deed) -> list[Deed]:
        self._state = _State.DONE
        return [Refused(error), *deeds, Done()]

    def _end(self, reason: Reason) -> list[Deed]:
        if self._state in (_State.OPEN, _State.REOPENING):
            self._state = _State.ENDING
        return self._deliver(self._buffer.close(reason))

    def _deliver(self, payloads: Sequence[Payload]) -> list[Deed]:
        if self._state is _DONE or not payloads:
            return []
        if not self._buffer.ended:
            return [Deliver(payloads)]
        self._state = _State.DONE
        return [Deliver(payloads), Done()]
