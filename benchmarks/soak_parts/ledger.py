"""What happened, counted, and what must never happen, written down. For any thread."""

from __future__ import annotations

import threading
import time
from collections import Counter


class Ledger:
    """Counts by name, and violations in words."""

    KEPT = 50
    """Violations of one kind whose words are kept; the others are only counted."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.words: list[str] = []
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def count(self, what: str, n: int = 1) -> None:
        """Count *what*."""
        with self._lock:
            self.counts[what] += n

    def violation(self, kind: str, text: str) -> None:
        """Write down that something happened that must never happen."""
        with self._lock:
            self.violations[kind] += 1
            if self.violations[kind] <= self.KEPT:
                self.words.append(f"at {self.seconds:.1f} s: {kind}: {text}")

    @property
    def seconds(self) -> float:
        """Seconds since it was opened."""
        return time.monotonic() - self._began


class Gate:
    """Lets everybody work, wait, or go home."""

    def __init__(self) -> None:
        self.is_open = True
        self.is_over = False

    def wait_time(self) -> float | None:
        """None to go home, 0 to work, else the seconds after which to look again."""
        if self.is_over:
            return None
        return 0.0 if self.is_open else 0.02


class Desk:
    """What one caller is doing, so that one who waits for ever is seen."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.doing = ""
        self.since = time.monotonic()

    def begin(self, doing: str) -> None:
        """Say what is being done from now on; nothing in particular if empty."""
        self.doing, self.since = doing, time.monotonic()

    def stuck(self, patience: float) -> str | None:
        """What has been going on for longer than *patience* seconds, if anything."""
        seconds = time.monotonic() - self.since
        return (
            f"{self.name}: {self.doing} for {seconds:.0f} s"
            if self.doing and seconds > patience
            else None
        )
