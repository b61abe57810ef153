"""How the children of a supervisor may be written."""

from __future__ import annotations

import pickle

import pytest

from supervisors.words.errors import SpecError
from supervisors.words.reasons import Custom
from supervisors.words.spec_lists import SpecTerm, as_spec, as_specs
from supervisors.words.specs import ChildSpec


def start() -> None: ...


class Counter:
    @classmethod
    def child_spec(cls, *args, id: str = "counter") -> ChildSpec:
        return ChildSpec(id, start, args=args)


class AsDict:
    @classmethod
    def child_spec(cls) -> dict:
        return {"id": "dict", "start": start}


class Nothing:
    @classmethod
    def child_spec(cls) -> None: ...


class Plain: ...


WRITTEN = [
    ("a spec", ChildSpec("a", start), ChildSpec("a", start)),
    ("a dict", {"id": "a", "start": start, "restart": "temporary"},
     ChildSpec("a", start, restart="temporary")),
    ("a class", Counter, ChildSpec("counter", start)),
    ("a class and arguments", (Counter, 1, 2), ChildSpec("counter", start, args=(1, 2))),
    ("a class alone in a tuple", (Counter,), ChildSpec("counter", start)),
    ("its child_spec()", Counter.child_spec(5, id="five"), ChildSpec("five", start, args=(5,))),
    ("a class that answers with a dict", AsDict, ChildSpec("dict", start)),
]  # fmt: skip


@pytest.mark.parametrize(("said", "written", "spec"), WRITTEN)
def test_a_child_may_be_written_as(said, written, spec) -> None:
    assert spec == as_spec(written)


async def called() -> None: ...


WRONG = [
    (5, "is no child spec"),
    (None, "is no child spec"),
    ((), "is no child spec"),
    ((5, Counter), "is no child spec"),
    ([Counter, 5], "is no child spec"),
    (start, "a function alone has no id"),
    (called(), "it was called"),
    (Plain, r"Plain has no child_spec\(\)"),
    ((Plain, 1), r"Plain has no child_spec\(\)"),
    (Nothing, r"Nothing.child_spec\(\) returned it"),
]


@pytest.mark.parametrize(("written", "says"), WRONG)
def test_what_is_no_child_is_refused_and_told_what_to_write(written, says) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        as_spec(written)

    assert refused.value.term[0] == "invalid_child_spec"
    assert "Write for example `ChildSpec(id=" in str(refused.value)


DICTS = [
    ({"start": start}, "missing_id"),
    ({"id": "a"}, "missing_start"),
    ({"id": "a", "start": start, "restart": "x"}, ("invalid_restart_type", "x")),
]


@pytest.mark.parametrize(("written", "term"), DICTS)
def test_a_wrong_dict_is_refused(written, term) -> None:
    with pytest.raises(SpecError) as refused:
        as_spec(written)

    assert term == refused.value.term


def test_a_misspelt_field_is_named() -> None:
    with pytest.raises(SpecError, match="no field 'restrat'"):
        as_spec({"id": "a", "start": start, "restrat": "permanent"})


NO_LISTS = [5, "ab", {"a": Counter}, Counter, ChildSpec("a", start)]


@pytest.mark.parametrize("children", NO_LISTS, ids=repr)
def test_what_is_no_list_of_children_is_refused(children) -> None:
    with pytest.raises(SpecError, match="children must be a list") as refused:
        as_specs(children)

    assert ("invalid_children", children) == refused.value.term


def test_a_list_may_mix_them_and_may_be_a_generator() -> None:
    children = (child for child in (Counter, AsDict, {"id": "a", "start": start}))

    assert [spec.id for spec in as_specs(children)] == ["counter", "dict", "a"]


def spec(id: str, restart: str, *, significant: bool = True) -> ChildSpec:
    return ChildSpec(id, start, restart=restart, significant=significant)  # type: ignore[arg-type]


NEVER = ("bad_combination", [("auto_shutdown", "never"), ("significant", True)])
PERMANENT = ("bad_combination", [("restart", "permanent"), ("significant", True)])
TOGETHER = [
    ("two with one id", [Counter, (Counter, 2)], None, ("duplicate_child_name", "counter")),
    ("significant for nothing", [spec("a", "transient")], "never", NEVER),
    ("permanent and for nothing", [spec("a", "permanent")], "never", NEVER),
    ("permanent", [spec("a", "permanent")], "any_significant", PERMANENT),
    ("permanent, whatever the flag", [spec("a", "permanent")], None, PERMANENT),
    ("the first mistake", [spec("a", "permanent"), spec("a", "transient")], None, PERMANENT),
]


@pytest.mark.parametrize(("said", "children", "flag", "term"), TOGETHER)
def test_children_that_do_not_go_together(said, children, flag, term) -> None:
    with pytest.raises(SpecError) as refused:
        as_specs(children, flag)

    assert term == refused.value.term


def test_children_that_do() -> None:
    children = [
        spec("a", "transient"),
        spec("b", "temporary"),
        spec("c", "permanent", significant=False),
    ]

    assert children == as_specs(children, "all_significant")
    assert children == as_specs(children)
    assert as_specs([], "never") == []


def test_an_exit_term_equals_otps_and_reads_as_an_explanation() -> None:
    term = SpecTerm("start_spec", SpecError("two children have the id 'a'.", "x"))

    assert Custom(("start_spec", "x")) == Custom(term)
    assert str(Custom(term)) == "two children have the id 'a'."
    again = pickle.loads(pickle.dumps(term))
    assert (term, str(term)) == (again, str(again))
