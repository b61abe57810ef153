"""What happened, in order and with its time.

Knows when nothing happens any more; knows nothing of what the events mean.
"""

from __future__ import annotations

import time
from typing import Any, Final

import anyio

from .scenario import Event

QUIET_SECONDS: Final = 0.040
_LOOK_EVERY: Final = 0.004
_LOOKS: Final = 8
"""So many looks in a row must find silence: a stalled machine is not a silent one."""


class Journal:
    """The events of one run."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._last = self._began
        self._open = True
        self.events: list[Event] = []

    def log(self, ev: str, **fields: Any) -> None:
        """Write down an event, unless the run is over."""
        if not self._open:
            return
        self._last = time.monotonic()
        self.events.append({"t": (self._last - self._began) * 1000.0, "ev": ev, **fields})

    @property
    def is_open(self) -> bool:
        """Whether the run still goes on."""
        return self._open

    def close(self) -> None:
        """Write nothing down from now on."""
        self._open = False

    async def settle(self) -> None:
        """Wait until nothing was written for 40 ms."""
        since, looks = time.monotonic(), 0
        while True:
            await anyio.sleep(_LOOK_EVERY)
            if self._last > since:
                since, looks = self._last, 0
            looks += 1
            if looks >= _LOOKS and time.monotonic() - since >= QUIET_SECONDS:
                return
