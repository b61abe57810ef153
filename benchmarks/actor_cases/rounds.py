"""Runs cases in processes of their own, in interleaved rounds, and keeps every figure."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from actor_cases.catalogue import Case

PATIENCE = 120.0
"""Seconds a case may take."""


class Figures:
    """The figures of all rounds, by system and name."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.failures: list[str] = []

    def add(self, system: str, found: dict[str, float]) -> None:
        """Keep what one run of a case gave."""
        for name, value in found.items():
            self._values[system, name].append(value)

    def median(self, system: str, name: str) -> float | None:
        """The middle of the rounds, or None if it was not measured."""
        values = self._values.get((system, name))
        return statistics.median(values) if values else None

    def is_unstable(self, system: str, name: str) -> bool:
        """Whether the rounds differ by more than half of the least."""
        values = self._values.get((system, name), [0.0])
        return max(values) > 1.5 * min(values)


def run_rounds(
    program: Path, cases: list[Case], size: str, rounds: int, tell: Callable[[str], None]
) -> Figures:
    """Run every case once a round, of *rounds*; one that fails is told of and left out."""
    figures = Figures()
    for number in range(rounds):
        for index, case in enumerate(cases):
            if number >= case.most_rounds:
                continue
            name = f"{case.name}, {case.system}"
            tell(f"round {number + 1}/{rounds}, {index + 1}/{len(cases)}: {name}")
            which = ("--case", case.name, "--system", case.system, "--size", size)
            try:
                ended = subprocess.run(
                    [sys.executable, str(program), *which],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=PATIENCE,
                )
            except subprocess.TimeoutExpired:
                figures.failures.append(f"{name}: took longer than {PATIENCE:.0f} s")
                continue
            if ended.returncode:
                last = ended.stderr.strip().splitlines()[-1:] or [f"status {ended.returncode}"]
                figures.failures.append(f"{name}: {last[0]}")
            else:
                figures.add(case.system, json.loads(ended.stdout))
    return figures
