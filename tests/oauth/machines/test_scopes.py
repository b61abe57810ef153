from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.scopes import choose_scopes, with_offline_access

NOTHING: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("said", "challenged", "configured", "supported", "before", "chosen"),
    [
        ("the challenge decides", ["a"], None, ["x"], [], ("a",)),
        ("and what was configured is added", ["a"], ["c"], ["x"], [], ("a", "c")),
        ("without one, what was configured", [], ["c"], ["x"], [], ("c",)),
        ("without both, what the metadata list", [], None, ["x", "y"], [], ("x", "y")),
        ("configured as none means none", [], [], ["x"], [], ()),
        ("nobody says anything", [], None, None, [], ()),
        ("what was asked for is kept", ["b"], None, ["x"], ["a"], ("a", "b")),
        ("each once", ["b", "a", "b"], ["a"], None, ["a"], ("a", "b")),
    ],
)
def test_choice(  # noqa: PLR0917  # the columns of a table
    said: str,
    challenged: list[str],
    configured: list[str] | None,
    supported: list[str] | None,
    before: list[str],
    chosen: tuple[str, ...],
) -> None:
    assert chosen == choose_scopes(challenged, configured, supported, before), said


@pytest.mark.parametrize(
    ("scopes", "supported", "asked"),
    [
        (("a",), ("a", "offline_access"), ("a", "offline_access")),
        (("a",), ("a",), ("a",)),
        (("a",), None, ("a",)),
        ((), ("offline_access",), ()),
        (("offline_access",), ("offline_access",), ("offline_access",)),
    ],
)
def test_a_refresh_token_is_asked_for_where_there_are_some(
    scopes: tuple[str, ...], supported: tuple[str, ...] | None, asked: tuple[str, ...]
) -> None:
    assert asked == with_offline_access(scopes, supported)
