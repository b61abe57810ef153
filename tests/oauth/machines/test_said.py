from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.said import MAX_CHARACTERS, listed, quoted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "'plain'"),
        ("", "''"),
        ("\x1b[2J", r"'\x1b[2J'"),
        ("\u202e", r"'\u202e'"),
        (["x"], "['x']"),
        ("x" * MAX_CHARACTERS, f"'{'x' * MAX_CHARACTERS}'"),
        ("x" * 1_000_000, f"'{'x' * (MAX_CHARACTERS - 1)}…"),
        (["x" * 1_000_000], f"['{'x' * (MAX_CHARACTERS - 2)}…"),
    ],
)
def test_what_is_quoted(value: object, shown: str) -> None:
    assert shown == quoted(value)


def test_what_is_listed() -> None:
    assert listed(["a", "b"], "none") == "'a', 'b'"
    assert listed([], "none") == "none"
    assert listed(["a"] * 6, "none") == "'a', 'a', 'a', 'a', 'a', …"
