"""What is left after a run: the tree, the mailbox of the root's parent, the reports."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from .bent import bend
from .orders import without_number
from .scenario import Json, Scenario
from .seen import Written
from .show import compact

_AFTER_DEATH = ("child_terminated", "shutdown_error", "shutdown")
"""What a supervisor reports once it saw the end of the child."""


def final_differs(scenario: Scenario, got: Json) -> list[str]:
    """Say how the tree that is left differs."""
    expected, got = bend(scenario.final), bend(got)
    if scenario.order == "variable":
        expected, got = without_number(expected), without_number(got)
    expected, got = _unordered(scenario.tree, expected), _unordered(scenario.tree, got)
    if expected == got:
        return []
    return ["the final tree differs", f"- {compact(expected)}", f"+ {compact(got)}"]


def mailbox_differs(scenario: Scenario, got: list[Json]) -> list[str]:
    """Say how the mailbox of the root's parent differs."""
    expected, got = bend(scenario.parent_mailbox), bend(got)
    if expected == got:
        return []
    return ["the parent's mailbox differs", f"- {compact(expected)}", f"+ {compact(got)}"]


def reports_differ(scenario: Scenario, got: Sequence[Written]) -> list[str]:
    """Say how the reports differ.

    Reports of one process come in its order, and its own before what its supervisor says of its
    end; otherwise the recorded order is chance.
    """
    expected = [bend(report) for report in scenario.reports]
    if scenario.order == "variable":
        return _as_sets(expected, [bend(written.said) for written in got])
    left = list(range(len(got)))
    place: dict[int, int] = {}
    problems: list[str] = []
    for index, report in enumerate(expected):
        found = next((at for at in left if _is_same(report, bend(got[at].said))), None)
        if found is None:
            problems.append(f"  missing: {compact(report)}")
        else:
            place[index] = found
            left.remove(found)
    problems += [f"  unexpected: {compact(got[at].said)}" for at in left]
    for first, then in combinations(sorted(place), 2):
        one, other = place[first], place[then]
        is_ordered = got[one].by == got[other].by or _is_cause(expected[first], expected[then])
        if is_ordered and one > other:
            problems.append(
                f"  out of order: {compact(expected[first])}  must be before  "
                f"{compact(expected[then])}"
            )
    return ["the reports differ", *problems] if problems else []


def _is_same(expected: Json, got: Json) -> bool:
    if expected == got:
        return True
    # In a terminate report the recordings write an exit with its stacktrace, like a raise.
    reason = expected.get("reason")
    return (
        expected["report"] == "gen_server_terminate"
        and isinstance(reason, dict)
        and {**expected, "reason": reason.get("raised")} == got
    )


def _is_cause(first: Json, then: Json) -> bool:
    return (
        then["report"] == "supervisor"
        and then["context"] in _AFTER_DEATH
        and first.get("id") == then["pid"]
    )


def _as_sets(expected: list[Json], got: list[Json]) -> list[str]:
    before = {compact(without_number(report)) for report in expected}
    after = {compact(without_number(report)) for report in got}
    problems = [f"  missing: {report}" for report in sorted(before - after)]
    problems += [f"  unexpected: {report}" for report in sorted(after - before)]
    return ["the reports differ", *problems] if problems else []


def _unordered(node: Json, final: Json) -> Json:
    """Sort the children of dynamic supervisors: theirs have no order."""
    if not isinstance(final, dict) or node is None:
        return final
    below = {child["id"]: child for child in node.get("children") or [] if "id" in child}
    final = dict(final)
    if "sub" in final:
        final["sub"] = [_unordered(below.get(sub["id"]), sub) for sub in final["sub"]]
    is_dynamic = "impl" in node or node.get("strategy") == "simple_one_for_one"
    if is_dynamic and "children_which_order" in final:
        final["children_which_order"] = sorted(final["children_which_order"], key=compact)
    return final
