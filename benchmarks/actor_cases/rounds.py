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

    def spread(self, system: str, name: str) -> tuple[float, float] | None:
        """The least and the most of the rounds."""
        values = self._values.get((system, name))
        return (min(values), max(values)) if values else None


def run_rounds(
    program: Path, cases: list[Case], size: str, rounds: int, tell: Callable[[str], None]
) -> Figures:
    """Run every case once in each of *rounds* rounds; one that fails is told of and left out."""
    figures = Figures()
    for number in range(rounds):
        for index, case in enumerate(cases):
            tell(
                f"round {number + 1}/{rounds}, {index + 1}/{len(cases)}: {case.name}, {case.system}"
            )
            command = [
                sys.executable,
                str(program),
                "--case",
                case.name,
                "--system",
                case.system,
                "--size",
                size,
            ]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                last = ended.stderr.strip().splitlines()[-1:] or [f"status {ended.returncode}"]
                figures.failures.append(f"{case.name}, {case.system}: {last[0]}")
            else:
                figures.add(case.system, json.loads(ended.stdout))
    return figures
