"""Those who listen: each holds one stream, and opens another when that is over."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from soak_parts.ledger import Ledger

import snodo_actors as snodo


class Listeners:
    """All of them."""

    def __init__(self, client: Any, ledger: Ledger, seed: int) -> None:
        self.is_over = False
        self.heard: dict[int, int] = {}
        self._client = client
        self._ledger = ledger
        self._dice = random.Random(seed)

    async def listener(self, number: int) -> None:
        """Listen until it is over."""
        while not self.is_over:
            try:
                stream = await self._client.listen(
                    {"resourceSubscriptions": ["test://e"]}, timeout=5
                )
            except snodo.Error as error:
                self._ledger.count(f"no stream: {error.code} {error.message[:50]}")
                await asyncio.sleep(self._dice.uniform(0.05, 0.3))
                continue
            try:
                await self._read(number, stream)
            finally:
                await stream.close()

    async def _read(self, number: int, stream: Any) -> None:
        last = 0
        while not self.is_over:
            try:
                payload = await stream.next(timeout=0.5)
            except snodo.RequestTimeout:
                continue
            self._ledger.count(f"stream: {payload[0]}")
            if payload[0] == "closed":
                return
            if payload[0] == "notification":
                self.heard[number] = self.heard.get(number, 0) + 1
                event = int(payload[2]["uri"].rpartition("/")[2])
                if event <= last:
                    self._ledger.violation("order", f"event {event} after {last}")
                last = event
            else:
                last = 0  # the server may be another one, which counts anew
