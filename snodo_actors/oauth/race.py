"""Several ways to one answer: the first that has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def race(*ways: Callable[[], Awaitable[T | None]]) -> T:
    """Go all *ways* at once, and end the others when one returns something, or raises.

    One that returns None has no answer; at least one of them has or never ends.
    """
    outcomes: list[T | Exception] = []

    async def go(way: Callable[[], Awaitable[T | None]]) -> None:
        try:
            outcome: T | Exception | None = await way()
        except Exception as error:  # noqa: BLE001  # raised below, and not in a group
            outcome = error
        if outcome is not None:
            outcomes.append(outcome)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for way in ways:
            tasks.start_soon(go, way)
    if isinstance(outcomes[0], Exception):
        raise outcomes[0]
    return outcomes[0]
