"""What is done at once, within one turn of the loop, and when the loop has to come round first."""

from __future__ import annotations

import asyncio
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from inside import PATIENCE

from supervisors import Actor, Node

MANY = 1000


class Keeper(Actor):
    """Keeps what it is told, and passes on what it is to pass on."""

    def __init__(self, kept, then=None):
        super().__init__()
        self.kept = kept
        self.then = then

    def on_receive(self, message):
        self.kept.append(message)
        if self.then is not None:
            self.then(message)


async def test_what_a_deed_makes_ready_is_done_when_it_returns(inner_node) -> None:
    kept, passed_on = [], []
    last = Keeper.start(passed_on)
    first = Keeper.start(kept, last.tell)
    inner_node.try_at_once(first.tell, 1)
    inner_node.do_at_once(partial(first.tell, 2))
    assert kept == passed_on == [1, 2]


async def test_whoever_never_lets_the_loop_come_round_has_to_wait_for_it(inner_node) -> None:
    kept = []
    keeper = Keeper.start(kept)
    await anyio.lowlevel.checkpoint()
    for number in range(MANY):
        inner_node.try_at_once(keeper.tell, number)
    assert 0 < len(kept) < MANY
    with anyio.fail_after(PATIENCE):
        while len(kept) < MANY:
            await anyio.lowlevel.checkpoint()
    assert kept == list(range(MANY))
    inner_node.try_at_once(keeper.tell, MANY)  # it came round, so there is time again
    assert kept[-1] == MANY


async def test_an_actor_that_asks_for_it_is_not_interrupted_by_another(inner_node) -> None:
    kept, then = [], []
    last = Keeper.start(then)

    def tell(message):
        inner_node.try_at_once(last.tell, message)
        then.append(f"after {message}")

    first = Keeper.start(kept, tell)
    inner_node.try_at_once(first.tell, 1)
    assert then == ["after 1", 1]


async def test_who_is_ready_already_is_not_done_while_somebody_else_runs(inner_node) -> None:
    kept, other = [], []
    waiting = Keeper.start(other)
    keeper = Keeper.start(kept)
    await anyio.lowlevel.checkpoint()
    waiting.tell(1)
    inner_node.try_at_once(keeper.tell, 2)
    assert kept == other == []
    with anyio.fail_after(PATIENCE):
        while not kept:
            await anyio.lowlevel.checkpoint()
    assert other == [1]
    assert kept == [2]


async def test_a_deed_that_fails_leaves_nobody_waiting(inner_node) -> None:
    kept = []
    keeper = Keeper.start(kept)

    def fail():
        keeper.tell(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        inner_node.do_at_once(fail)
    assert kept == [1]
    keeper.tell(2)
    with anyio.fail_after(PATIENCE):
        while kept != [1, 2]:
            await anyio.lowlevel.checkpoint()


async def test_what_was_posted_meanwhile_is_done_too(inner_node) -> None:
    done = []
    inner_node.try_at_once(inner_node.post, partial(done.append, 1))
    assert done == [1]


def test_nothing_is_done_while_the_loop_does_not_run() -> None:
    kept = []
    node = Node()

    async def begin():
        await node.__aenter__()
        return Keeper.start(kept)

    async def end():
        with anyio.fail_after(PATIENCE):
            while not kept:
                await anyio.lowlevel.checkpoint()
        await node.__aexit__(None, None, None)

    with asyncio.Runner() as runner:
        keeper = runner.run(begin())
        node.try_at_once(keeper.tell, 1)
        assert kept == []
        runner.run(end())
    assert kept == [1]
