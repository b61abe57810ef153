from __future__ import annotations

import math
import warnings

import pytest

from snodo_actors.words.checks import (
    MillisecondsWarning,
    boolean,
    mapping,
    one_of,
    pairs,
    positive,
    seconds,
    takes_one_argument,
    text,
)


@pytest.mark.parametrize(
    ("checked", "value"),
    [
        (None, None),
        (None, math.inf),
        (None, 1e9),
        (None, 10**400),  # past all floats
        (0.001, 0.001),
        (30.0, 30),
        (999.0, 999),
        (1000.0, 1000.0),
    ],
)
def test_a_time_is_in_seconds(checked, value) -> None:
    assert seconds("timeout", value) == checked
    assert type(seconds("timeout", value)) is type(checked)


@pytest.mark.parametrize(
    ("error", "value"),
    [
        (TypeError, "30"),
        (TypeError, True),
        (TypeError, False),
        (TypeError, [30]),
        (TypeError, 30j),
        (ValueError, 0),
        (ValueError, 0.0),
        (ValueError, -1),
        (ValueError, -0.5),
        (ValueError, math.nan),
        (ValueError, -math.inf),
    ],
)
def test_what_is_no_time_is_refused(error, value) -> None:
    with pytest.raises(error, match=r"probe_timeout must .*: write probe_timeout=30\.0"):
        seconds("probe_timeout", value)


def test_an_int_of_a_thousand_looks_like_milliseconds() -> None:
    with pytest.warns(MillisecondsWarning, match=r"for 1500 ms write timeout=1\.5, else timeout="):
        assert seconds("timeout", 1500) == 1500.0


def test_the_warning_comes_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            seconds("timeout", 2500)

    assert len(caught) == 1


@pytest.mark.parametrize(
    ("error", "value"),
    [
        (TypeError, "1"),
        (TypeError, 1.0),
        (TypeError, True),
        (TypeError, None),
        (ValueError, 0),
        (ValueError, -1),
    ],
)
def test_a_number_is_whole_and_at_least_one(error, value) -> None:
    with pytest.raises(error, match=r"max_pages must .*: write max_pages=10"):
        positive("max_pages", value)
    assert positive("max_pages", 1) == 1


@pytest.mark.parametrize("value", [0, 1, None, "true", []])
def test_true_is_true_and_nothing_else(value) -> None:
    with pytest.raises(TypeError, match="cache must be True or False"):
        boolean("cache", value)
    assert boolean("cache", True) is True


@pytest.mark.parametrize("value", [None, [], "x", [("a", 1)], {1: 2}, {None: 2}])
def test_a_mapping_has_strings_as_keys(value) -> None:
    with pytest.raises(TypeError, match="meta must"):
        mapping("meta", value)


def test_a_mapping_is_copied() -> None:
    given = {"a": 1}
    taken = mapping("meta", given)

    assert (taken, taken is given) == (given, False)


def test_a_text_is_a_string() -> None:
    with pytest.raises(TypeError, match="cd must be a string"):
        text("cd", b"x")
    assert text("cd", "") == ""


def test_a_choice_is_one_of_several() -> None:
    one_of("overflow", "a", ("a", "b"))
    with pytest.raises(ValueError, match=r"overflow must be one of 'a', 'b', not 'c'"):
        one_of("overflow", "c", ("a", "b"))


class Callable:
    def __call__(self, params) -> None: ...

    def method(self, params) -> None: ...

    def other(self) -> None: ...


async def of_one(params) -> None: ...


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (True, lambda params: params),
        (True, lambda *params: params),
        (True, lambda params, more=1: params),
        (True, of_one),
        (True, print),
        (True, Callable()),
        (True, Callable().method),
        (True, min),  # says nothing of its signature
        (False, Callable().other),
        (False, lambda: None),
        (False, lambda a, b: None),
        (False, lambda *, a: None),
        (False, "print"),
        (False, None),
    ],
)
def test_a_function_takes_one_argument(answer, value) -> None:
    assert takes_one_argument(value) is answer


@pytest.mark.parametrize(
    ("found", "value"),
    [
        ([("a", 1), ("b", 2)], {"a": 1, "b": 2}),
        ([("a", 1), ("a", 2)], [("a", 1), ["a", 2]]),
        ([("a", 1)], iter([("a", 1)])),
        ([], ()),
        ([], {}),
    ],
)
def test_pairs_come_as_a_mapping_or_a_list(found, value) -> None:
    assert pairs("headers", value) == found


@pytest.mark.parametrize(
    "value",
    [None, 5, "ab", b"ab", ["ab"], [("a",)], [("a", "b", "c")], [None], [b"ab"], ["a", "b"]],
)
def test_what_is_no_pair_is_refused(value) -> None:
    with pytest.raises(TypeError, match="headers must be a mapping or a list of pairs"):
        pairs("headers", value)
