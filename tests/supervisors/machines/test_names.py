"""Who owns which key."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from supervisors.machines.names import Names

A, B = "owner a", "owner b"


def table(*entries: tuple[str, str, Any], unique: bool = True) -> Names[str]:
    names = Names[str](unique=unique)
    for key, owner, value in entries:
        names.register(key, owner, value)
    return names


def test_a_unique_key_has_one_owner_who_is_named_to_the_next() -> None:
    names = Names[str](unique=True)

    assert (
        names.register("k", A, 1),
        names.register("k", B, 2),
        names.register("k", A, 3),
    ) == (None, A, A)
    assert (names.lookup("k"), names.owner("k"), len(names)) == ([(A, 1)], A, 1)


def test_a_duplicate_key_has_any_number_of_entries_oldest_first() -> None:
    names = Names[str](unique=False)

    assert [names.register("k", owner, n) for n, owner in enumerate((A, B, A))] == [None] * 3
    assert names.lookup("k") == [(A, 0), (B, 1), (A, 2)]
    assert (names.owner("k"), names.keys(A), names.keys(B), len(names)) == (A, ["k", "k"], ["k"], 3)


def test_an_unknown_key_and_an_unknown_owner_have_nothing() -> None:
    names = table(("k", A, 1))

    assert (names.lookup("?"), names.owner("?"), names.keys(B)) == ([], None, [])
    assert (
        names.unregister("?", A),
        names.unregister("k", B),
        names.release(B),
    ) == (False, False, [])
    assert not names.unregister_value("?", A, 1)
    assert names.entries() == [("k", A, 1)]


def test_unregister_takes_out_every_entry_of_that_key_and_owner() -> None:
    names = table(("k", A, 1), ("k", B, 2), ("k", A, 3), ("j", A, 4), unique=False)

    assert names.unregister("k", A)
    assert names.entries() == [("k", B, 2), ("j", A, 4)]
    assert (names.keys(A), names.keys(B)) == (["j"], ["k"])


def test_unregister_value_takes_out_only_what_holds_it() -> None:
    names = table(("k", A, 1), ("k", B, 1), ("k", A, 2), unique=False)

    assert (
        names.unregister_value("k", A, 9),
        names.unregister_value("k", A, 1),
        names.unregister_value("k", A, 1),
    ) == (False, True, False)
    assert names.lookup("k") == [(B, 1), (A, 2)]
    assert names.keys(A) == ["k"]


def test_release_frees_everything_an_owner_had() -> None:
    names = table(("k", A, 1), ("j", A, 2), ("i", B, 3))

    assert names.release(A) == ["k", "j"]
    assert (
        names.release(A),
        names.keys(A),
        names.entries(),
        names.register("k", B),
    ) == ([], [], [("i", B, 3)], None)


def test_release_names_a_key_once_that_was_held_twice() -> None:
    names = table(("k", A, 1), ("k", A, 2), unique=False)

    assert (names.release(A), len(names)) == (["k"], 0)


def test_the_owner_alone_changes_a_value() -> None:
    names = table(("k", A, 1))

    assert (
        names.update("k", A, 5),
        names.update("k", B, 6),
        names.update("?", A, 7),
    ) == ((5, 1), None, None)
    assert names.lookup("k") == [(A, 5)]


def test_what_is_looked_up_is_a_copy() -> None:
    names = table(("k", A, 1))
    names.lookup("k").clear()
    names.entries().clear()
    names.keys(A).clear()

    assert names.entries() == [("k", A, 1)]


DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["register", "unregister", "unregister_value", "release"]),
        st.sampled_from("kji"),
        st.sampled_from([A, B]),
        st.integers(0, 2),
    ),
    max_size=40,
)


@settings(max_examples=200)
@given(DEEDS, st.booleans())
def test_both_sides_of_the_table_say_the_same(deeds, unique) -> None:
    names, model = Names[str](unique=unique), list[tuple[str, str, int]]()
    for deed, key, owner, value in deeds:
        match deed:
            case "register":
                taken = next((o for k, o, _ in model if k == key), None) if unique else None
                assert taken == names.register(key, owner, value)
                if taken is None:
                    model.append((key, owner, value))
            case "unregister":
                left = [entry for entry in model if entry[:2] != (key, owner)]
                assert (len(left) < len(model)) == names.unregister(key, owner)
                model = left
            case "unregister_value":
                left = [entry for entry in model if entry != (key, owner, value)]
                assert (len(left) < len(model)) == names.unregister_value(key, owner, value)
                model = left
            case "release":
                assert {k for k, o, _ in model if o == owner} == set(names.release(owner))
                model = [entry for entry in model if entry[1] != owner]

    assert sorted(model) == sorted(names.entries())  # type: ignore[type-var]
    assert len(model) == len(names)
    for key in "kji":
        assert [(o, v) for k, o, v in model if k == key] == names.lookup(key)
    for owner in (A, B):
        assert sorted(k for k, o, _ in model if o == owner) == sorted(names.keys(owner))  # type: ignore[type-var]
