"""What others wrote, fit to be shown: short, and nothing in it that a terminal would obey."""

from __future__ import annotations

from collections.abc import Sequence

MAX_CHARACTERS = 200
MAX_LISTED = 5


def quoted(value: object) -> str:
    """Quote a text, or whatever is there in its place; what is too long is cut."""
    written = repr(value[: MAX_CHARACTERS + 1] if isinstance(value, str) else value)
    return written if len(written) <= MAX_CHARACTERS + 2 else f"{written[:MAX_CHARACTERS]}…"


def listed(texts: Sequence[str], otherwise: str) -> str:
    """Quote the first of *texts*; *otherwise* stands for none."""
    more = ", …" if len(texts) > MAX_LISTED else ""
    return ", ".join(map(quoted, texts[:MAX_LISTED])) + more or otherwise
