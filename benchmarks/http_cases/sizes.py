"""How much is measured."""

from __future__ import annotations

from typing import NamedTuple

LARGE = 10_000_000
TOOLS = 10_000


class Size(NamedTuple):
    """How much of each."""

    seconds: float
    times: int
    clients: int
    streams: int


SIZES = {
    "quick": Size(0.5, 2, 100, 100),
    "plain": Size(1.5, 5, 1000, 1000),
    "full": Size(2.0, 7, 5000, 5000),
}
