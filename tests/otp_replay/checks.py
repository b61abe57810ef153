"""The times that matter: how long after one event another one comes."""

from __future__ import annotations

from .scenario import Event, Scenario


def late_or_early(scenario: Scenario, got: list[Event], slack: float) -> list[str]:
    """Say which time bounds the events *got* break; upper bounds are multiplied by *slack*."""
    problems: list[str] = []
    for check in scenario.checks:
        after, event = check["after"], check["event"]
        began = _find(got, after, 0)
        ended = _find(got, event, 0 if began is None else began + 1)
        if began is None or ended is None:
            problems.append(f"no time from `{after}` to `{event}`: one of them did not happen")
            continue
        took = got[ended]["t"] - got[began]["t"]
        low, high = check.get("min_ms", 0), check.get("max_ms")
        high = None if high is None else high * slack
        if took < low or (high is not None and took > high):
            problems.append(
                f"from `{after}` to `{event}` it took {took:.1f} ms; expected {low} to {high} ms"
            )
    return problems


def _find(events: list[Event], key: str, start: int) -> int | None:
    found = (index for index in range(start, len(events)) if key in _keys(events[index]))
    return next(found, None)


def _keys(event: Event) -> set[str]:
    """The names a check may call *event* by: "down a#1", "result terminate_child"."""
    keys = {event["ev"]}
    if "id" in event and "n" in event:
        keys.add(f"{event['ev']} {event['id']}#{event['n']}")
    for field in ("op", "id", "tag"):
        if field in event:
            keys.add(f"{event['ev']} {event[field]}")
    if "op" in event and "id" in event:
        keys.add(f"{event['ev']} {event['op']} {event['id']}")
    return keys
