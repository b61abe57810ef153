"""The scenarios of the MCP conformance suite for authorization, each alone.

A request more with a token is a check more, so it is the different checks that are counted.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conformance.runs import TIME_LIMIT, run

pytestmark = pytest.mark.timeout(200)  # the first one installs the suite

BY_SECRET = {
    "token-endpoint-auth-basic": 16,
    "token-endpoint-auth-post": 16,
    "token-endpoint-auth-none": 16,
}
BY_CODE = BY_SECRET | {
    "metadata-default": 15,
    "metadata-var1": 15,
    "metadata-var2": 15,
    "metadata-var3": 15,
    "basic-cimd": 10,
    "scope-from-www-authenticate": 11,
    "scope-from-scopes-supported": 11,
    "scope-omitted-when-undefined": 11,
    "scope-step-up": 12,
    "scope-retry-limit": 10,
    "pre-registration": 10,
}
# The newest version has one check more of whoever registers, and one of a step-up.
BY_CODE_NEWEST = {
    name: checks + (name not in ("basic-cimd", "pre-registration")) + (name == "scope-step-up")
    for name, checks in BY_CODE.items()
}
NEWEST = {
    "resource-mismatch": 2,
    "offline-access-scope": 10,
    "offline-access-not-supported": 12,
    "authorization-server-migration": 14,
    "iss-supported": 12,
    "iss-not-advertised": 12,
    "iss-supported-missing": 8,
    "iss-wrong-issuer": 8,
    "iss-unexpected": 8,
    "iss-normalized": 8,
    "metadata-issuer-mismatch": 3,
}
OTHERS = {
    "client-credentials-basic": 5,
    "client-credentials-jwt": 5,
    "enterprise-managed-authorization": 6,
    "dpop": 12,
    "dpop-nonce": 14,
    "wif-jwt-bearer": 5,
    "2025-03-26-oauth-metadata-backcompat": 9,
    "2025-03-26-oauth-endpoint-fallback": 4,
}
"""Extensions, and servers of before there were metadata of resources."""
CHECKS: dict[str | None, dict[str, int]] = {
    "2025-06-18": BY_SECRET,
    "2025-11-25": BY_CODE,
    "2026-07-28": BY_CODE_NEWEST | NEWEST,
    None: OTHERS,
}
"""How many different checks each scenario of a version makes."""


def scenarios() -> list[Any]:
    return [
        pytest.param(version, f"auth/{scenario}", id=f"{version or 'any'}-{scenario}")
        for version, checks in CHECKS.items()
        for scenario in checks
    ]


@pytest.mark.parametrize(("version", "scenario"), scenarios())
def test_scenario(suite: list[str], version: str | None, scenario: str, tmp_path: Path) -> None:
    done = run(suite, scenario, tmp_path, version=version)

    checks = CHECKS[version][scenario.removeprefix("auth/")]
    assert done.passed(checks, different=True), done.output


@pytest.mark.parametrize("version", [version for version in CHECKS if version is not None])
def test_no_scenario_of_a_version_is_left_out(suite: list[str], version: str) -> None:
    assert listed(suite, "--spec-version", version) == {f"auth/{name}" for name in CHECKS[version]}


def test_no_scenario_is_left_out(suite: list[str]) -> None:
    every = {f"auth/{name}" for checks in CHECKS.values() for name in checks}

    assert listed(suite) == every


def listed(suite: list[str], *options: str) -> set[str]:
    """The scenarios of authorization that the suite has."""
    listing = subprocess.run(
        [*suite, "list", "--client", *options],
        check=True,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    return set(re.findall(r"^  - (auth/\S+)", listing.stdout, re.MULTILINE))
