"""The two tables: what was measured, and which targets are met. With rich if it is installed."""

from __future__ import annotations

from collections.abc import Sequence

from actor_cases.rounds import Figures
from actor_cases.targets import TARGETS

SYSTEMS = ("pykka", "bare asyncio", "ours asyncio", "bare uvloop", "ours uvloop")

RATE, BYTES, MICROSECONDS, COUNT = "per s", "bytes", "us", "count"

ROWS = [
    ("tell: one burst", "tell", RATE),
    ("tell: bursts of 100", "tell_bursts", RATE),
    ("tell: one each to 1,000 actors", "tell_spread", RATE),
    ("ask", "ask", RATE),
    ("ask in asyncio.timeout(5) / timeout=5", "ask_scope", RATE),
    ("GenServer call, timeout 5 / bare + timer", "call", RATE),
    ("GenServer call without timeout", "call_forever", RATE),
    ("tell from a thread", "thread_tell", RATE),
    ("ask from a thread", "thread_ask", RATE),
    ("start", "spawn", RATE),
    ("GenServer.start_link, one by one", "start_link", RATE),
    ("spawn(function)", "spawn_function", RATE),
    ("DynamicSupervisor.start_child", "start_child", RATE),
    ("memory of an idle actor, resident", "rss", BYTES),
    ("memory of an idle server, resident", "rss_server", BYTES),
    ("memory of an idle actor, traced", "heap", BYTES),
    ("memory of an idle server, traced", "heap_server", BYTES),
    *(
        (f"kill to next init, {kind}, {n:,}", f"{kind}_{n}", MICROSECONDS)
        for kind in ("one_for_one", "dynamic")
        for n in (1, 1_000, 10_000)
    ),
    ("the same with reports logged, 1", "one_for_one_1_logged", MICROSECONDS),
    ("churn: started", "start_1", RATE),
    ("churn: stopped", "stop_1", RATE),
    ("churn: resident at the first peak", "alive_1", BYTES),
    ("churn: resident at the second peak", "alive_2", BYTES),
    ("churn: allocator blocks the second left", "blocks_growth", COUNT),
    ("churn: processes left", "left", COUNT),
]


def print_tables(figures: Figures) -> None:
    """Print both."""
    measured = [
        [text, unit, *(_cell(figures, system, name) for system in SYSTEMS)]
        for text, name, unit in ROWS
    ]
    _table(
        "Measured (medians; ~: the rounds differ by more than half)", ["", "", *SYSTEMS], measured
    )
    judged: list[list[str]] = []
    missed = 0
    for target in TARGETS:
        cells = [target.text, target.wanted]
        for loop in ("asyncio", "uvloop"):
            ratio = target.ratio(figures, loop)
            met = ratio is not None and target.met(ratio)
            missed += ratio is not None and not met
            cells += ["-" if ratio is None else f"{ratio:.3g}", _verdict(ratio is None, met)]
        judged.append(cells)
    _table("Targets (ratios)", ["", "wanted", "asyncio", "", "uvloop", ""], judged)
    print(f"{missed} targets are missed" if missed else "all targets that were measured are met")
    for failure in figures.failures:
        print(f"did not run: {failure}")


def _verdict(absent: bool, met: bool) -> str:
    return "not measured" if absent else "met" if met else "MISSED"


def _cell(figures: Figures, system: str, name: str) -> str:
    value = figures.median(system, name)
    mark = " ~" if figures.is_unstable(system, name) else ""
    return "" if value is None else _short(value) + mark


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def _table(title: str, head: Sequence[str], rows: list[list[str]]) -> None:
    try:
        from rich.console import Console  # noqa: PLC0415  # it may not be installed
        from rich.table import Table  # noqa: PLC0415
    except ImportError:
        _plain(title, head, rows)
        return
    table = Table(*head, title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    console.print(table)


def _plain(title: str, head: Sequence[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in [list(head), *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [list(head), *rows]:
        first, *rest = row
        cells = [
            first.ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())
