"""Replays the files of a folder, one after the other or several at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from .replay import DEADLINE_SECONDS, replay
from .scenario import ScenarioError, load


@dataclass(frozen=True)
class Way:
    """How files are replayed; see `replay`."""

    slack: float = 1.0
    deadline: float = DEADLINE_SECONDS
    backend: str = "asyncio"


def replay_all(paths: list[Path], way: Way, jobs: int) -> Iterator[tuple[Path, list[str]]]:
    """Give each file and what is wrong with its replay, in order; *jobs* of them at once."""
    if jobs == 1:
        _silence()
        for path in paths:
            yield path, replay_file(way, path)
        return
    # Processes, not threads: each scenario keeps an interpreter, and its timing, to itself.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _silence) as pool:
        running = [(path, pool.submit(partial(replay_file, way), path)) for path in paths]
        for path, future in running:
            try:
                yield path, future.result()
            except BrokenProcessPool as error:
                yield path, [f"the interpreter that replayed it is gone: {error}"]


def replay_file(way: Way, path: Path) -> list[str]:
    """Replay one file: nothing if it passed, else what it is about and how it differs."""
    try:
        scenario = load(path)
    except ScenarioError as error:
        return [str(error)]
    problems = replay(scenario, slack=way.slack, deadline=way.deadline, backend=way.backend)
    return [scenario.doc, *problems] if problems else []


def _silence() -> None:
    """Keep what the scenarios let crash out of the terminal."""
    logger = logging.getLogger("supervisors")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
