"""Those who break: crashes, kills, exits, stops, suspends, at random, all over the tree."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import anyio
import pykka

from soak_parts.callers import EXPECTED
from soak_parts.ledger import Desk, Gate, Ledger
from soak_parts.tree import POOLS_CHILDREN, Field, pool_child
from soak_parts.workers import Threaded
from supervisors import (
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    DynamicSupervisorRef,
    Future,
    MailboxFull,
    Ref,
    StartError,
    SupervisorRef,
    cancel_timer,
    exit,
    get_state,
    resume,
    send_after,
    stop,
    suspend,
    whereis,
)

REASONS = ("kill", "kill", "kill", "tired", "shutdown", "normal")
REFUSED = (*EXPECTED, ChildNotFound, ChildRunning, ChildRestarting, StartError)
Deed = Future[Any] | None


class Trouble:
    """One who breaks things: what next, and that what was suspended is resumed."""

    def __init__(self, field: Field, ledger: Ledger, gate: Gate, name: str, seed: int) -> None:
        self.desk = Desk(name)
        self.gate = gate
        self._field = field
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._suspended: list[tuple[float, Ref]] = []
        deeds: dict[Callable[[], Deed], int] = {
            self._exit_worker: 40,
            self._cast_crash: 20,
            self._stop_worker: 8,
            self._link_two: 8,
            self._suspend: 8,
            self._look: 8,
            self._send_later: 8,
            self._grow: 30,
            self._shrink: 8,
            self._terminate_child: 8,
            self._restart_child: 12,
            self._exit_thread: 2,
            self._exit_team: 2,
            self._exit_region: 0,
        }
        self._deeds = [deed for deed, weight in deeds.items() for _ in range(weight)]

    def act(self) -> Deed:
        """Do something; the future of what it waits for, if it waits."""
        self.resume_all(time.monotonic())
        deed = self._exit_region if self._rng.random() < 0.0005 else self._rng.choice(self._deeds)
        self.desk.begin(deed.__name__)
        self._ledger.count(f"trouble: {deed.__name__.strip('_').replace('_', ' ')}")
        try:
            return deed()
        except REFUSED:
            return None

    def resume_all(self, now: float | None = None) -> None:
        """Resume what has been suspended long enough; without *now*, all."""
        while self._suspended and (now is None or self._suspended[0][0] < now):
            _, ref = self._suspended.pop(0)
            self._resume(ref)

    def _resume(self, ref: Ref) -> None:
        def resumed(done: Future[Any]) -> None:
            error = done.exception()
            if error is not None and ref.is_alive():
                self._ledger.count(f"resumed again after {type(error).__name__}")
                self._resume(ref)

        try:
            resume(ref).add_done_callback(resumed)
        except MailboxFull:
            self._ledger.violation("cannot resume", f"{ref}: its mailbox is full")
            exit(ref, "kill")

    def failed(self, error: BaseException) -> None:
        """Check the failure of a deed."""
        if not isinstance(error, REFUSED):
            self._ledger.violation("foreign error", f"{self.desk.doing} failed: {error!r}")

    # ---- deeds

    def _worker(self) -> Ref | None:
        return self._field.any_worker(self._rng)

    def _exit_worker(self) -> Deed:
        if (ref := self._worker()) is not None:
            exit(ref, self._rng.choice(REASONS))
        return None

    def _cast_crash(self) -> Deed:
        if (ref := self._worker()) is not None:
            ref.cast(self._rng.choice(("crash", "exit", ("stop", "tired"), ("stop", "normal"))))
        return None

    def _stop_worker(self) -> Deed:
        ref = self._worker()
        return stop(ref, self._rng.choice(("normal", "tired")), 1.0) if ref is not None else None

    def _link_two(self) -> Deed:
        one, other = self._worker(), self._worker()
        if one is not None and other is not None:
            one.cast(("link", other))
        return None

    def _suspend(self) -> Deed:
        if (ref := self._worker()) is None:
            return None
        self._suspended.append((time.monotonic() + 0.1 + self._rng.random() * 0.2, ref))
        return suspend(ref)

    def _look(self) -> Deed:
        ref = self._worker()
        return get_state(ref, 1.0) if ref is not None else None

    def _send_later(self) -> Deed:
        if (ref := self._worker()) is not None:
            timer = send_after(self._rng.random() * 0.05, ref, "crash")
            if self._rng.random() < 0.5:
                cancel_timer(timer)
        return None

    def _grow(self) -> Deed:
        pool = self._rng.choice(self._field.pools)
        supervisor = whereis(pool)
        if not isinstance(supervisor, DynamicSupervisorRef):
            return None
        if len(self._field.members(pool)) >= POOLS_CHILDREN:
            return supervisor.count_children()
        return supervisor.start_child(pool_child(pool, self._rng))

    def _shrink(self) -> Deed:
        pool = self._rng.choice(self._field.pools)
        supervisor, members = whereis(pool), self._field.members(pool)
        if not isinstance(supervisor, DynamicSupervisorRef) or not members:
            return None
        return supervisor.terminate_child(self._rng.choice(members))

    def _team(self) -> tuple[SupervisorRef | None, str]:
        team = self._rng.choice(list(self._field.teams))
        supervisor = whereis(team)
        name = self._rng.choice(self._field.teams[team])
        return (supervisor if isinstance(supervisor, SupervisorRef) else None), name

    def _terminate_child(self) -> Deed:
        supervisor, name = self._team()
        return supervisor.terminate_child(name) if supervisor is not None else None

    def _restart_child(self) -> Deed:
        supervisor, name = self._team()
        return supervisor.restart_child(name) if supervisor is not None else None

    def _exit_thread(self) -> Deed:
        threads = pykka.ActorRegistry.get_by_class(Threaded)
        if threads:
            ref = self._rng.choice(threads)
            if self._rng.random() < 0.5:
                ref.tell("crash")
            else:
                exit(ref, "tired")
        return None

    def _exit_team(self) -> Deed:
        team = whereis(self._rng.choice([*self._field.teams, *self._field.pools]))
        if team is not None:
            exit(team, self._rng.choice(REASONS))
        return None

    def _exit_region(self) -> Deed:
        region = whereis(self._rng.choice(self._field.regions))
        if region is not None:
            exit(region, self._rng.choice(("kill", "shutdown")))
        return None


async def break_in_task(trouble: Trouble, pause: float) -> None:
    """Break things until it is over."""
    while (wait := trouble.gate.wait_time()) is not None:
        await anyio.sleep(wait or pause)
        if wait:
            trouble.resume_all()
            continue
        future = trouble.act()
        if future is not None:
            try:
                await future
            except Exception as error:  # noqa: BLE001  # which ones are right is what is checked
                trouble.failed(error)
        trouble.desk.begin("")
    trouble.resume_all()


def break_in_thread(trouble: Trouble, pause: float) -> None:
    """Break things until it is over."""
    while (wait := trouble.gate.wait_time()) is not None:
        time.sleep(wait or pause)
        if wait:
            trouble.resume_all()
            continue
        future = trouble.act()
        if future is not None:
            try:
                future.get()
            except Exception as error:  # noqa: BLE001  # which ones are right is what is checked
                trouble.failed(error)
        trouble.desk.begin("")
    trouble.resume_all()
