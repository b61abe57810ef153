"""What ours should reach beside pykka and the bare mailbox, measured in the same run."""

from __future__ import annotations

from dataclasses import dataclass

from actor_cases.rounds import Figures


@dataclass(frozen=True, slots=True)
class Target:
    """A ratio: *figure* of ours over *other_figure* of *other*; at least or at most *limit*."""

    text: str
    figure: str
    other: str
    other_figure: str
    limit: float
    at_most: bool = False

    def ratio(self, figures: Figures, loop: str) -> float | None:
        """The measured ratio on *loop*, or None if a part of it was not measured."""
        other = self.other if self.other == "pykka" else f"{self.other} {loop}"
        above = figures.median(f"ours {loop}", self.figure)
        below = figures.median(other, self.other_figure)
        return above / below if above is not None and below else None

    def met(self, ratio: float) -> bool:
        """Whether *ratio* is good enough."""
        return ratio <= self.limit if self.at_most else ratio >= self.limit

    @property
    def wanted(self) -> str:
        """The limit in words."""
        return f"{'<=' if self.at_most else '>='} {self.limit:g}"


TARGETS = [
    Target("tell, of pykka's", "tell", "pykka", "tell", 2.0),
    Target("ask within the loop, of pykka's", "ask", "pykka", "ask", 4.0),
    Target("call with a timeout, of pykka's ask", "call", "pykka", "ask_scope", 4.0),
    Target("start, of pykka's", "spawn", "pykka", "spawn", 20.0),
    Target("memory of an actor, of pykka's", "rss", "pykka", "rss", 1 / 8, at_most=True),
    Target("memory of a server, of pykka's", "rss_server", "pykka", "rss", 1 / 8, at_most=True),
    Target("tell, of the bare mailbox's", "tell", "bare", "tell", 0.5),
    Target("tell in bursts, of the bare mailbox's", "tell_bursts", "bare", "tell_bursts", 0.5),
    Target("tell to 1,000, of the bare mailbox's", "tell_spread", "bare", "tell_spread", 0.5),
    Target("ask, of the bare mailbox's", "ask", "bare", "ask", 0.5),
    Target("call, of the bare mailbox's", "call", "bare", "call", 0.5),
    *(
        Target(
            f"{kind}: restart among {n:,}, of that of 1",
            f"{kind}_{n}",
            "ours",
            f"{kind}_1",
            2.0,
            at_most=True,
        )
        for kind in ("one_for_one", "dynamic")
        for n in (1_000, 10_000)
    ),
    Target(
        "churn: resident at the second peak, of the first",
        "alive_2",
        "ours",
        "alive_1",
        1.05,
        at_most=True,
    ),
    Target(
        "churn: blocks after the second, of the first",
        "blocks_2",
        "ours",
        "blocks_1",
        1.01,
        at_most=True,
    ),
]
