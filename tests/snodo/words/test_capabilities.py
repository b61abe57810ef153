from __future__ import annotations

import copy

import pytest

from snodo_actors.words.capabilities import (
    check_roots_change,
    merge_capabilities,
    with_extensions,
)
from snodo_actors.words.versions import INITIALIZE, STATELESS


@pytest.mark.parametrize(
    ("sent", "declared", "kinds"),
    [
        ({}, {}, []),
        ({"elicitation": {"form": {}}}, {}, ["form"]),
        ({"elicitation": {"url": {}}}, {}, ["url"]),
        ({"elicitation": {"form": {}, "url": {}}}, {}, ["form", "url"]),
        ({"sampling": {}}, {}, ["sampling"]),
        ({"roots": {"listChanged": False}}, {}, ["roots"]),
        # what was declared wins
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}, ["sampling"]),
        ({"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}, ["roots"]),
        ({"roots": {"listChanged": None}}, {"roots": {"listChanged": None}}, ["roots"]),
        (
            {"elicitation": {"form": {"x": 1}, "url": {}}, "experimental": {"a": {}}},
            {"elicitation": {"form": {"x": 1}}, "experimental": {"a": {}}},
            ["form", "url"],
        ),
        # an empty elicitation means forms
        ({"elicitation": {"form": {}, "url": {}}}, {"elicitation": {}}, ["url"]),
        ({"elicitation": {"form": {}}}, {"elicitation": {}}, ["form"]),
        ({"elicitation": {}, "sampling": {}}, {"elicitation": {}}, ["sampling"]),
        # without handlers nothing is touched
        ({"elicitation": {}}, {"elicitation": {}}, []),
        ({"elicitation": True, "roots": 5}, {"elicitation": True, "roots": 5}, []),
    ],
)
def test_capabilities(sent, declared, kinds) -> None:
    before = copy.deepcopy(declared)

    assert merge_capabilities(declared, kinds) == sent
    assert declared == before


@pytest.mark.parametrize(
    ("place", "declared", "kinds"),
    [
        (r"client_capabilities\['elicitation'\]", {"elicitation": True}, ["form"]),
        (r"client_capabilities\['elicitation'\]", {"elicitation": None}, ["url"]),
        (r"client_capabilities\['roots'\]", {"roots": True}, ["roots"]),
        (r"client_capabilities\['elicitation'\]\['form'\]", {"elicitation": {"form": 1}}, ["form"]),
    ],
)
def test_what_a_handler_adds_to_must_be_an_object(place, declared, kinds) -> None:
    with pytest.raises(TypeError, match=rf"{place} must be an object"):
        merge_capabilities(declared, kinds)


@pytest.mark.parametrize(
    ("sent", "declared", "extensions"),
    [
        ({}, {}, {}),
        ({"extensions": {"a/b": {}}}, {}, {"a/b": {}}),
        ({"roots": {}, "extensions": {"a/b": {}}}, {"roots": {}}, {"a/b": {}}),
        (
            {"extensions": {"a/b": {"own": 1}, "c/d": {}, "e/f": {}}},
            {"extensions": {"a/b": {"own": 1}, "e/f": {}}},
            {"a/b": {}, "c/d": {}},
        ),
        ({"extensions": None}, {"extensions": None}, {"a/b": {}}),
        ({"extensions": {}}, {"extensions": {}}, {}),
    ],
)
def test_extensions_are_declared_where_the_version_has_them(sent, declared, extensions) -> None:
    before = copy.deepcopy(declared)

    assert with_extensions(declared, extensions, STATELESS) == sent
    assert declared == before
    assert all(with_extensions(declared, extensions, version) is declared for version in INITIALIZE)


def test_roots_may_change_where_that_was_said() -> None:
    check_roots_change({"roots": {"listChanged": True, "more": 1}})


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"roots": True},
        {"roots": {}},
        {"roots": {"listChanged": False}},
        {"roots": {"listChanged": 1}},
        {"sampling": {"listChanged": True}},
    ],
)
def test_else_nobody_is_told_that_they_changed(capabilities) -> None:
    with pytest.raises(ValueError, match=r'client_capabilities={"roots"'):
        check_roots_change(capabilities)
