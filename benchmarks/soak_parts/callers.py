"""Those who ask: in tasks of the node, in tasks of another loop, in threads.

Every request has to be answered with what belongs to it, or to fail with an error of ours.
"""

from __future__ import annotations

import random
import time
from typing import Any

import anyio
import pykka

from soak_parts.ledger import Desk, Gate, Ledger
from soak_parts.tree import Field
from soak_parts.workers import Crash
from supervisors import (
    ActorRef,
    CallExit,
    Future,
    MailboxFull,
    NoSuchName,
    ProcessDead,
    Ref,
    call,
    send,
)

EXPECTED = (CallExit, ProcessDead, MailboxFull, NoSuchName, Crash, pykka.Timeout)
"""How a request may fail: the server ended, was not there, was full, or took too long."""


class Caller:
    """One caller: what it asks next, and whether the answer is right."""

    def __init__(self, field: Field, ledger: Ledger, gate: Gate, name: str, seed: int) -> None:
        self.desk = Desk(name)
        self.gate = gate
        self._field = field
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._n = 0

    def pause(self) -> float:
        """Seconds until the next request."""
        return self._rng.choice((0.0, 0.0, 0.001, 0.005))

    def cancels(self) -> bool:
        """Whether to lose patience with the next request."""
        return self._rng.random() < 0.05

    def begin(self) -> tuple[str, int, Future[Any] | None]:
        """Send something: what it was, its number, and the future of its answer if it has one."""
        rng, self._n = self._rng, self._n + 1
        ref, n = self._field.any_worker(rng), self._n
        if ref is None:
            return "nothing", n, None
        how = rng.choice(("call", "call", "call", "name", "ask", "ask", "send", "cast"))
        request = self._request(ref, n)
        self.desk.begin(f"{how} {request} of {ref}")
        try:
            return how, n, self._send(how, ref, request)
        except EXPECTED as error:
            self._ledger.count(f"refused at once: {type(error).__name__}")
            return how, n, None

    def _request(self, ref: Ref, n: int) -> Any:
        rng = self._rng
        match rng.choice(
            ("echo",) * 12 + ("slow", "slow", "later", "never", "forward", "crash", "stop")
        ):
            case "slow" | "later" as kind:
                return kind, rng.random() * 0.02, n
            case "forward":
                return "forward", self._field.any_worker(rng) or ref, n
            case "stop":
                return "stop", rng.choice(("normal", "shutdown", "tired")), n
            case kind:
                return kind, n

    def _send(self, how: str, ref: Ref, request: Any) -> Future[Any] | None:
        rng = self._rng
        answer: Future[Any] | None = None
        match how:
            case "ask" if isinstance(ref, ActorRef) and request[0] != "never":
                answer = ref.ask(request, block=False)
            case "name" if ref.name is not None:
                answer = call(ref.name, request, 0.5)
            case "send":
                send(ref, "a word")
            case "cast":
                ref.cast(rng.choice(("hello", "hello", "hello", "crash", "exit", "child")))
            case _:
                answer = ref.call(request, rng.choice((0.002, 0.05, 0.5, 0.5)))
        return answer

    def answered(self, how: str, n: int, value: Any) -> None:
        """Check an answer."""
        self._ledger.count(f"{how}: answered")
        if value != ("re", n):
            self._ledger.violation("wrong answer", f"{self.desk.doing} gave {value!r}")

    def failed(self, how: str, error: BaseException) -> None:
        """Check a failure."""
        if isinstance(error, EXPECTED):
            self._ledger.count(f"{how}: {type(error).__name__}")
        else:
            self._ledger.violation("foreign error", f"{self.desk.doing} failed: {error!r}")


async def ask_in_task(caller: Caller) -> None:
    """Ask until it is over."""
    while (wait := caller.gate.wait_time()) is not None:
        await anyio.sleep(wait or caller.pause())
        if wait:
            continue
        how, n, answer = caller.begin()
        if answer is not None:
            with anyio.move_on_after(0.003 if caller.cancels() else 1000.0):
                try:
                    caller.answered(how, n, await answer)
                except Exception as error:  # noqa: BLE001  # which ones are right is what is checked
                    caller.failed(how, error)
        caller.desk.begin("")


def ask_in_thread(caller: Caller) -> None:
    """Ask until it is over."""
    while (wait := caller.gate.wait_time()) is not None:
        time.sleep(wait or caller.pause())
        if wait:
            continue
        how, n, answer = caller.begin()
        if answer is not None:
            try:
                caller.answered(how, n, answer.get(timeout=0.003 if caller.cancels() else None))
            except Exception as error:  # noqa: BLE001  # which ones are right is what is checked
                caller.failed(how, error)
        caller.desk.begin("")
