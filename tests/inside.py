"""Run code inside a node: as a process on its loop, from a plain test."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import anyio

import supervisors

PATIENCE = 10.0
"""Seconds after which a test that waits for something is told that it does not come."""


def inside(node: supervisors.Node, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run *function* (plain or async) in a process of *node*; return or raise what it does."""
    outcome: supervisors.Future[Any] = supervisors.Future()

    async def run() -> None:
        try:
            value = function(*args)
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:
            outcome.try_fail(error)
            raise
        outcome.try_set(value)

    with silenced():
        ref = supervisors.spawn(run, node=node, **options)
        reason = supervisors.when_down(ref).get(timeout=PATIENCE)
    assert outcome.done(), f"the process ended before its function: {reason}"
    return outcome.get(timeout=0)


async def within(awaitable: Any) -> Any:
    """Await with patience: a test that hangs shall fail instead."""
    with anyio.fail_after(PATIENCE):
        return await awaitable


class silenced:  # noqa: N801  # reads as a word: `with silenced():`
    """Take crash reports out of the log for a while; a test may look at them here."""

    def __init__(self) -> None:
        self.reports: list[Any] = []

    def __enter__(self) -> list[Any]:
        self._end = supervisors.subscribe_reports(self.reports.append)
        return self.reports

    def __exit__(self, *_exc: object) -> None:
        self._end()
