"""Aliases: stand-ins that can be taken back, after which messages through them vanish."""

from __future__ import annotations

import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    Custom,
    Down,
    alias,
    demonitor,
    exit,
    mailbox,
    monitor,
    receive,
    self_,
    send,
    spawn,
    unalias,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


def test_an_alias_reaches_its_maker_until_it_is_closed(node) -> None:
    async def body():
        mine = alias()
        send(mine, 1)
        send(mine, 2)
        said = [unalias(mine), unalias(mine)]
        send(mine, 3)
        return mailbox(), said

    assert inside(node, body) == ([1, 2], [True, False])


def test_an_alias_for_a_reply_closes_after_the_first_message(node) -> None:
    """[probe:multi_alias]"""

    async def body():
        mine = alias(reply=True)
        for message in ("one", "two"):
            send(mine, message)
        return mailbox(), unalias(mine)

    assert inside(node, body) == (["one"], False)


def test_a_late_reply_through_a_closed_alias_vanishes(node) -> None:
    """What drops the late replies of calls."""

    async def body():
        mine = alias()
        gate: supervisors.Future[None] = supervisors.Future()

        async def late():
            await gate
            send(mine, "late")

        ref = spawn(late)
        unalias(mine)
        gate.set(None)
        await when_down(ref)
        return mailbox()

    assert inside(node, body) == []


# mode, then whether a message gets through: at first, again, after demonitor, after the Down
MODES = [
    ("explicit", [True, True, True], [True, True]),
    ("demonitor", [True, True, False], [True, False]),
    ("reply_demonitor", [True, False, False], [True, False]),
]


@pytest.mark.parametrize(("mode", "demonitored", "down"), MODES)
def test_how_long_the_alias_of_a_watch_is_open(node, mode, demonitored, down) -> None:
    """[p_alias_*]"""

    async def body():
        ref = spawn(wait_for_ever)
        watch = monitor(ref, alias=mode)

        def reaches():
            before = len(mailbox())
            send(watch, "x")
            return len(mailbox()) > before

        first = [reaches(), reaches(), (demonitor(watch), reaches())[1]]
        watch = monitor(ref, alias=mode)
        second = [reaches()]
        exit(ref, "boom")
        await when_down(ref)
        second.append(reaches())
        return first, second, [m for m in mailbox() if isinstance(m, Down)]

    first, second, downs = inside(node, body)

    assert (first, second) == (demonitored, down)
    assert len(downs) == (0 if mode == "reply_demonitor" else 1)


def test_a_reply_through_a_watch_takes_the_watch_back(node) -> None:
    """[p_alias_reply_demonitor]"""

    async def body():
        ref = spawn(wait_for_ever)
        watch = monitor(ref, alias="reply_demonitor")
        send(watch, "reply")
        exit(ref, "boom")
        await when_down(ref)
        return mailbox(), demonitor(watch)

    assert inside(node, body) == (["reply"], False)


def test_an_explicit_alias_of_a_watch_is_closed_by_unalias_alone(node) -> None:
    async def body():
        ref = spawn(wait_for_ever)
        watch = monitor(ref, alias="explicit")
        exit(ref, "boom")
        down = await receive(Down, timeout=PATIENCE)
        send(watch, "still open")
        said = [unalias(watch), unalias(watch)]
        send(watch, "closed")
        return down.reason, mailbox(), said

    assert inside(node, body) == (Custom("boom"), ["still open"], [True, False])


def test_a_watch_without_an_alias_takes_no_messages(node) -> None:
    async def body():
        ref = spawn(wait_for_ever)
        watch = monitor(ref)
        try:
            send(watch, "x")
        except supervisors.NotAProcess:
            return mailbox()
        return mailbox()

    assert inside(node, body) == []


def test_an_alias_of_a_process_that_ended_is_silent(node) -> None:
    async def body():
        made: supervisors.Future[supervisors.Alias] = supervisors.Future()
        ref = spawn(lambda: made.set(alias()))
        await when_down(ref)
        send(await made, "x")
        return mailbox()

    assert inside(node, body) == []


def test_an_alias_works_from_another_node_and_from_threads(backend) -> None:
    with supervisors.Node() as one, supervisors.Node(backend=backend) as two:

        async def body():
            mine = alias(reply=True)
            refs = [spawn(lambda: send(mine, "hi"), node=two) for _ in range(5)]
            for ref in refs:
                await when_down(ref)
            await receive("hi".__eq__, timeout=PATIENCE)
            return mailbox()

        assert inside(one, body) == []


def test_an_actor_gives_out_an_alias(node) -> None:
    class Gives(supervisors.GenServer):
        def init(self):
            self.log = []

        def handle_call(self, request, caller):
            if request == "alias":
                self.alias = alias()
                return self.alias
            if request == "close":
                return unalias(self.alias)
            return self.log

        def handle_info(self, message):
            self.log.append(message)

    ref = Gives.start_unlinked().get(timeout=PATIENCE)
    theirs = ref.call("alias").get(timeout=PATIENCE)
    send(theirs, "open")
    assert ref.call("close").get(timeout=PATIENCE) is True
    send(theirs, "closed")

    assert ref.call("log").get(timeout=PATIENCE) == ["open"]
    assert self_() is not ref
