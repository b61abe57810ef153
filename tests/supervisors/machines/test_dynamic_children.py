"""The children of a dynamic supervisor, as tables: a ref is a string such as "a1"."""

from __future__ import annotations

import pytest

from supervisors.machines.children import AutoShutdown, Entry, GiveUp, Restart, Retry
from supervisors.machines.dynamic_children import DynamicChildren
from supervisors.words.errors import ChildNotFound, MaxChildren
from supervisors.words.reasons import KILLED, NORMAL, SHUTDOWN, Custom
from supervisors.words.specs import Backoff, ChildSpec, Count, Flags

BOOM = Custom("boom")
P, X, T = "permanent", "transient", "temporary"


def child(restart: str = P, **fields) -> ChildSpec:
    return ChildSpec("id", list, restart=restart, **fields)  # type: ignore[arg-type]


def running(*refs: str, spec: ChildSpec | None = None, **options) -> DynamicChildren[str]:
    flags = {k: options.pop(k) for k in ("max_restarts", "auto_shutdown") if k in options}
    children: DynamicChildren[str] = DynamicChildren(Flags(**flags), **options)
    for ref in refs:
        children.add(Entry(spec or child()), ref, 0.0)
    return children


def refs(children: DynamicChildren[str]) -> list[object]:
    return [line.ref for line in children.which()]


def brief(then) -> object:
    match then:
        case Restart():
            return ("restart", then.place)
        case Retry():
            return ("retry", then.ticket, then.seconds)
        case GiveUp():
            return ("give up", then.place)
        case AutoShutdown():
            return "shutdown"
        case _:
            return then


ENDS = [
    (P, BOOM, True, ("restart", ("restarting", "a1")), ["restarting", "b1"]),
    (P, NORMAL, True, ("restart", ("restarting", "a1")), ["restarting", "b1"]),
    (X, KILLED, True, ("restart", ("restarting", "a1")), ["restarting", "b1"]),
    (X, SHUTDOWN, False, None, ["b1"]),
    (T, BOOM, True, None, ["b1"]),
    (T, NORMAL, False, None, ["b1"]),
]


@pytest.mark.parametrize(("restart", "why", "reported", "then", "left"), ENDS)
def test_an_end(restart, why, reported, then, left) -> None:
    children = running("a1", "b1", spec=child(restart))

    ended = children.exited("a1", why, 1.0)

    assert ended is not None
    assert (then, reported) == (brief(ended.then), ended.reported)
    assert left == refs(children)
    assert None is children.exited("a1", why, 1.0)
    assert None is children.exited("z1", why, 1.0)


def test_a_restarted_child_has_a_new_ref_and_the_old_one_is_nobody() -> None:
    children = running("a1", "b1")
    entry = children.exited("a1", BOOM, 1.0).entry

    children.started(entry, "a2", 1.0)

    assert refs(children) == ["b1", "a2"]
    with pytest.raises(ChildNotFound):
        children.find("a1")
    assert entry is children.find("a2")


def test_a_child_that_ignores_its_restart_is_forgotten() -> None:
    children = running("a1")

    children.started(children.exited("a1", BOOM, 1.0).entry, None, 1.0)

    assert len(children) == 0


TRIES = [
    # OTP's simple_one_for_one first reports the plain ref, Elixir's DynamicSupervisor never
    (child(), "a1", ("give up", ("restarting", "a1"))),
    (None, ("restarting", "a1"), ("give up", "a1")),
]


@pytest.mark.parametrize(("template", "first_place", "end"), TRIES)
def test_a_failing_restart_is_tried_again_and_each_try_counts(template, first_place, end) -> None:
    children = running("a1", max_restarts=2, template=template)
    ended = children.exited("a1", BOOM, 1.0)
    entry, said = ended.entry, [brief(ended.then)]
    for _ in range(2):
        retry = children.failed(entry, 1.0)
        said += [brief(retry), brief(children.retry(entry, retry.ticket, 1.0))]

    assert [
        ("restart", first_place),
        ("retry", 1, 0.0),
        ("restart", ("restarting", "a1")),
        ("retry", 2, 0.0),
        end,
    ] == said
    assert len(children) == 0


def test_a_child_stopped_between_two_tries_is_tried_no_more() -> None:
    children = running("a1")
    entry = children.exited("a1", BOOM, 1.0).entry
    retry = children.failed(entry, 1.0)
    assert entry is children.find("a1")

    children.stopped(entry)

    assert None is children.retry(entry, retry.ticket, 1.0)
    assert refs(children) == []


def test_an_older_retry_is_obsolete() -> None:
    children = running("a1")
    entry = children.exited("a1", BOOM, 1.0).entry
    older = children.failed(entry, 1.0)
    children.failed(entry, 1.0)

    assert None is children.retry(entry, older.ticket, 1.0)


def test_a_restart_with_a_delay() -> None:
    slow = child(restart_delay=Backoff(1.0, 8.0, jitter=0.5))
    children = running("a1", spec=slow)

    ended = children.exited("a1", BOOM, 1.0, 0.0)

    assert brief(ended.then) == ("retry", 1, 0.5)
    assert refs(children) == ["restarting"]
    assert brief(children.retry(ended.entry, 1, 1.5)) == ("restart", ("restarting", "a1"))
    assert brief(children.failed(ended.entry, 1.5, 0.5)) == ("retry", 2, 2.0)


def test_room() -> None:
    children = running("a1", max_children=2)
    children.check_room()
    children.add(Entry(child()), "b1", 0.0)

    with pytest.raises(MaxChildren):
        children.check_room()
    children.failed(children.exited("a1", BOOM, 1.0).entry, 1.0)
    with pytest.raises(MaxChildren):
        children.check_room()
    children.stopped(children.find("b1"))
    children.check_room()
    running("a1").check_room()


@pytest.mark.parametrize(
    ("flag", "significant", "thens"),
    [
        ("all_significant", True, [None, "shutdown"]),
        ("any_significant", True, ["shutdown", "shutdown"]),
        ("any_significant", False, [None, None]),
        ("never", False, [None, None]),
    ],
)
def test_auto_shutdown(flag, significant, thens) -> None:
    spec = child(X, significant=significant)
    children = running("a1", "b1", spec=spec, template=spec, auto_shutdown=flag)

    assert thens == [brief(children.exited(ref, NORMAL, 1.0).then) for ref in ("a1", "b1")]


def test_the_lists_and_counts() -> None:
    template = child()
    children = running("a1", "b1", template=template)
    children.add(Entry(child(type="supervisor")), "s1", 0.0)
    children.failed(children.exited("b1", BOOM, 1.0).entry, 1.0)

    assert children.which() == [
        (None, "a1", "worker"),
        (None, "restarting", "worker"),
        (None, "s1", "supervisor"),
    ]
    assert [entry.ref for entry in children.running()] == ["a1", "s1"]
    assert Count(1, 1, 1, 2) == children.count(lambda ref: ref == "a1")
    assert Count(2, 2, 0, 2) == running("a1", "b1").count(lambda _ref: True)


def test_a_report_names_the_template_and_nothing_else() -> None:
    entry = Entry[str](child())

    assert running(template=child()).report_id(entry) == "id"
    assert None is running().report_id(entry)


def test_a_child_is_started_with_its_own_arguments() -> None:
    spec = child(args=(1,))

    assert (Entry[str](spec).args, Entry[str](spec, (1, 2)).args) == ((1,), (1, 2))
