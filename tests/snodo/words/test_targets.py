from __future__ import annotations

from pathlib import Path

import pytest

from snodo_actors.words.targets import read_target
from snodo_actors.words.types import Custom, Http, Stdio


class Transport:
    def request(self, message, options) -> None: ...


@pytest.mark.parametrize(
    ("read", "target"),
    [
        (Stdio("python", ("server.py",)), ("stdio", "python", ["server.py"])),
        (Stdio("python", ()), ("stdio", "python", ())),
        (Stdio("/bin/a", ("/b",)), ("stdio", Path("/bin/a"), [Path("/b")])),
        (Stdio("a", ("b",)), ["stdio", "a", ["b"]]),
        (Http("https://example.test/mcp"), ("http", "https://example.test/mcp")),
        (Http("ftp://x"), ("http", "ftp://x")),  # answered with an error, not refused
        (Custom(Transport, 5), (Transport, 5)),
        (Stdio("a", ("b",)), Stdio("a", ("b",))),
        (Http("x"), Http("x")),
        (Custom(Transport, 5), Custom(Transport, 5)),
    ],
)
def test_target(read, target) -> None:
    assert read_target(target) == read


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("a stdio target is", ("stdio", "python")),
        ("a stdio target is", ("stdio", "python", "server.py")),
        ("a stdio target is", ("stdio",)),
        ("command must be a string or a path", ("stdio", 5, [])),
        ("args must be a string or a path", ("stdio", "python", [5])),
        ("'nonsense' is no transport", ("nonsense", 5)),
        ("is no transport: it has no request", (object(), 5)),
        ("is no target: write", "https://example.test/mcp"),
        ("is no target: write", None),
        ("is no target: write", ("http", "a", "b")),
        ("is no target: write", ()),
    ],
)
def test_what_is_no_target_is_refused(text, target) -> None:
    with pytest.raises(TypeError, match=text):
        read_target(target)
