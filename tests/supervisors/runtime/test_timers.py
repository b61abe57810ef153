"""Timers: messages that come later, never early, and may be taken back."""

from __future__ import annotations

import threading
import time

import anyio
import anyio.lowlevel
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    KILL,
    TimerFired,
    cancel_timer,
    exit,
    mailbox,
    receive,
    register,
    self_,
    send_after,
    spawn,
    start_timer,
    unregister,
    when_down,
)
from supervisors.testing import virtual_node


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


def test_a_message_comes_later_and_never_early(node) -> None:
    """[probe:timer_precision]"""

    async def body():
        delays = []
        for _ in range(10):
            begin = time.monotonic()
            send_after(0.01, self_(), "tick")
            await receive(timeout=PATIENCE)
            delays.append(time.monotonic() - begin)
        return min(delays), sorted(delays)[5]

    least, median = inside(node, body)

    assert least >= 0.01
    assert median < 0.1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_timers_fire_in_the_order_they_are_due(backend) -> None:
    with virtual_node(backend) as (node, clock):

        async def body():
            for delay in (3, 1, 2, 0, 2):
                send_after(delay, self_(), delay)
            return [(await receive(), clock() - begin) for _ in range(5)]

        begin = clock()
        ref_done: supervisors.Future[object] = supervisors.Future()

        async def run():
            ref_done.set(await body())

        spawn(run, node=node)
        clock.advance(0).get(timeout=PATIENCE)
        clock.advance(10).get(timeout=PATIENCE)

        assert ref_done.get(timeout=PATIENCE) == [(0, 0), (1, 1), (2, 2), (2, 2), (3, 3)]


def test_a_cancelled_timer_says_what_was_left_and_never_fires(node) -> None:
    """[p_timers]"""

    async def body():
        timer = send_after(0.02, self_(), "tick")
        left = cancel_timer(timer)
        again = cancel_timer(timer)
        await anyio.sleep(0.04)
        return 0 < left <= 0.02, again, mailbox()

    assert inside(node, body) == (True, None, [])


def test_cancelling_after_it_fired_says_none_and_leaves_the_message(node) -> None:
    """[p_timers]"""

    async def body():
        timer = send_after(0, self_(), "tick")
        await anyio.sleep(0.02)
        return cancel_timer(timer), mailbox()

    assert inside(node, body) == (None, ["tick"])


def test_start_timer_puts_the_timer_into_the_message(node) -> None:
    async def body():
        stale, fresh = start_timer(0, self_(), "tick"), start_timer(0.01, self_(), "tick")
        first, second = await receive(timeout=PATIENCE), await receive(timeout=PATIENCE)
        return (
            first == TimerFired(stale, "tick"),
            second == TimerFired(fresh, "tick"),
            stale is fresh,
        )

    assert inside(node, body) == (True, True, False)


def test_a_timer_for_a_process_that_ended_does_nothing(node) -> None:
    """[p_timer_to_dead]"""

    async def body():
        ref = spawn(wait_for_ever)
        timer = send_after(0.01, ref, "tick")
        exit(ref, KILL)
        await when_down(ref)
        await anyio.sleep(0.02)
        return cancel_timer(timer)

    assert inside(node, body) is None


def test_a_timer_of_a_process_that_ended_still_fires_at_its_target(node) -> None:
    """[p_timer_to_dead]"""

    async def body():
        me = self_()
        ref = spawn(lambda: send_after(0.01, me, "tick"))
        await when_down(ref)
        return await receive(timeout=PATIENCE)

    assert inside(node, body) == "tick"


def test_a_timer_for_a_name_looks_it_up_when_it_fires(node) -> None:
    async def body():
        old = spawn(wait_for_ever, name="svc")
        send_after(0.02, "svc", "tick")
        send_after(0.02, "nobody", "vanishes")
        unregister("svc")
        register("svc")
        return await receive(timeout=PATIENCE), supervisors.info(old).unread

    assert inside(node, body) == ("tick", 0)


def test_a_timer_reaches_an_alias_and_a_closed_one_not(node) -> None:
    async def body():
        open_alias, closed = supervisors.alias(), supervisors.alias()
        send_after(0, open_alias, "open")
        send_after(0, closed, "closed")
        supervisors.unalias(closed)
        await anyio.sleep(0.02)
        return mailbox()

    assert inside(node, body) == ["open"]


def test_timers_are_set_and_cancelled_from_threads(node) -> None:
    me = self_()
    timers = [send_after(0.001 * n, me, n) for n in range(10)]
    kept = [n for n, timer in enumerate(timers) if n % 2 and cancel_timer(timer) is None]
    got = []
    while True:
        try:
            got.append(receive(int, timeout=0.1).get(timeout=PATIENCE))
        except supervisors.ReceiveTimeout:
            break

    assert sorted(got) == sorted({0, 2, 4, 6, 8, *kept})


def test_a_timer_reaches_a_process_of_another_node(backend) -> None:
    with supervisors.Node() as one, supervisors.Node(backend=backend) as two:

        async def body():
            me = self_()
            spawn(lambda: send_after(0.01, me, "tick"), node=two)
            return await receive(timeout=PATIENCE)

        assert inside(one, body) == "tick"


async def test_timers_in_the_loop_of_a_test(inner_node) -> None:
    timer = send_after(60, self_(), "never")
    send_after(0.01, self_(), "tick")

    assert await within(receive("tick".__eq__)) == "tick"
    assert 59 < cancel_timer(timer) <= 60


def test_a_timer_does_not_keep_a_node_from_stopping(backend) -> None:
    begin = time.monotonic()
    with supervisors.Node(backend=backend):
        send_after(3_600, self_(), "never")
    assert time.monotonic() - begin < 5


def test_ten_thousand_timers_that_were_cancelled_are_let_go(node) -> None:
    async def body():
        for _ in range(100):
            for timer in [send_after(3_600, self_(), "never") for _ in range(100)]:
                cancel_timer(timer)
            await anyio.lowlevel.checkpoint()
        return len(node._timers._heap) if hasattr(node, "_timers") else 0

    assert inside(node, body) < 1_000


def test_ten_thousand_calls_leave_no_timers(node) -> None:
    class Echo(supervisors.GenServer):
        def handle_call(self, request, caller):
            return request

    async def body():
        ref = await Echo.start_unlinked()
        for n in range(10_000):
            assert await ref.call(n, timeout=3_600) == n
        await supervisors.stop(ref)
        return len(node._timers._heap) if hasattr(node, "_timers") else 0

    assert inside(node, body) < 1_000


# --- node.after


def test_a_deed_is_done_later_in_the_thread_of_the_loop(node) -> None:
    done: supervisors.Future[object] = supervisors.Future()
    handle = node.after(0.01, lambda *args: done.set((args, threading.get_ident())), 1, 2)
    assert handle.pending
    args, thread = done.get(timeout=PATIENCE)

    assert (args, thread == node.thread_id, handle.pending) == ((1, 2), True, False)
    assert handle.cancel() is False


def test_a_cancelled_deed_is_not_done(node) -> None:
    done: list[str] = []
    first, second = node.after(0.01, done.append, "a"), node.after(0.02, done.append, "b")
    assert (first.cancel(), first.cancel(), first.pending) == (True, False, False)
    last: supervisors.Future[None] = supervisors.Future()
    node.after(0.05, last.set, None)
    last.get(timeout=PATIENCE)

    assert (done, second.pending) == (["b"], False)


def test_a_deed_that_raises_harms_no_other(node) -> None:
    done: supervisors.Future[str] = supervisors.Future()
    node.after(0, lambda: 1 / 0)
    node.after(0.01, done.set, "done")

    assert done.get(timeout=PATIENCE) == "done"


def test_a_timer_that_cannot_deliver_harms_no_other(node) -> None:
    """A full mailbox that rejects: the message of a timer is lost, as one to the dead is."""

    class Full(supervisors.Actor):
        mailbox_bound = supervisors.Bound(1, "reject")

        async def on_receive(self, message):
            await message

    ref, gate = Full.start(), supervisors.Future()
    asked = ref.ask(gate, block=False)
    while supervisors.info(ref).unread:
        pass
    ref.tell(gate)
    send_after(0, ref, "one too many")
    done: supervisors.Future[str] = supervisors.Future()
    node.after(0.01, done.set, "done")
    assert done.get(timeout=PATIENCE) == "done"
    gate.set(None)

    assert asked.get(timeout=PATIENCE) is None


def test_a_sooner_timer_set_in_a_thread_wakes_the_loop(node) -> None:
    done: supervisors.Future[str] = supervisors.Future()
    late = node.after(3_600, lambda: None)
    inside(node, lambda: None)
    node.after(0.01, done.set, "soon")

    assert done.get(timeout=PATIENCE) == "soon"
    late.cancel()
