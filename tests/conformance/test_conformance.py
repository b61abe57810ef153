"""The scenarios of the MCP conformance suite for clients, each alone, but for those of auth.

The suite serves, the driver connects, and the suite says which checks it made. It calls a scenario
passed in which nothing happened, so the number of checks is part of what is expected.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(200)  # the first one installs the suite

DRIVER = Path(__file__).with_name("driver.py")
TIME_LIMIT = 60.0
"""Seconds for one scenario; the driver gives up after less."""

CHECKS = {
    "2025-06-18": {
        "initialize": 1,
        "tools_call": 2,
    },
    "2025-11-25": {
        "initialize": 1,
        "tools_call": 2,
        "elicitation-sep1034-client-defaults": 5,
        "sse-retry": 3,
        "json-schema-2020-12-preservation": 9,
    },
    "2026-07-28": {
        "tools_call": 2,
        "request-metadata": 8,
        "http-standard-headers": 9,
        "http-custom-headers": 18,
        "http-invalid-tool-headers": 12,
        "json-schema-ref-no-deref": 1,
        "json-schema-2020-12-preservation": 9,
        "sep-2322-client-request-state": 5,
    },
}
"""How many checks each scenario of a version makes."""
HARMLESS = {"SUCCESS", "INFO", "SKIPPED"}


@dataclass(frozen=True)
class Run:
    """What came of one scenario."""

    status: int
    checks: list[dict[str, Any]]
    output: str

    def passed(self, checks: int) -> bool:
        counted = Counter(check["status"] for check in self.checks)
        return self.status == 0 and counted["SUCCESS"] == checks and HARMLESS.issuperset(counted)


def run(suite: list[str], client: list[str], version: str, scenario: str, folder: Path) -> Run:
    """Run one scenario against the *client*, and end all of it when that takes too long."""
    # The suite's own limit ends a shell, not what the shell has started; hence the `exec`.
    options = {"--command": f"exec {shlex.join(client)}", "--scenario": scenario}
    options |= {"--spec-version": version, "--output-dir": str(folder)}
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


def scenarios() -> list[Any]:
    return [
        pytest.param(version, scenario, id=f"{version}-{scenario}")
        for version, checks in CHECKS.items()
        for scenario in checks
    ]


@pytest.mark.parametrize(("version", "scenario"), scenarios())
def test_scenario(suite: list[str], version: str, scenario: str, tmp_path: Path) -> None:
    done = run(suite, [sys.executable, str(DRIVER)], version, scenario, tmp_path)

    assert done.passed(CHECKS[version][scenario]), done.output
    if scenario == "initialize":  # the suite is content with any version
        assert done.checks[0]["details"]["protocolVersionSent"] == version


@pytest.mark.parametrize(
    ("version", "scenario"),
    [("2025-11-25", "initialize"), ("2026-07-28", "http-standard-headers")],
)
def test_a_client_that_does_nothing_does_not_pass(
    suite: list[str], version: str, scenario: str, tmp_path: Path
) -> None:
    done = run(suite, ["true"], version, scenario, tmp_path)

    assert done.status == 0, done.output  # the suite is content
    assert not done.passed(CHECKS[version][scenario])


@pytest.mark.parametrize("version", CHECKS)
def test_no_scenario_is_left_out(suite: list[str], version: str) -> None:
    listing = subprocess.run(
        [*suite, "list", "--client", "--spec-version", version],
        check=True,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    listed = set(re.findall(r"^  - (\S+)", listing.stdout, re.MULTILINE))

    assert {name for name in listed if not name.startswith("auth/")} == set(CHECKS[version])
