"""The two tables: what was measured, and beside each target what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from stdio_cases.rounds import Rounds
from stdio_cases.work import SYSTEMS

ROWS = [
    ("one call after the other", "sequential", "calls/s"),
    ("    processor time", "sequential_cpu", "us/call"),
    ("64 callers", "concurrent", "calls/s"),
    ("    processor time", "concurrent_cpu", "us/call"),
    ("an answer of 16 MiB", "large", "ms"),
    ("import", "import", "ms"),
    ("many servers: start", "servers_start", "ms each"),
    ("    close", "servers_close", "ms each"),
    ("    left of it", "servers_left", "count"),
]

TARGETS = [
    ("calls one after the other, of the SDK's", "sequential", "sdk", 1.6, False),
    ("calls of 64 callers, of the SDK's", "concurrent", "sdk", 12.0, False),
    ("time of 16 MiB, of the SDK's", "large", "sdk", 1 / 5, True),
    ("time of the import, of the SDK's", "import", "sdk", 1 / 4, True),
    ("processor time of a call of 64, of the SDK's", "concurrent_cpu", "sdk", 1 / 12, True),
]
"""A text, a figure, of whom, the limit, and whether it is the most or the least."""

OURS = [system for system in SYSTEMS if system.startswith("ours")]


def print_tables(rounds: Rounds) -> None:
    """Print both."""
    measured = [
        [text, unit, *(number(rounds.median(system, name)) for system in SYSTEMS)]
        for text, name, unit in ROWS
    ]
    table("Measured (medians)", ["", "", *SYSTEMS], measured)
    judged: list[list[str]] = []
    missed = 0
    for text, name, other, limit, at_most in TARGETS:
        row = [text, f"{'<=' if at_most else '>='} {limit:.3g}"]
        for system in OURS:
            ratio = rounds.ratio(system, other, name)
            met = ratio is not None and (ratio <= limit if at_most else ratio >= limit)
            missed += ratio is not None and not met
            verdict = "" if ratio is None else "met" if met else "MISSED"
            row += ["" if ratio is None else f"{ratio:.3g}", verdict]
        judged.append(row)
    row = ["left of many servers", "0"]
    for system in OURS:
        left = rounds.median(system, "servers_left")
        missed += bool(left)
        row += [number(left), "" if left is None else "MISSED" if left else "met"]
    judged.append(row)
    head = ["", "wanted", *(cell for system in OURS for cell in (system, ""))]
    table("Targets (medians of the ratios of each round)", head, judged)
    print(f"{missed} targets are missed" if missed else "all targets that were measured are met")
    for failure in rounds.failures:
        print(f"did not run: {failure}")


def number(value: float | None) -> str:
    """Write a figure; nothing if there is none."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def table(title: str, head: Sequence[str], rows: list[list[str]]) -> None:
    """Print rows under a head, the first column to the left."""
    widths = [max(len(row[i]) for row in [list(head), *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for first, *rest in [list(head), *rows]:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]).rstrip())
