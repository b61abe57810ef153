"""The books of one HTTP connection's pool: which exchange is with which worker, and which waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from snodo_actors.actors.http_exchange import Exchange
from snodo_actors.actors.http_messages import Detached, Family, Finished
from snodo_actors.actors.http_worker import OUTSIDE, HttpWorker
from snodo_actors.machines import pool as books
from snodo_actors.words.errors import Error
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.lost import connection_closed, exchange_failed
from supervisors import SHUTDOWN, CallExit, Future, GenServer, Monitor, Ref, TimerHandle, monitor
from supervisors import exit as send_exit

MAX_WAITING = 100_000
"""Calls that may wait for a connection."""


TOO_LATE = 0.002
"""Seconds in which nobody answers: a call that has no more is not begun."""


@dataclass(frozen=True, slots=True)
class Started:
    """The worker of *slot* was started for the *exchange*, or was not."""

    slot: int
    exchange: Exchange
    outcome: Future[Any]


class Due:
    """The timer rang."""

    __slots__ = ()


DUE = Due()


class BookKeeper(GenServer):
    """The part of the port that keeps the books."""

    _family: Family
    _pool: books.Pool[Exchange]
    _workers: dict[int, Ref]
    _watches: dict[Monitor, int]
    _unwanted: set[int]
    _streaming: dict[int, Exchange]
    """Exchanges whose answers are streams, by the slots they had."""
    _timer: TimerHandle | None
    _timer_at: float
    """When it rings: never later than something is due, at times sooner."""
    _clock: Callable[[], float]
    """That of the node, at hand."""

    def _open_books(self, family: Family) -> None:
        http: HttpOptions = family.http
        self._family = family
        self._clock = self.node.now
        self._pool = books.Pool(
            size=http.pool_size,
            idle_timeout=http.pool_idle_timeout,
            max_requests=http.pool_max_requests,
            max_waiting=MAX_WAITING,
        )
        self._timer, self._timer_at = None, inf
        self._workers, self._watches = {}, {}
        self._unwanted, self._streaming = set(), {}

    def _finished(self, finished: Finished) -> None:
        clock = self._clock
        now = clock()
        deeds = self._pool.finished(finished.slot, reusable=finished.reusable, now=now)
        if deeds:
            self._carry_out(deeds)
        else:  # the connection is idle now
            self._look_at(now + self._pool.idle_timeout)

    def _detached(self, detached: Detached) -> None:
        exchange = detached.exchange
        self._streaming[exchange.slot] = exchange
        self._carry_out(self._pool.detached(exchange.slot))

    def _due(self) -> None:
        self._timer, self._timer_at = None, inf
        self._carry_out(self._pool.due(self.node.now()))
        self._look_at(self._pool.next_at())

    def _give_up(self, exchange: Exchange) -> None:
        """Take an exchange that nobody waits for away from its worker, or out of the queue."""
        if self._streaming.get(exchange.slot) is exchange:
            del self._streaming[exchange.slot]
            if exchange.worker is not None:
                send_exit(exchange.worker, SHUTDOWN)
        else:
            self._carry_out(self._pool.cancelled(exchange))

    def _worker_ended(self, slot: int, reason: Any) -> None:
        self._workers.pop(slot, None)
        exchange = self._streaming.pop(slot, None)
        if exchange is not None:
            exchange.refuse(exchange_failed(reason))
        else:
            # Its connection may have ended just before it was given a call: that gets another one.
            call = self._pool.busy_with(slot)
            untouched = call is not None and reason.is_calm and not call.sent and not call.done()
            self._carry_out(self._pool.down(slot, untouched=untouched))

    def _refuse_all(self, error: Error) -> None:
        """Refuse all that waits and all that is under way."""
        for exchange in [*self._streaming.values(), *self._pool.waiting(), *self._pool.busy()]:
            exchange.refuse(error, None if exchange.sent else "never_sent")
            self._give_up(exchange)

    def _close_books(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._pool.close()

    def _carry_out(self, deeds: list[books.Deed[Exchange]]) -> None:
        for deed in deeds:
            match deed:
                case books.Hand():
                    call = deed.call
                    call.slot = slot = deed.slot
                    self._workers[slot].send(call)
                case books.Open(slot, call):
                    call.slot = slot
                    if call.deadline.left(self.node.now()) < TOO_LATE:
                        self._too_late(slot, call)
                    else:
                        self._start_worker(slot, call)
                case books.Stop(slot):
                    worker = self._workers.pop(slot, None)
                    if worker is None:
                        self._unwanted.add(slot)
                    else:
                        send_exit(worker, SHUTDOWN)
                case books.Refuse(call, why):
                    call.refuse(_refusal(call, why), None if call.sent else "never_sent")

    def _look_at(self, at: float | None) -> None:
        """Look at what is due *at* that time, unless it is looked at before: then again."""
        if at is not None and at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self.node.after(at - self.node.now(), self.ref.send, DUE)

    def _too_late(self, slot: int, call: Exchange) -> None:
        """Refuse a call whose turn comes as its time ends; the next may have its place."""
        call.refuse(call.deadline.error(), "never_sent")
        deeds = self._pool.cancelled(call)
        self._carry_out([deed for deed in deeds if deed != books.Stop(slot)])

    def _start_worker(self, slot: int, first: Exchange) -> None:
        workers = self._family.workers
        assert workers is not None
        spec = HttpWorker.child_spec(self._family, slot, first, restart="temporary")
        outcome = workers.start_child(spec)
        outcome.add_done_callback(lambda started: self.ref.send(Started(slot, first, started)))

    def _started(self, started: Started) -> None:
        slot, outcome = started.slot, started.outcome
        if slot == OUTSIDE:
            return
        error = outcome.exception()
        if error is not None:
            self._unwanted.discard(slot)
            down = isinstance(error, CallExit)  # who starts them is gone; the port is about to go
            failed = connection_closed("down") if down else exchange_failed(error)
            started.exchange.refuse(failed, "never_sent")
            self._carry_out(self._pool.down(slot))
            return
        worker: Ref = outcome.get()
        if slot in self._unwanted:
            self._unwanted.remove(slot)
            send_exit(worker, SHUTDOWN)
            return
        self._workers[slot] = worker
        self._watches[monitor(worker)] = slot

    def _enqueue(self, exchange: Exchange) -> None:
        if exchange.outside:
            self._start_worker(OUTSIDE, exchange)
        elif not exchange.done():
            at, clock = exchange.deadline.at, self._clock
            deeds = self._pool.request(exchange, at, clock())
            if deeds:
                self._carry_out(deeds)
            else:  # it waits now
                self._look_at(at)


def _refusal(call: Exchange, why: books.Why) -> Error:
    if why == "timeout":
        return call.deadline.error().again("never_sent")
    if why == "worker_down":
        return exchange_failed("worker_down")
    if why == "full":
        return connection_closed(("max_pending", MAX_WAITING), delivery="never_sent")
    return connection_closed("closed", delivery="never_sent")
