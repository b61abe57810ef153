"""The demo does what it says, and says so by its exit status."""

from __future__ import annotations

import subprocess
import sys


def test_the_demo_ends_well_and_shows_every_step() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "snodo_actors.cli", "demo"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    for shown in ("add(19, 23) = 42", "kill -9", "child_terminated", "add(40, 2) = 42"):
        assert shown in run.stdout
    assert "\x1b" not in run.stdout  # plain when it is not a terminal


def test_an_unknown_command_is_refused() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "snodo_actors.cli", "dance"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert run.returncode == 2
    assert "dance" in run.stderr
