"""Every case by name, and how large it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from actor_cases import bare_cases, loop_cases, pykka_cases, supervised
from actor_cases.measure import run_on

LOOPS = ("asyncio", "uvloop")
SIZES = (1, 1_000, 10_000)

_TELL = {"full": 100_000, "quick": 20_000}
_ASK = {"full": 10_000, "quick": 2_000}
_PYKKA_ASK = {"full": 3_000, "quick": 1_000}
_SPAWN = {"full": 3_000, "quick": 1_000}
_THREADS = {"full": 1_000, "quick": 1_000}
_KILL = {"full": 500, "quick": 100}
_CHURN = {"full": 100_000, "quick": 20_000}


@dataclass(frozen=True, slots=True)
class Case:
    """One thing measured in one system: `run(n)` gives figures by name."""

    name: str
    system: str
    n: dict[str, int]
    run: Callable[[int], dict[str, float]]
    most_rounds: int = 100
    """In how many rounds it takes part at most: less for one that is long and steady."""


def cases() -> list[Case]:
    """All cases, those of the different systems next to each other."""
    found = [
        Case("tell", "pykka", _TELL, pykka_cases.tell),
        *_on_loops("tell", "bare", _TELL, bare_cases.tell),
        *_on_loops("tell", "ours", _TELL, loop_cases.tell),
        Case("ask", "pykka", _PYKKA_ASK, pykka_cases.ask),
        *_on_loops("ask", "bare", _ASK, bare_cases.ask),
        *_on_loops("ask", "ours", _ASK, loop_cases.ask),
    ]
    for loop in LOOPS:
        found += [
            Case("thread", f"bare {loop}", _TELL, partial(bare_cases.thread, loop=loop)),
            Case("thread", f"ours {loop}", _TELL, partial(loop_cases.thread, loop=loop)),
        ]
    found += [
        Case("spawn", "pykka", _THREADS, pykka_cases.spawn),
        *_on_loops("spawn", "bare", _SPAWN, bare_cases.spawn),
        *_on_loops("spawn", "ours", _SPAWN, loop_cases.spawn),
    ]
    for traced in (False, True):
        name = "heap" if traced else "rss"
        found += [
            Case(name, "pykka", _THREADS, partial(pykka_cases.memory, traced=traced)),
            *_on_loops(name, "bare", _SPAWN, partial(bare_cases.memory, traced=traced)),
            *_on_loops(name, "ours", _SPAWN, partial(loop_cases.memory, traced=traced)),
        ]
    for dynamic in (False, True):
        for size in SIZES:
            run = partial(supervised.restart, children=size, dynamic=dynamic)
            found += _on_loops(
                f"restart {size} {'dynamic' if dynamic else 'static'}", "ours", _KILL, run
            )
    logged = partial(supervised.restart, children=1, dynamic=False, logged=True)
    found += _on_loops("restart, logged", "ours", _KILL, logged)
    churn = _on_loops("churn", "ours", _CHURN, supervised.churn)
    found += [replace(case, most_rounds=2) for case in churn]
    return found


def _on_loops(name: str, system: str, n: dict[str, int], main: Any) -> list[Case]:
    return [Case(name, f"{system} {loop}", n, partial(_run, loop, main)) for loop in LOOPS]


def _run(loop: str, main: Any, n: int) -> dict[str, float]:
    return run_on(loop, main(n))
