"""Keeps what goes on running after its end from having any more effect.

Costs one look at a number, as long as no process was abandoned.
"""

from __future__ import annotations


class Fence:
    """How many abandoned processes still run."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


fence = Fence()
