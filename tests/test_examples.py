"""The examples run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", example],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (run.returncode, run.stdout != "") == (0, True), run.stdout + run.stderr


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
