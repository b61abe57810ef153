"""The two tables: what was measured, and beside each target what came of it."""

from __future__ import annotations

from typing import NamedTuple

from stdio_cases.rounds import Rounds
from stdio_cases.tables import number, table

ROWS = [
    ("64 callers, 16 connections", "concurrent", "calls/s"),
    ("    processor time", "concurrent_cpu", "us/call"),
    ("one caller", "sequential", "calls/s"),
    ("    processor time", "sequential_cpu", "us/call"),
    ("answers as event streams", "events", "calls/s"),
    ("    processor time", "events_cpu", "us/call"),
    ("list of 10,000 tools", "tools", "ms"),
    ("answer of 10 MB", "large", "ms"),
    ("many clients", "clients", "count"),
    ("    memory", "clients_kb", "kB each"),
    ("    opened", "connects", "per s"),
    ("    closed", "closes", "per s"),
    ("many streams", "streams", "count"),
    ("    memory", "streams_kb", "kB each"),
    ("    opened", "stream_opens", "per s"),
    ("    events", "stream_events", "per s"),
    ("    processor time", "stream_events_cpu", "us/event"),
    ("    events lost", "events_lost", "count"),
    ("    delay at 1,000 a second, middle", "delay_p50", "ms"),
    ("    and the longest but 1 %", "delay_p99", "ms"),
]
COLUMNS = [
    ["sdk", "aiohttp", "raw", "ours", "ours, other loop", "ours, threads"],
    [f"{name} uvloop" for name in ("sdk", "aiohttp", "raw", "ours")]
    + ["ours, other loop uvloop", "ours, threads uvloop"],
]


class Target(NamedTuple):
    """What the figure *name* of *ours* is to be, as a part of the *other*'s; None: by itself.

    Without a *limit* it is only told.
    """

    text: str
    name: str
    other: str | None
    limit: float | None
    is_most: bool = False
    ours: str = "ours"


def _of_calls(loop: str) -> list[Target]:
    """The limit of processor time is raw's on asyncio, on either loop; that on uvloop is told."""
    text, on = (", on uvloop", " uvloop") if loop else ("", "")
    sdk, ours = f"sdk{on}", f"ours{on}"
    many, one = "concurrent", "sequential"
    return [
        Target(f"64 callers{text}: rate, of the SDK's", many, sdk, 10.0, ours=ours),
        Target("    processor time, of raw's on asyncio", f"{many}_cpu", "raw", 2.5, True, ours),
        *_told(f"{many}_cpu", loop),
        Target("    processor time, of aiohttp's", f"{many}_cpu", f"aiohttp{on}", 1.0, True, ours),
        Target(
            "    callers in another loop, of the SDK's",
            many,
            sdk,
            6.0,
            ours=f"ours, other loop{on}",
        ),
        Target("    callers in threads, of the SDK's", many, sdk, 6.0, ours=f"ours, threads{on}"),
        Target(f"one caller{text}: rate, of the SDK's", one, sdk, 5.0, ours=ours),
        Target("    processor time, of raw's on asyncio", f"{one}_cpu", "raw", 2.5, True, ours),
        *_told(f"{one}_cpu", loop),
    ]


def _told(name: str, loop: str) -> list[Target]:
    if not loop:
        return []
    return [
        Target(
            "    processor time, of raw's on uvloop", name, "raw uvloop", None, ours="ours uvloop"
        )
    ]


TARGETS = [
    *_of_calls(""),
    *_of_calls("uvloop"),
    Target("answers as event streams: rate, of the SDK's", "events", "sdk", 8.0),
    Target("10,000 tools: time, of the SDK's", "tools", "sdk", 1 / 8, True),
    Target("10 MB: time, of raw's", "large", "raw", 1.3, True),
    Target("a client: kB", "clients_kb", None, 40.0, True),
    Target("connects a second, of the SDK's", "connects", "sdk", 20.0),
    Target("a stream: kB", "streams_kb", None, 12.0, True),
    Target("events a second, of the SDK's", "stream_events", "sdk", 8.0),
    Target("events lost", "events_lost", None, 0.0, True),
    Target("delay of events but 1 %, of the SDK's", "delay_p99", "sdk", 0.5, True),
]


def print_tables(rounds: Rounds) -> None:
    """Print both."""
    for title, columns in zip(("asyncio", "uvloop"), COLUMNS, strict=True):
        rows = [
            [text, unit, *(number(rounds.median(system, name)) for system in columns)]
            for text, name, unit in ROWS
        ]
        shown = [row for row in rows if any(row[2:])]
        if shown:
            head = [name.removesuffix(" uvloop") for name in columns]
            table(f"Measured on {title} (medians)", ["", "", *head], shown)
    judged: list[list[str]] = []
    missed = 0
    for target in TARGETS:
        value = _value(rounds, target)
        if value is None:
            judged.append([target.text, _wanted(target), "", ""])
            continue
        row = [target.text, _wanted(target), f"{value:.3g}", ""]
        if target.limit is not None:
            met = value <= target.limit if target.is_most else value >= target.limit
            missed += not met
            row[-1] = "met" if met else "MISSED"
        judged.append(row)
    table("Targets (medians of the ratios of each round)", ["", "wanted", "is", ""], judged)
    print(f"{missed} targets are missed" if missed else "all targets that were measured are met")
    for failure in rounds.failures:
        print(f"did not run: {failure}")


def _value(rounds: Rounds, target: Target) -> float | None:
    if target.other is None:
        return rounds.median(target.ours, target.name)
    return rounds.ratio(target.ours, target.other, target.name)


def _wanted(target: Target) -> str:
    if target.limit is None:
        return ""
    return f"{'<=' if target.is_most else '>='} {target.limit:.3g}"
