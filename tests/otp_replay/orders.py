"""Whether two runs are the same, by the rule of the scenario: total, partial or variable order."""

from __future__ import annotations

import re
from typing import Any, Final

from .bent import bend
from .scenario import Event, Json, Scenario
from .show import difference, line

_PID: Final = re.compile(r"^(.+)#\d+$")


def differences(scenario: Scenario, got: list[Event]) -> list[str]:
    """Say how the events *got* differ from what the scenario expects."""
    match scenario.order:
        case "total":
            return _total(scenario, got)
        case "partial":
            return _partial(scenario, got)
        case _:
            return _variable(scenario, got)


def without_number(value: Json) -> Json:
    """Give *value* with "id" for every "id#n"."""
    match value:
        case str():
            return _PID.sub(r"\1", value)
        case dict():
            return {key: without_number(item) for key, item in value.items() if key != "n"}
        case list():
            return [without_number(item) for item in value]
        case _:
            return value


def timeless(event: Event) -> dict[str, Any]:
    """Give *event* as it is compared."""
    return {key: bend(value) for key, value in event.items() if key != "t"}


def _total(scenario: Scenario, got: list[Event]) -> list[str]:
    if [timeless(event) for event in scenario.expected] == [timeless(event) for event in got]:
        return []
    return ["the events differ", *difference(scenario.expected, got)]


def _partial(scenario: Scenario, got: list[Event]) -> list[str]:
    left = list(enumerate(timeless(event) for event in got))
    place: dict[int, int] = {}
    problems: list[str] = []
    for index, event in enumerate(scenario.expected):
        found = next((item for item in left if item[1] == timeless(event)), None)
        if found is None:
            problems.append(f"  missing: {line(event)}")
        else:
            place[index] = found[0]
            left.remove(found)
    problems += [f"  unexpected: {line(got[index])}" for index, _ in left]
    problems += [
        f"  out of order: {line(scenario.expected[first])}  must be before  "
        f"{line(scenario.expected[then])}"
        for first, then in scenario.before
        if first in place and then in place and place[first] > place[then]
    ]
    if not problems:
        return []
    return ["the events differ", *problems, *difference(scenario.expected, got)]


def _variable(scenario: Scenario, got: list[Event]) -> list[str]:
    collapsed = collapse(got)
    variants = scenario.variants or [scenario.expected]
    if any(collapse(variant) == collapsed for variant in variants):
        return []
    shown = difference(collapse(variants[0]), collapsed)
    return [f"the events are none of the {len(variants)} variants; with the first:", *shown]


def collapse(events: list[Event]) -> list[Event]:
    """Drop repeated failing starts and all incarnation numbers."""
    kept: list[Event] = []
    for event in events:
        bare = without_number(timeless(event))
        if not (event["ev"] == "start" and _fails(event["outcome"]) and bare in kept):
            kept.append(bare)
    return kept


def _fails(outcome: Json) -> bool:
    match outcome:
        case "ok" | "hibernate" | "ignore" | {"timeout": _} | {"continue": _}:
            return False
        case _:
            return True
