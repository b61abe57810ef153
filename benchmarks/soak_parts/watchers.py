"""Those who watch: every monitor and every link has to tell of an end exactly once.

None may tell after it was taken back. In tasks of the node, in tasks of another loop, in threads.
"""

from __future__ import annotations

import random
import time
from typing import Any

from soak_parts.ledger import Gate, Ledger
from soak_parts.tree import Field
from supervisors import (
    Down,
    Exit,
    Monitor,
    ReceiveTimeout,
    Ref,
    demonitor,
    link,
    mailbox,
    monitor,
    receive,
    unlink,
)

MOST = 40
"""How many monitors, and how many links, one watcher has at a time."""


class Watcher:
    """One watcher: what it watches, and whether what it is told is right."""

    def __init__(self, field: Field, ledger: Ledger, gate: Gate, name: str, seed: int) -> None:
        self.name = name
        self.until: float | None = None
        """Once set, nothing more is watched; then all has to be told, and nothing twice."""
        self._field = field
        self._ledger = ledger
        self._gate = gate
        self._rng = random.Random(seed)
        self._monitors: dict[Monitor, Ref] = {}
        self._links: dict[Ref, None] = {}
        self._past: dict[Any, str] = {}
        """Monitors and refs that may tell nothing any more, and why."""

    def more(self) -> bool:
        """Whether to go on."""
        return self.until is None or time.monotonic() < self.until

    def step(self) -> None:
        """Watch somebody more, or somebody less."""
        if self.until is not None or not self._gate.is_open:
            return
        rng = self._rng
        match rng.randrange(8):
            case 0 if self._monitors:
                self._demonitor(rng.choice(list(self._monitors)))
            case 1 if self._links:
                self._unlink(rng.choice(list(self._links)))
            case 2 | 3 | 4 if len(self._monitors) < MOST:
                self._monitor(self._field.any_worker(rng))
            case _ if len(self._links) < MOST:
                self._link(self._field.any_worker(rng))

    def _monitor(self, ref: Ref | None) -> None:
        if ref is not None:
            self._monitors[monitor(ref)] = ref
            self._ledger.count("monitors")

    def _demonitor(self, watch: Monitor) -> None:
        flush = self._rng.random() < 0.5
        if demonitor(watch, flush=flush) or flush:
            del self._monitors[watch]
            self._past[watch] = f"demonitored, {flush=}"
            self._ledger.count("monitors taken back")

    def _link(self, ref: Ref | None) -> None:
        if ref is not None and ref not in self._links and ref not in self._past:
            self._links[ref] = None
            link(ref)
            self._ledger.count("links")

    def _unlink(self, ref: Ref) -> None:
        unlink(ref)
        if not any(isinstance(mail, Exit) and mail.process is ref for mail in mailbox()):
            del self._links[ref]
            self._past[ref] = "unlinked"
            self._ledger.count("links taken back")

    def got(self, message: Any) -> None:
        """Check what it was told."""
        match message:
            case Down(watch, ref, _reason):
                if self._monitors.pop(watch, None) is not ref:
                    self._wrong(watch, message)
                self._past[watch] = "told"
            case Exit(ref, _reason):
                if ref in self._links:
                    del self._links[ref]
                else:
                    self._wrong(ref, message)
                self._past[ref] = "told"
            case _:
                self._wrong(None, message)
        if len(self._past) > 400:
            self._past = dict(list(self._past.items())[-200:])

    def _wrong(self, key: Any, message: Any) -> None:
        why = self._past.get(key, "never watched")
        self._ledger.violation("told too much", f"{self.name} got {message!r}: {why}")

    def close(self) -> None:
        """Check that nothing is left untold."""
        for ref in (*self._monitors.values(), *self._links):
            self._ledger.violation("told too little", f"{self.name} heard nothing of {ref}")


async def watch_in_task(watcher: Watcher) -> None:
    """Watch until it is over."""
    while watcher.more():
        watcher.step()
        try:
            watcher.got(await receive(timeout=0.01))
        except ReceiveTimeout:
            continue
    for message in mailbox():
        watcher.got(message)
    watcher.close()


def watch_in_thread(watcher: Watcher) -> None:
    """Watch until it is over."""
    while watcher.more():
        watcher.step()
        try:
            watcher.got(receive(timeout=0.01).get())
        except ReceiveTimeout:
            continue
    for message in mailbox():
        watcher.got(message)
    watcher.close()
