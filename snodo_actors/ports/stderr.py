"""What a server says on stderr: kept for the reason of its exit; logged, or handed to a function.

Knows lines; where they come from, a reader knows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from snodo_actors.machines.stderr_tail import StderrTail

_log = logging.getLogger("snodo_actors.stderr")


class Stderr:
    """The lines of one server, whose name is *who*."""

    def __init__(self, who: str, wanted: Any) -> None:
        self._who = who
        self._function: Callable[[str], object] | None = wanted if callable(wanted) else None
        self._logged = not callable(wanted)
        self._tail = StderrTail()

    def received(self, data: bytes) -> None:
        """Take what was read; no bytes are the end."""
        lines = self._tail.feed(data) if data else self._tail.finish()
        if self._function is not None:
            for line in lines:
                self._call(line)
        elif self._logged and _log.isEnabledFor(logging.INFO):
            for line in lines:
                _log.info("%s: %s", self._who, line)

    def last_lines(self) -> str:
        """The last lines, for whoever asks why it ended."""
        return "\n".join(self._tail.lines())

    def _call(self, line: str) -> None:
        if self._function is None:
            return
        try:
            self._function(line)
        except Exception:  # noqa: BLE001  # the user's: it must not harm what it listens to
            _log.exception("%s: the function given as stderr= failed and gets no more", self._who)
            self._function = None
