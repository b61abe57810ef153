from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.typed_line import Typed, TypedLine


@pytest.mark.parametrize(
    ("typed", "text", "pieces"),
    [
        (Typed.ENTERED, "abc", [b"abc\n"]),
        (Typed.ENTERED, "abc", [b"a", b"b", b"c\r", b"d"][:3]),
        (Typed.ENTERED, "abc", [b"abc\nxyz\n"]),
        (Typed.ENTERED, "ab", [b"abc\x7f\n"]),
        (Typed.ENTERED, "b", [b"\x7fa\x08b\n"]),
        (Typed.ENTERED, "x", [b"abc\x15x\n"]),
        (Typed.ENTERED, "é", ["é".encode()[:1], "é".encode()[1:], b"\n"]),
        (Typed.ENTERED, "abc", [b"\x1b[200~abc\x1b[201~\n"]),
        (Typed.ENTERED, "x" * 20, [b"x" * 30, b"\n"]),
        (Typed.ENDED, "", [b"\x04"]),
        (Typed.GOES_ON, "abc", [b"abc"]),
    ],
)
def test_a_line_is_typed(typed: Typed, text: str, pieces: list[bytes]) -> None:
    line = TypedLine(20)

    assert typed is [line.type(piece) for piece in pieces][-1]
    assert text == line.text
