from __future__ import annotations

from snodo_actors.machines.overdue import Overdue


def test_each_has_its_time_from_when_it_began():
    overdue = Overdue[str](limit=10.0)
    assert (overdue.next_at(), overdue.due(99.0)) == (None, [])
    for thing, now in (("a", 0.0), ("b", 1.0), ("c", 1.0), ("d", 5.0)):
        overdue.began(thing, now)
    assert (overdue.next_at(), overdue.due(9.9)) == (10.0, [])
    assert (overdue.due(11.0), overdue.next_at()) == (["a", "b", "c"], 15.0)


def test_what_ended_in_time_is_never_due_and_what_is_due_ends_too_late():
    overdue = Overdue[str](limit=10.0)
    overdue.began("a", 0.0)
    overdue.began("b", 0.0)
    assert (overdue.ended("a"), overdue.ended("a")) == (True, False)
    assert overdue.due(10.0) == ["b"]
    assert (overdue.ended("b"), overdue.next_at()) == (False, None)
