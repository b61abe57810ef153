"""The owner's handle on a stream of events.

Events come as messages `("snodo_subscription", ref, payload)` to the process that opened the
stream, as many as it asked for. Payloads: `("notification", method, params)`, `("dropped", n)`
before the event that follows a gap, `("resubscribed", accepted)`, and `("closed", "complete")` or
`("closed", error)` as the last.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pykka

from snodo_actors.actors.request import ended_because
from snodo_actors.actors.streams import Close, Demand
from snodo_actors.words.checks import positive, seconds
from snodo_actors.words.failures import timed_out
from snodo_actors.words.lost import stream_crashed, stream_ended
from snodo_actors.words.types import JSONObject
from supervisors import Future, Ref, receive, self_, when_down

CLOSE_TIMEOUT = 5.0
"""Seconds `close()` waits at most for the stream's actor."""


class Subscription:
    """A handle on one stream. Iterate over it, plainly or with `async for`, or ask for events."""

    __slots__ = ("_down", "_ended", "accepted", "id", "owner", "ref", "who")

    def __init__(self, who: str, ref: Ref, id: int, accepted: JSONObject, owner: Ref) -> None:
        self.who = who
        self.ref = ref
        """Tells this stream's messages from others'; it is the ref of the stream's actor."""
        self.id = id
        """What the stream is called on the wire."""
        self.accepted = accepted
        """The filter the server agreed to."""
        self.owner = owner
        self._ended = False
        self._down = when_down(ref)

    def __repr__(self) -> str:
        return f"<Subscription {self.id} of {self.who}>"

    def demand(self, count: int = 1) -> None:
        """Let *count* more events come as messages to the owner.

        Raises:
            TypeError: *count* is no whole number.
            ValueError: *count* is less than one.
        """
        self.ref.send(Demand(positive("count", count)))

    def next(self, timeout: float | None = None) -> Future[Any]:
        """Ask for one more event; the future has the next payload.

        After the end it is `("closed", error)` at once. The future fails with `RequestTimeout`
        after *timeout* seconds; the event then comes with the next call.

        Raises:
            RuntimeError: Called by another process than the owner.
        """
        me = self_()
        if me is not self.owner:
            raise RuntimeError(
                f"only its owner, {self.owner}, can ask for the next event of a subscription, "
                f"and this is {me}. Open one here: `client.listen(...)`."
            )
        limit = seconds("timeout", timeout)
        if self._ended:
            return self._over(None)
        self.ref.send(Demand(1))
        return self._take(limit)

    def _take(self, timeout: float | None) -> Future[Any]:
        ref = self.ref

        def is_ours(message: Any) -> bool:
            return isinstance(message, tuple) and len(message) == 3 and message[1] is ref  # pyright: ignore[reportUnknownArgumentType]  # any message may come

        message = receive(is_ours, timeout)
        taken: Future[Any] = _Next(message)

        def came(done: Any) -> None:
            error = done.exception()
            if error is None:
                payload = done.get()[2]
                if payload[0] == "closed":
                    self._ended = True
                taken.try_set(payload)
            elif isinstance(error, pykka.Timeout):
                taken.try_fail(timed_out(timeout or 0.0, delivery="answered").named(self.who))
            else:
                taken.try_fail(error)

        message.add_done_callback(came)

        unread = self.owner.process.normal

        def gone(down: Any) -> None:
            # What the stream's actor sent before it ended may still be on its way to the wait.
            if not message.done() and not any(is_ours(other) for other in tuple(unread)):
                self._ended = True
                reason = down.get()
                why = stream_ended() if reason.is_calm else stream_crashed(ended_because(reason))
                message.try_set(("snodo_subscription", ref, ("closed", why.named(self.who))))

        down = self._down
        message.add_done_callback(lambda _message: down.remove_done_callback(gone))
        down.add_done_callback(gone)
        return taken

    def _over(self, timeout: float | None) -> Future[Any]:
        del timeout
        over: Future[Any] = Future()
        over.set(("closed", stream_ended().named(self.who)))
        return over

    def __iter__(self) -> Iterator[Any]:
        """Every payload to the end, which is the last; stopping early leaves the stream open."""
        while not self._ended:
            yield self.next().get()

    async def __aiter__(self) -> AsyncIterator[Any]:
        """As the plain iteration, in async code."""
        while not self._ended:
            yield await self.next()

    def stream(self) -> Subscription:
        """The stream itself, to iterate over."""
        return self

    def close(self) -> Future[None]:
        """End the stream. No message is sent after it; those that came already stay.

        Harmless when it has ended. The future never fails, and is done within seconds.
        """
        self._ended = True
        closed: Future[None] = Future(self.ref.node)
        if not self.ref.is_alive():
            closed.set(None)
            return closed
        self.ref.send(Close())
        self._down.add_done_callback(lambda _down: closed.try_set(None))
        timer = self.ref.node.after(CLOSE_TIMEOUT, closed.try_set, None)
        closed.add_done_callback(lambda _closed: timer.cancel())
        return closed


class _Next(Future[Any]):
    """The next payload; one nobody waits for any more stays in the mailbox."""

    __slots__ = ("_message",)

    def __init__(self, message: Future[Any]) -> None:
        super().__init__()
        self._message = message

    def _withdrawn(self) -> None:
        self._message._withdrawn()  # noqa: SLF001  # the wait it stands for
        self.try_fail(timed_out(0.0, delivery="answered"))
