"""How often a connection was started."""

from __future__ import annotations


class Starts:
    """A count that outlives restarts."""

    count = 0
