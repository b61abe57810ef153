"""Runs every kind of work with every client, interleaved, and keeps the figures of each round.

A ratio is made of figures of the same round, as the machine may be another in the next.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from stdio_cases.work import SYSTEMS

PATIENCE = 180.0
"""Seconds one piece of work may take."""
WORK = ("sequential", "concurrent", "large", "servers")
IMPORTS = {"sdk": "mcp.client", "ours asyncio": "snodo_actors"}


class Rounds:
    """The figures of all rounds, by system and name."""

    def __init__(self) -> None:
        self._figures: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        self.failures: list[str] = []

    def add(self, number: int, system: str, figures: dict[str, float]) -> None:
        """Keep what was measured in one round."""
        for name, value in figures.items():
            self._figures[system, name][number] = value

    def median(self, system: str, name: str) -> float | None:
        """The middle of the rounds; None if it was not measured."""
        values = self._figures.get((system, name))
        return statistics.median(values.values()) if values else None

    def ratio(self, system: str, other: str, name: str) -> float | None:
        """The middle of what the figure is of the other's in the same round."""
        these = self._figures.get((system, name), {})
        those = self._figures.get((other, name), {})
        ratios = [these[n] / those[n] for n in these.keys() & those.keys() if those[n]]
        return statistics.median(ratios) if ratios else None


def run_rounds(
    program: Path, rounds: int, *, quick: bool, only: str, tell: Callable[[str], None]
) -> Rounds:
    """Run *rounds* rounds; even ones forwards, odd ones backwards."""
    figures = Rounds()
    jobs = [(work, system) for work in WORK for system in SYSTEMS if only in work]
    with tempfile.TemporaryDirectory() as bytecode:
        for number in range(rounds):
            for work, system in jobs if number % 2 == 0 else reversed(jobs):
                if (work, system) == ("servers", "pipe"):
                    continue
                tell(f"round {number + 1}/{rounds}: {work}, {system}")
                arguments = ["--work", work, "--system", system, *(["--quick"] * quick)]
                _keep(figures, number, system, [sys.executable, str(program), *arguments], _figures)
            for system, module in IMPORTS.items() if only in "import" else ():
                tell(f"round {number + 1}/{rounds}: import {module}")
                _import(figures, number, system, module, bytecode)
    return figures


def _import(figures: Rounds, number: int, system: str, module: str, bytecode: str) -> None:
    # Compiled, as an installed package is; the first import compiles.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
    for _ in range(1 if number else 2):
        _keep(figures, number, system, command, _import_time, environment=environment)


def _figures(ended: subprocess.CompletedProcess[str]) -> dict[str, float]:
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def _import_time(ended: subprocess.CompletedProcess[str]) -> dict[str, float]:
    return {"import": int(ended.stderr.splitlines()[-1].split("|")[1]) / 1e3}


def _keep(
    figures: Rounds,
    number: int,
    system: str,
    command: list[str],
    read: Callable[[subprocess.CompletedProcess[str]], dict[str, float]],
    *,
    environment: dict[str, str] | None = None,
) -> None:
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        figures.failures.append(f"{system}: {command[-1]} took longer than {PATIENCE:.0f} s")
        return
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or [f"status {ended.returncode}"]
        figures.failures.append(f"{system}: {' '.join(command[2:])}: {last[0]}")
    else:
        figures.add(number, system, read(ended))
