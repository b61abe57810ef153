from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import pytest

from snodo_actors.words.types import (
    INHERIT,
    Acknowledged,
    Challenge,
    Custom,
    Http,
    InputRequired,
    Page,
    Session,
    Stdio,
)
from snodo_actors.words.versions import INITIALIZE, LIBRARY, STATELESS, VERSIONS, is_stateless


def test_versions_are_known_newest_first() -> None:
    assert VERSIONS == ("2026-07-28", "2025-11-25", "2025-06-18")
    assert sorted(VERSIONS, reverse=True) == list(VERSIONS)
    assert [is_stateless(version) for version in VERSIONS] == [True, False, False]
    assert (STATELESS, *INITIALIZE) == VERSIONS


def test_the_library_tells_servers_its_own_version() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())

    assert project["project"]["version"] == LIBRARY


@pytest.mark.parametrize(
    ("requests", "state", "result"),
    [
        ({}, None, {}),
        ({}, None, {"inputRequests": None}),
        ({"1": {}}, "s", {"inputRequests": {"1": {}}, "requestState": "s"}),
    ],
)
def test_a_wish_for_input_shows_its_parts(requests, state, result) -> None:
    wish = InputRequired(result)

    assert (wish.input_requests, wish.request_state) == (requests, state)


@pytest.mark.parametrize(
    ("shown", "params"),
    [
        ((None, [], None, None), {}),
        ((None, [], None, None), {"scope": ""}),
        (
            ("https://x/y", ["a", "b"], "insufficient_scope", "more"),
            {
                "resource_metadata": "https://x/y",
                "scope": "a  b ",
                "error": "insufficient_scope",
                "error_description": "more",
            },
        ),
    ],
)
def test_a_challenge_shows_its_params(shown, params) -> None:
    it = Challenge("bearer", params)

    assert (it.resource_metadata, it.scope, it.error, it.error_description) == shown


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("stdio python server.py", Stdio("python", ("server.py",))),
        ("http https://example.test/mcp", Http("https://example.test/mcp")),
        ("transport dict", Custom(dict, None)),
        ("transport object", Custom(object(), None)),
    ],
)
def test_a_target_names_itself(text, target) -> None:
    assert str(target) == text


def test_values_have_defaults_and_can_be_pickled() -> None:
    session = Session("2025-06-18")
    values = [session, Page([], None, {}), Acknowledged("ref", 5, {}), InputRequired({}), INHERIT]

    assert (session.id, session.server_info, session.server_capabilities, session.instructions) == (
        None,
        {},
        {},
        None,
    )
    assert pickle.loads(pickle.dumps(values)) == values
    assert pickle.loads(pickle.dumps(INHERIT)) is INHERIT
