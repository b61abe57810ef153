"""pykka's own tests pass, with its actor and with ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).parent / "vendor" / "pykka"


def test_pykka_s_tests_pass_with_both_runtimes() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "--color=no", "-c", "pytest.ini", "--rootdir", "."],
        cwd=SUITE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    lines = run.stdout.splitlines()
    passed = {
        name: sum(bool(re.search(rf"\[(.*-)?{name}\] PASSED", line)) for line in lines)
        for name in ("threading", "loop")
    }

    assert run.returncode == 0, "\n".join(lines[-60:])
    assert passed["threading"] == passed["loop"] > 100
