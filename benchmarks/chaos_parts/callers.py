"""Those who call, and what became of each call."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import Any, NamedTuple

from soak_parts.ledger import Ledger

import snodo_actors as snodo

SLACK = 1.0
"""Seconds a call may end after its time on a busy machine."""
STUCK = 15.0
"""Seconds after its time when a call is taken to wait for ever."""

numbers = itertools.count(1)


class Outcome(NamedTuple):
    """What the caller of one call was told."""

    kind: str
    """`answered` with its text, `cancelled` by the caller, or a delivery, of an error."""
    error: str = ""


class Callers:
    """All of them, and what they were told."""

    def __init__(self, client: Any, ledger: Ledger, seed: int) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.is_over = False
        self._client = client
        self._ledger = ledger
        self._dice = random.Random(seed)

    async def caller(self) -> None:
        """Call until it is over."""
        while not self.is_over:
            await self.call()
            if self._dice.random() < 0.2:
                await asyncio.sleep(self._dice.uniform(0.0, 0.05))

    async def call(self) -> None:
        """Call once, and take note of what comes of it."""
        token = f"call-{next(numbers)}"
        timeout = self._dice.choice([0.2, 0.5, 1.0, 2.0])
        patience = self._dice.uniform(0.001, 0.1) if self._dice.random() < 0.05 else None
        began = time.monotonic()
        try:
            async with asyncio.timeout(patience or timeout + STUCK):
                outcome = await self._outcome(token, timeout)
        except TimeoutError:
            outcome = Outcome("cancelled")
            if patience is None:
                self._ledger.violation("stuck", f"{token} with a timeout of {timeout} s")
        took = time.monotonic() - began
        if took > timeout + SLACK:
            self._ledger.violation("late", f"{token}: {took:.2f} s of {timeout} s, {outcome}")
        self.outcomes[token] = outcome
        self._ledger.count(outcome.kind if not outcome.error else f"error: {outcome.error}")

    async def _outcome(self, token: str, timeout: float) -> Outcome:
        try:
            result = await self._client.call_tool("echo", {"text": token}, timeout=timeout)
        except snodo.Error as error:
            if (
                error.data is not None
                and str(error.data).startswith("call-")
                and error.data != token
            ):
                self._ledger.violation("wrong answer", f"{token}: {error!r}")
            return Outcome(error.delivery, f"{error.delivery}, {error.code}: {error.message[:50]}")
        if result["content"][0]["text"] != token:
            self._ledger.violation("wrong answer", f"{token}: {result}")
        return Outcome("answered")
