"""Flows of calls, plain and async, carried out where they are."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from snodo_actors.ports.calls import carry_out


def flow(*calls: Any) -> Generator[Any, Any, list[Any]]:
    """What each call returned, or the type of what it raised."""
    came: list[Any] = []
    for call in calls:
        try:
            came.append((yield call))
        except ValueError as error:
            came.append(type(error))
    return came


def fail() -> None:
    raise ValueError


async def later(value: Any = 1) -> Any:
    await anyio.lowlevel.checkpoint()
    return value


async def fail_later() -> None:
    await anyio.lowlevel.checkpoint()
    raise ValueError


def test_plain_calls_need_no_waiting() -> None:
    assert carry_out(flow()) == []
    assert carry_out(flow(lambda: 1, fail, lambda: 2)) == [1, ValueError, 2]


async def test_from_the_first_async_call_on_it_has_to_be_awaited() -> None:
    rest = carry_out(flow(lambda: 0, later, fail, fail_later, lambda: later(4), lambda: 5))

    assert inspect.isawaitable(rest)
    assert await rest == [0, 1, ValueError, ValueError, 4, 5]


async def test_what_a_flow_does_not_catch_ends_it() -> None:
    def impossible() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        carry_out(flow(impossible))
    with pytest.raises(ZeroDivisionError):
        await carry_out(flow(later, impossible))  # type: ignore[misc]  # it has to wait


async def test_a_cancelled_flow_may_clean_up() -> None:
    done: list[str] = []

    async def clean() -> None:
        await anyio.lowlevel.checkpoint()
        done.append("clean")

    def tidy() -> Generator[Any, Any, None]:
        try:
            yield anyio.sleep_forever
        finally:
            yield clean
            yield lambda: done.append("plain")

    with anyio.move_on_after(0.01) as scope:
        await carry_out(tidy())  # type: ignore[misc]  # it has to wait
    assert scope.cancelled_caught
    assert done == ["clean", "plain"]


async def test_a_clean_up_is_not_waited_for_long(monkeypatch: Any) -> None:
    monkeypatch.setattr("snodo_actors.ports.calls.CLEANUP_TIMEOUT", 0.01)

    def tidy() -> Generator[Any, Any, None]:
        try:
            yield anyio.sleep_forever
        finally:
            yield anyio.sleep_forever

    with anyio.fail_after(5), anyio.move_on_after(0.01):
        await carry_out(tidy())  # type: ignore[misc]  # it has to wait


def test_what_is_not_awaited_can_be_closed() -> None:
    done: list[str] = []

    def tidy() -> Generator[Any, Any, None]:
        try:
            yield later
        finally:
            done.append("closed")
            yield later

    rest: Any = carry_out(tidy())
    rest.close()
    assert done == ["closed"]


class Forever:
    def __await__(self) -> Generator[Any, Any, None]:
        yield


@pytest.mark.parametrize("wants_more", [False, True])
def test_a_loop_that_is_gone_takes_the_flow_along(wants_more: bool) -> None:
    done: list[str] = []

    def tidy() -> Generator[Any, Any, None]:
        try:
            yield Forever
        finally:
            done.append("closed")
            if wants_more:
                yield Forever

    async def wait() -> None:
        await carry_out(tidy())  # type: ignore[misc]  # it has to wait

    waiting = wait()
    waiting.send(None)
    waiting.close()
    assert done == ["closed"]
