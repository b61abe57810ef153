"""Prints the commands that the README tells a newcomer to run, one a line.

They stand in the fenced block behind the marker, so what is read is what is run.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MARKER = "<!-- run by .ci/run -->"
README = Path(__file__).parents[1] / "README.md"


def commands(text: str) -> list[str]:
    """Return the commands behind the marker; raise ValueError when there are none."""
    block = re.search(re.escape(MARKER) + r"\n+```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = block[1].splitlines() if block else []
    found = [line for line in lines if line.strip() and not line.startswith("#")]
    if not found:
        raise ValueError(f"README.md has no ```sh block with commands behind {MARKER}")
    return found


if __name__ == "__main__":
    sys.stdout.write("\n".join(commands(README.read_text(encoding="utf-8"))) + "\n")
