"""Replays one scenario on a node of its own, and says how it differs from the recording."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Final

import anyio

from supervisors import Node, spawn, subscribe_reports, when_down

from .aftermath import final_differs, mailbox_differs, reports_differ
from .bent import WITHOUT_MEANING
from .checks import late_or_early
from .orders import differences
from .reports import Clerk
from .runner import run
from .scenario import Scenario
from .seen import Seen
from .world import World

DEADLINE_SECONDS: Final = 20.0
_GRACE_SECONDS: Final = 3.0


def replay(
    scenario: Scenario,
    *,
    slack: float = 1.0,
    deadline: float = DEADLINE_SECONDS,
    backend: str = "asyncio",
) -> list[str]:
    """Replay *scenario* and give the lines that say how it differs; none if it does not.

    Args:
        scenario: What to replay.
        slack: Upper time bounds are multiplied by it.
        deadline: Seconds after which the replay counts as hanging.
        backend: The event loop, "asyncio" or "trio".
    """
    if scenario.name in WITHOUT_MEANING:
        return []
    seen = Seen()
    thread = threading.Thread(
        target=_in_thread, args=(scenario, seen, deadline, backend), daemon=True
    )
    thread.start()
    thread.join(deadline + _GRACE_SECONDS)
    if thread.is_alive():
        seen.trouble.append(f"the event loop hangs, at {seen.step}")
        seen.trouble += _stack(thread)
    return _problems(scenario, seen, slack)


def _problems(scenario: Scenario, seen: Seen, slack: float) -> list[str]:
    events = list(seen.events)
    if seen.trouble or not seen.over:
        trouble = seen.trouble or [f"the runner ended at {seen.step}"]
        return [*trouble, *differences(scenario, events)]
    return [
        *differences(scenario, events),
        *late_or_early(scenario, events, slack),
        *final_differs(scenario, seen.final),
        *mailbox_differs(scenario, seen.parent_mailbox),
        *reports_differ(scenario, seen.reports),
    ]


def _in_thread(scenario: Scenario, seen: Seen, deadline: float, backend: str) -> None:
    try:
        anyio.run(_on_node, scenario, seen, deadline, backend=backend)
    except BaseException as error:
        seen.trouble += traceback.format_exception(error)


async def _on_node(scenario: Scenario, seen: Seen, deadline: float) -> None:
    async with Node() as node:
        world = World(scenario, node)
        clerk = Clerk(world)
        seen.reports = clerk.written
        unsubscribe = subscribe_reports(clerk)
        try:
            with anyio.move_on_after(deadline) as scope:
                runner = spawn(run, world, seen, trap_exit=True, node=node)
                ended = await when_down(runner)
                if not ended.is_normal:
                    seen.trouble.append(f"the runner ended at {seen.step}: {ended}")
                    seen.trouble += _cause(ended)
            if scope.cancelled_caught:
                seen.trouble.append(f"it hangs, at {seen.step}")
        finally:
            world.journal.close()
            unsubscribe()


def _cause(reason: object) -> list[str]:
    exception = getattr(reason, "exception", None)
    if isinstance(exception, BaseException):
        return "".join(traceback.format_exception(exception)).splitlines()
    return []


def _stack(thread: threading.Thread) -> list[str]:
    frame = sys._current_frames().get(thread.ident or 0)
    return [] if frame is None else "".join(traceback.format_stack(frame)).splitlines()
