"""The children of a static supervisor, as tables: a ref is a string such as "a1"."""

from __future__ import annotations

import pytest

from supervisors.machines.children import (
    AutoShutdown,
    Children,
    Ended,
    Entry,
    GiveUp,
    Restart,
    Retry,
)
from supervisors.words.errors import (
    AlreadyPresent,
    AlreadyStarted,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
)
from supervisors.words.reasons import KILLED, NORMAL, SHUTDOWN, Custom
from supervisors.words.specs import Backoff, ChildSpec, Count, Flags

BOOM = Custom("boom")
P, X, T = "permanent", "transient", "temporary"


def child(id: str, restart: str = P, **fields) -> ChildSpec:
    return ChildSpec(id, list, restart=restart, **fields)  # type: ignore[arg-type]


def running(specs: list[ChildSpec], *, up: bool = True, **flags) -> Children[str]:
    children: Children[str] = Children(specs, Flags(**{"max_restarts": 9, **flags}))
    for entry in list(children):
        if up:
            children.started(entry, f"{entry.spec.id}1", 0.0)
    return children


def places(children: Children[str]) -> dict[str, object]:
    return {entry.spec.id: entry.place for entry in children}


def ids(entries) -> str:
    return "".join(entry.spec.id for entry in entries)


def brief(then) -> object:
    """A decision as something that fits into a row."""
    match then:
        case Restart():
            return ("restart", ids(then.stop), ids(then.start), then.place)
        case Retry():
            return ("retry", then.entry.spec.id, then.ticket, then.seconds, ids(then.stop))
        case GiveUp():
            return ("give up", then.entry.spec.id, then.place)
        case AutoShutdown():
            return "shutdown"
        case _:
            return then


ONE, ALL, REST = "one_for_one", "one_for_all", "rest_for_one"
FOUR = [child("a"), child("b"), child("c", X), child("d", T)]

ENDS = [
    # strategy, who, why, reported, what follows, who is known afterwards
    (ONE, "b", BOOM, True, ("restart", "", "b", "b1"), "abcd"),
    (ONE, "b", NORMAL, True, ("restart", "", "b", "b1"), "abcd"),
    (ONE, "c", BOOM, True, ("restart", "", "c", "c1"), "abcd"),
    (ONE, "c", NORMAL, False, None, "abcd"),
    (ONE, "c", SHUTDOWN, False, None, "abcd"),
    (ONE, "d", KILLED, True, None, "abc"),
    (ONE, "d", NORMAL, False, None, "abc"),
    (ALL, "b", BOOM, True, ("restart", "dca", "abc", None), "abcd"),
    (ALL, "c", KILLED, True, ("restart", "dba", "abc", None), "abcd"),
    (ALL, "c", NORMAL, False, None, "abcd"),
    (ALL, "d", BOOM, True, None, "abc"),
    (REST, "a", BOOM, True, ("restart", "dcb", "abc", None), "abcd"),
    (REST, "b", BOOM, True, ("restart", "dc", "bc", None), "abcd"),
    (REST, "c", BOOM, True, ("restart", "d", "c", None), "abcd"),
    (REST, "d", BOOM, True, None, "abc"),
]


@pytest.mark.parametrize(("strategy", "who", "why", "reported", "then", "known"), ENDS)
def test_an_end(strategy, who, why, reported, then, known) -> None:  # noqa: PLR0917  # a row
    children = running(FOUR, strategy=strategy)

    ended = children.exited(f"{who}1", why, 1.0)

    assert ended is not None
    assert (who, f"{who}1", reported) == (ended.entry.spec.id, ended.ref, ended.reported)
    assert then == brief(ended.then)
    assert known == ids(children)


def test_a_child_that_ended_calmly_is_down_and_a_stranger_is_nobody() -> None:
    children = running(FOUR)
    children.exited("c1", NORMAL, 1.0)

    assert None is children.exited("c1", BOOM, 1.0)
    assert None is children.exited("z1", BOOM, 1.0)
    assert places(children) == {"a": "a1", "b": "b1", "c": None, "d": "d1"}


def carry_out(children: Children[str], restart: Restart[str], fail: str = "") -> Entry[str] | None:
    """Do what a shell does; returns the child whose start failed."""
    for entry in restart.stop:
        children.stopped(entry)
    for entry in restart.start:
        if entry.spec.id == fail:
            return entry
        children.started(entry, f"{entry.spec.id}2", 2.0)
    return None


@pytest.mark.parametrize(
    ("strategy", "after"),
    [
        (ONE, {"a": "a1", "b": "b2", "c": "c1", "d": "d1"}),
        (ALL, {"a": "a2", "b": "b2", "c": "c2"}),
        (REST, {"a": "a1", "b": "b2", "c": "c2"}),
    ],
)
def test_a_restart_keeps_the_order_and_drops_temporary_siblings(strategy, after) -> None:
    children = running(FOUR, strategy=strategy)
    ended = children.exited("b1", BOOM, 1.0)
    assert isinstance(ended.then, Restart)

    carry_out(children, ended.then)

    assert after == places(children)
    assert list(after) == list(places(children))
    assert None is children.exited("b1", BOOM, 3.0)
    assert children.exited("b2", BOOM, 3.0) is not None


def test_a_group_restart_revives_those_that_were_down() -> None:
    children = running([child("a"), child("b"), child("c")], strategy=REST)
    children.stopped(children.find("a"))
    children.stopped(children.find("c"))

    ended = children.exited("b1", BOOM, 1.0)

    assert brief(ended.then) == ("restart", "", "bc", None)


def test_a_restart_that_chooses_not_to_run_leaves_the_child_down() -> None:
    children = running([child("a"), child("b")])
    ended = children.exited("b1", BOOM, 1.0)

    children.started(ended.then.start[0], None, 1.0)

    assert places(children) == {"a": "a1", "b": None}


def test_a_failing_restart_is_tried_again_and_each_try_counts() -> None:
    children = running([child("a"), child("b")], max_restarts=3)
    said = []
    ended = children.exited("b1", BOOM, 1.0)
    entry = ended.entry
    then = ended.then
    while isinstance(then, Restart):
        said.append(brief(then))
        retry = children.failed(entry, 1.0)
        said.append(brief(retry))
        assert places(children) == {"a": "a1", "b": ("restarting", "b1")}
        then = children.retry(entry, retry.ticket, 1.0)
    said.append(brief(then))

    assert said == [
        ("restart", "", "b", "b1"),
        ("retry", "b", 1, 0.0, ""),
        ("restart", "", "b", ("restarting", "b1")),
        ("retry", "b", 2, 0.0, ""),
        ("restart", "", "b", ("restarting", "b1")),
        ("retry", "b", 3, 0.0, ""),
        ("give up", "b", ("restarting", "b1")),
    ]
    assert places(children) == {"a": "a1", "b": None}
    assert ids(children.stop_order()) == "a"


def test_a_retry_is_obsolete_once_something_else_happened() -> None:
    children = running([child("a")])
    entry = children.exited("a1", BOOM, 1.0).entry
    first = children.failed(entry, 1.0)
    second = children.failed(entry, 1.0)

    assert None is children.retry(entry, first.ticket, 1.0)
    children.stopped(entry)
    assert None is children.retry(entry, second.ticket, 1.0)
    children.started(entry, "a2", 1.0)
    assert None is children.retry(entry, second.ticket, 1.0)


@pytest.mark.parametrize(
    ("strategy", "again"),
    [(ALL, ("restart", "ba", "abcd", None)), (REST, ("restart", "", "cd", None))],
)
def test_a_failing_group_restart_is_tried_again_from_the_child_that_failed(strategy, again) -> None:
    children = running([child(id) for id in "abcd"], strategy=strategy)
    ended = children.exited("b1", BOOM, 1.0)

    failed = carry_out(children, ended.then, fail="c")
    retry = children.failed(failed, 1.0)

    assert failed.place == ("restarting", None)
    assert None is places(children)["d"]
    assert again == brief(children.retry(failed, retry.ticket, 1.0))


def test_a_child_in_a_retry_of_its_own_joins_the_restart_of_its_group() -> None:
    children = running([child("a"), child("b")], strategy=REST)
    b = children.exited("b1", BOOM, 1.0).entry
    retry = children.failed(b, 1.0)

    ended = children.exited("a1", BOOM, 1.0)

    assert brief(ended.then) == ("restart", "", "ab", None)
    assert None is b.place
    assert None is children.retry(b, retry.ticket, 1.0)


def test_the_window_is_shared_by_all_children() -> None:
    children = running([child("a"), child("b")], max_restarts=1)
    carry_out(children, children.exited("a1", BOOM, 1.0).then)

    assert brief(children.exited("b1", BOOM, 1.0).then) == ("give up", "b", "b1")
    assert places(children) == {"a": "a2", "b": None}


SIGNIFICANT = [
    # flag, who ended with what in turn, what followed
    ("any_significant", [("t", BOOM)], ["shutdown"]),
    ("any_significant", [("x", NORMAL)], ["shutdown"]),
    ("any_significant", [("x", BOOM)], [("restart", "", "x", "x1")]),
    ("any_significant", [("n", NORMAL)], [None]),
    ("all_significant", [("x", NORMAL), ("t", BOOM)], [None, "shutdown"]),
    ("all_significant", [("t", KILLED), ("x", SHUTDOWN)], [None, "shutdown"]),
]


@pytest.mark.parametrize(("flag", "ends", "thens"), SIGNIFICANT)
def test_auto_shutdown(flag, ends, thens) -> None:
    children = running(
        [child("n", X), child("x", X, significant=True), child("t", T, significant=True)],
        auto_shutdown=flag,
    )

    assert thens == [brief(children.exited(f"{id}1", why, 1.0).then) for id, why in ends]


def test_all_significant_counts_one_stopped_by_hand_as_gone() -> None:
    children = running(
        [child(id, X, significant=True) for id in "abc"], auto_shutdown="all_significant"
    )
    children.stopped(children.find("a"))
    children.exited("b1", NORMAL, 1.0)

    assert brief(children.exited("c1", NORMAL, 1.0).then) == "shutdown"


def test_all_significant_counts_one_that_is_being_restarted_as_there() -> None:
    children = running(
        [child(id, X, significant=True) for id in "ab"],
        strategy=ALL,
        auto_shutdown="all_significant",
    )
    failed = carry_out(children, children.exited("a1", BOOM, 1.0).then, fail="b")
    children.failed(failed, 1.0)
    children.failed(failed, 1.0)

    assert None is brief(children.exited("a2", NORMAL, 1.0).then)
    children.started(failed, "b2", 1.0)
    assert brief(children.exited("b2", NORMAL, 1.0).then) == "shutdown"


def test_a_sibling_stopped_in_a_group_restart_does_not_shut_down() -> None:
    children = running(
        [child("a"), child("t", T, significant=True)], strategy=ALL, auto_shutdown="any_significant"
    )
    ended = children.exited("a1", BOOM, 1.0)

    carry_out(children, ended.then)

    assert places(children) == {"a": "a2"}


SLOW = Backoff(1.0, 8.0, jitter=0.1)

DELAYED = [
    (ONE, ("retry", "b", 1, 1.1, ""), ("restart", "", "b", ("restarting", "b1")), "acd"),
    (ALL, ("retry", "b", 1, 1.1, "dca"), ("restart", "", "abc", None), ""),
    (REST, ("retry", "b", 1, 1.1, "dc"), ("restart", "", "bc", None), "a"),
]


@pytest.mark.parametrize(("strategy", "wait", "then", "up_meanwhile"), DELAYED)
def test_a_restart_with_a_delay(strategy, wait, then, up_meanwhile) -> None:
    specs = [child("a"), child("b", restart_delay=SLOW), child("c", X), child("d", T)]
    children = running(specs, strategy=strategy)

    ended = children.exited("b1", BOOM, 1.0, 1.0)
    assert wait == brief(ended.then)
    for entry in ended.then.stop:
        children.stopped(entry)
    assert places(children)["b"] == ("restarting", "b1")
    assert None is children.exited("b1", BOOM, 1.0)
    assert up_meanwhile == ids(reversed(children.stop_order()))
    assert then == brief(children.retry(ended.entry, 1, 2.0))


def test_the_delays_grow_with_every_failing_try() -> None:
    children = running([child("a", restart_delay=SLOW)])
    entry = children.exited("a1", BOOM, 1.0).entry

    assert [children.failed(entry, 1.0, 0.5).seconds for _ in range(4)] == [2.0, 4.0, 8.0, 8.0]


def test_a_new_child_is_the_last_in_order() -> None:
    children = running([child("a"), child("b")])
    assert children.auto_shutdown == "never"

    children.add(Entry(child("c")), "c1", 1.0)
    children.add(Entry(child("i")), None, 1.0)
    children.add(Entry(child("t", T)), None, 1.0)

    assert ids(children) == "abci"
    assert ids(children.stop_order()) == "cba"


def test_a_temporary_child_that_ignores_its_start_is_forgotten() -> None:
    children = running([child("a"), child("t", T)], up=False)

    for entry in list(children):
        children.started(entry, None, 0.0)

    assert places(children) == {"a": None}


def test_what_may_be_done_with_a_child() -> None:
    children = running([child("run"), child("down"), child("again")])
    children.stopped(children.find("down"))
    children.failed(children.exited("again1", BOOM, 1.0).entry, 1.0)

    def refusal(ask, id: str) -> type[Exception] | None:
        try:
            ask(id)
        except Exception as error:
            return type(error)
        return None

    assert [
        (children.check_new, [AlreadyStarted, AlreadyPresent, AlreadyPresent, None]),
        (children.find, [None, None, None, ChildNotFound]),
        (children.find_down, [ChildRunning, None, ChildRestarting, ChildNotFound]),
        (children.delete, [ChildRunning, None, ChildRestarting, ChildNotFound]),
    ] == [
        (ask, [refusal(ask, id) for id in ("run", "down", "again", "new")])
        for ask in (children.check_new, children.find, children.find_down, children.delete)
    ]
    assert refusal(children.find, ["no", "id"]) is ChildNotFound  # type: ignore[arg-type]
    assert list(places(children)) == ["run", "again"]


def test_the_lists_and_counts() -> None:
    children = running([child("a"), child("s", type="supervisor"), child("b", X), child("c")])
    children.exited("b1", NORMAL, 1.0)
    children.failed(children.exited("c1", BOOM, 1.0).entry, 1.0)

    assert children.which() == [
        ("c", "restarting", "worker"),
        ("b", None, "worker"),
        ("s", "s1", "supervisor"),
        ("a", "a1", "worker"),
    ]
    assert Count(specs=4, active=1, supervisors=1, workers=3) == children.count(lambda r: r == "a1")


def test_an_end_says_all_a_report_needs() -> None:
    children = running([child("a")])
    entry = children.find("a")

    ended = children.exited("a1", BOOM, 1.0)

    assert Ended(entry, "a1", True, Restart((), (entry,), "a1")) == ended


def test_a_restart_looks_at_no_other_child() -> None:
    children = running([child(str(i)) for i in range(1000)])
    children._entries = None  # type: ignore[assignment]  # whoever walks them fails

    ended = children.exited("5001", BOOM, 1.0)
    children.started(ended.then.start[0], "5002", 1.0)

    assert children.exited("5002", BOOM, 2.0) is not None
