"""Signals and messages of one sender to one receiver arrive in the order they were sent."""

from __future__ import annotations

import threading

import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    NORMAL,
    Actor,
    Custom,
    Down,
    Exit,
    Future,
    exit,
    exit_self,
    link,
    mailbox,
    monitor,
    receive,
    self_,
    send,
    spawn,
    spawn_link,
    trap_exit,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


class Obedient(Actor):
    def on_receive(self, message):
        if callable(message):
            return message()
        return message


async def obey_once():
    (await receive())()


def test_a_watch_from_a_thread_comes_before_the_message_sent_after_it(node) -> None:
    """A stress: the race is narrow."""
    reasons = set()
    for n in range(2_000):
        ref = spawn(obey_once) if n % 2 else Obedient.start()
        down = when_down(ref)
        ref.send(lambda: exit_self("boom"))
        reasons.add(down.get(timeout=PATIENCE))

    assert reasons == {Custom("boom")}


def test_a_link_from_a_thread_comes_before_the_message_sent_after_it(node) -> None:
    me = self_()
    before = trap_exit()
    try:
        for n in range(300):
            ref = spawn(obey_once) if n % 2 else Obedient.start()
            link(ref)
            ref.send(lambda: exit_self("boom"))

            assert receive(Exit, PATIENCE).get(timeout=PATIENCE) == Exit(ref, Custom("boom"))
    finally:
        trap_exit(before)
    assert self_() is me


def test_a_watch_made_before_sees_the_end_that_what_came_after_causes(node) -> None:
    reasons = set()
    for _ in range(300):
        a, b = Obedient.start(), Obedient.start()
        a.ask(lambda b=b: link(b), timeout=PATIENCE)
        down = when_down(a)
        exit(b, "boom")
        reasons.add(down.get(timeout=PATIENCE))

    assert reasons == {Custom("boom")}


def test_an_exit_signal_never_ends_a_process_before_messages_it_has_handled(node) -> None:
    """Messages sent before an exit signal may be lost with the mailbox, but not reordered."""
    for _ in range(50):
        log: list[int] = []
        ref = Obedient.start()
        down = when_down(ref)
        for n in range(20):
            ref.tell(lambda n=n, log=log: log.append(n))
        exit(ref, "boom")
        down.get(timeout=PATIENCE)

        assert log == list(range(len(log)))


def test_an_exit_overtakes_the_unread_messages_of_others(node) -> None:
    class Watcher(Actor):
        trap_exit = True

        def __init__(self):
            super().__init__()
            self.log = []

        async def on_receive(self, message):
            if isinstance(message, Future):
                await message
            elif callable(message):
                return message()
            else:
                self.log.append(message)
            return None

    watcher, other = Watcher.start(), Obedient.start()
    watcher.ask(lambda: link(other), timeout=PATIENCE)
    gate: Future[None] = Future()
    watcher.tell(gate)
    for n in range(1_000):
        watcher.tell(n)
    down = when_down(other)
    exit(other, "boom")
    down.get(timeout=PATIENCE)
    inside(node, lambda: None)
    gate.set(None)

    log = watcher.proxy().log.get(timeout=PATIENCE)
    assert (log[0], log[1:]) == (Exit(other, Custom("boom")), list(range(1_000)))


def test_messages_of_a_process_on_another_node_come_before_its_down(backend) -> None:
    with supervisors.Node() as one, supervisors.Node(backend=backend) as two:

        async def body():
            me = self_()

            def talk():
                for n in range(3):
                    send(me, n)

            for _ in range(50):
                ref = spawn(talk, node=two)
                watch = monitor(ref)
                await receive(Down, timeout=PATIENCE)
                found = [message for message in mailbox() if isinstance(message, int)]
                if found != [0, 1, 2]:
                    return found
                for _ in range(3):
                    await receive(int, timeout=PATIENCE)
                assert watch
            return "in order"

        assert inside(one, body) == "in order"


def test_messages_sent_by_a_thread_before_its_end_come_before_its_exit(node) -> None:
    async def body():
        trap_exit()
        me = self_()
        gate: Future[supervisors.Ref] = Future()

        def talk():
            link(me)
            gate.set(self_())
            for n in range(3):
                send(me, n)

        thread = threading.Thread(target=talk)
        thread.start()
        ref = await gate
        end = await receive(Exit, timeout=PATIENCE)
        return end == Exit(ref, NORMAL), mailbox()

    assert inside(node, body) == (True, [0, 1, 2])


def test_spawn_link_by_a_thread_is_atomic(node) -> None:
    before = trap_exit()
    try:
        refs = [spawn_link(lambda: exit_self("boom")) for _ in range(50)]
        ends = [receive(Exit, PATIENCE).get(timeout=PATIENCE) for _ in refs]
    finally:
        trap_exit(before)

    assert {end.process for end in ends} == set(refs)
    assert {end.reason for end in ends} == {Custom("boom")}
