"""The scenarios of the MCP conformance suite for clients, each alone.

The suite serves, the driver connects, and the suite says which checks it made. It calls a scenario
passed in which nothing happened, so the number of checks is part of what is expected: of all
checks, or, where a request more makes one more, as each does that has a token, of different ones.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conformance.runs import TIME_LIMIT, run

pytestmark = pytest.mark.timeout(200)  # the first one installs the suite

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


def scenarios() -> list[Any]:
    return [
        pytest.param(version, scenario, id=f"{version}-{scenario}")
        for version, checks in CHECKS.items()
        for scenario in checks
    ]


@pytest.mark.parametrize(("version", "scenario"), scenarios())
def test_scenario(suite: list[str], version: str, scenario: str, tmp_path: Path) -> None:
    done = run(suite, scenario, tmp_path, version=version)

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
    done = run(suite, scenario, tmp_path, version=version, client=["true"])

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
