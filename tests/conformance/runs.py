"""Runs one scenario of the conformance suite, and says what it saw."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("driver.py")
TIME_LIMIT = 60.0
"""Seconds for one scenario; the driver gives up after less."""
HARMLESS = {"SUCCESS", "INFO", "SKIPPED"}


@dataclass(frozen=True)
class Run:
    """What came of one scenario."""

    status: int
    checks: list[dict[str, Any]]
    output: str

    def passed(self, checks: int, *, different: bool = False) -> bool:
        """Tell whether so many checks, or *different* ones, succeeded and none did not."""
        good = [check["id"] for check in self.checks if check["status"] == "SUCCESS"]
        harmless = all(check["status"] in HARMLESS for check in self.checks)
        return self.status == 0 and harmless and len(set(good) if different else good) == checks


def run(
    suite: list[str],
    scenario: str,
    folder: Path,
    *,
    version: str | None = None,
    client: list[str] | None = None,
) -> Run:
    """Run one scenario against the driver, or another *client*; end it when it takes too long.

    None for the *version*: the scenario belongs to an extension.
    """
    client = client or [sys.executable, str(DRIVER)]
    # The suite's own limit ends a shell, not what the shell has started; hence the `exec`.
    options = {"--command": f"exec {shlex.join(client)}", "--scenario": scenario}
    options |= {"--output-dir": str(folder)}
    if version is not None:
        options["--spec-version"] = version
    process = subprocess.Popen(
        [*suite, "client", *(word for option in options.items() for word in option)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    # The suite's own folder for it has the time in its name.
    found = list(folder.glob(f"{scenario}-*/checks.json"))
    written = "".join(
        path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"{scenario}-*/*.txt"))
    )
    checks = json.loads(found[0].read_text(encoding="utf-8")) if found else []
    return Run(process.returncode, checks, f"{output}\n{written}")
