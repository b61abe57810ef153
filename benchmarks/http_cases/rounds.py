"""Runs every kind of work with every client, interleaved, and keeps the figures of each round."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from stdio_cases.rounds import Rounds

PATIENCE = 240.0
"""Seconds one piece of work may take."""
ON_BOTH = ("concurrent", "sequential")
"""The work that is measured on uvloop, too."""
ALL = ("sdk", "aiohttp", "raw", "ours")
WORK = {
    "concurrent": (*ALL, "ours, other loop", "ours, threads"),
    "sequential": ALL,
    "events": ALL,
    "tools": ALL,
    "large": ALL,
    "clients": ALL,
    "streams": ("sdk", "raw", "ours"),
}


def jobs(only: str) -> Iterator[tuple[str, str]]:
    """Every kind of work, and with what."""
    for work, systems in WORK.items():
        if only in work:
            for loop in ("", " uvloop") if work in ON_BOTH else ("",):
                yield from ((work, system + loop) for system in systems)


def run_rounds(
    program: Path, rounds: int, size: str, *, only: str, tell: Callable[[str], None]
) -> Rounds:
    """Run *rounds* rounds; even ones forwards, odd ones backwards."""
    figures = Rounds()
    for number in range(rounds):
        todo = list(jobs(only))
        for work, system in todo if number % 2 == 0 else reversed(todo):
            tell(f"round {number + 1}/{rounds}: {work}, {system}")
            _run(figures, number, work, system, [sys.executable, str(program), f"--{size}"])
    return figures


def _run(figures: Rounds, number: int, work: str, system: str, command: list[str]) -> None:
    command += ["--work", work, "--system", system]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        figures.failures.append(f"{work}, {system}: longer than {PATIENCE:.0f} s")
        return
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or [f"status {ended.returncode}"]
        figures.failures.append(f"{work}, {system}: {last[0]}")
    else:
        figures.add(number, system, json.loads(ended.stdout.splitlines()[-1]))
