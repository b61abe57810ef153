"""Monitors: every end is told once to each watch, and demonitor takes a watch back."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    KILL,
    KILLED,
    NOPROC,
    NORMAL,
    Custom,
    Down,
    Error,
    Future,
    Shutdown,
    as_reason,
    demonitor,
    exit,
    exit_self,
    is_alive,
    mailbox,
    monitor,
    receive,
    register,
    self_,
    send,
    spawn,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


async def ended(reason="normal"):
    ref = spawn(exit_self, reason)
    await when_down(ref)
    return ref


REASONS = [
    ("normal", NORMAL),
    ("shutdown", Shutdown()),
    (("shutdown", 1), Shutdown(1)),
    ("boom", Custom("boom")),
    (ValueError("oops"), Error(ValueError("oops"))),
    ("kill", KILLED),
]


@pytest.mark.parametrize(("reason", "read"), REASONS, ids=[repr(row[0]) for row in REASONS])
def test_a_watch_tells_the_true_reason_and_harms_nobody(node, reason, read) -> None:
    async def body():
        ref = spawn(wait_for_ever)
        watch = monitor(ref)
        exit(ref, reason) if reason != "normal" else ref.send("x")
        if reason == "normal":
            exit(ref, KILL)
        return await receive(Down, timeout=PATIENCE), watch, ref

    down, watch, ref = inside(node, body)

    assert down == Down(watch, ref, KILLED if reason == "normal" else read)


def test_a_normal_end_is_told_too(node) -> None:
    async def body():
        gate: Future[None] = Future()

        async def ends():
            await gate

        ref = spawn(ends)
        watch = monitor(ref)
        gate.set(None)
        return await receive(timeout=PATIENCE) == Down(watch, ref, NORMAL)

    assert inside(node, body)


def test_watches_stack(node) -> None:
    """[p_monitors_stack]"""

    async def body():
        ref = spawn(wait_for_ever)
        watches = [monitor(ref) for _ in range(3)]
        demonitor(watches[1])
        exit(ref, "boom")
        downs = [await receive(Down, timeout=PATIENCE) for _ in range(2)]
        await when_down(ref)
        return [down.monitor for down in downs] == [watches[0], watches[2]], mailbox()

    assert inside(node, body) == (True, [])


def test_watching_an_ended_process_says_noproc_at_once(node) -> None:
    """[p_monitor_dead]"""

    async def body():
        ref = await ended("boom")
        watch = monitor(ref)
        return await receive(timeout=PATIENCE) == Down(watch, ref, NOPROC)

    assert inside(node, body)


def test_the_end_of_a_watcher_is_silent(node) -> None:
    """[p_watcher_death_is_silent]"""

    async def body():
        ref = spawn(wait_for_ever)
        watcher = spawn(lambda: (monitor(ref), exit_self("boom")))
        await when_down(watcher)
        await anyio.lowlevel.checkpoint()
        return is_alive(ref), supervisors.info(ref).unread, supervisors.info(ref).monitored_by

    assert inside(node, body) == (True, 0, 0)


def test_demonitor_says_whether_the_watch_was_still_there(node) -> None:
    """[probe:monitor_info]"""

    async def body():
        ref = spawn(wait_for_ever)
        first, second = monitor(ref), monitor(ref)
        said = [demonitor(first), demonitor(first)]
        exit(ref, KILL)
        await when_down(ref)
        said.append(demonitor(second))
        dead = monitor(ref)
        await anyio.lowlevel.checkpoint()
        said.append(demonitor(dead))
        return said

    assert inside(node, body) == [True, False, False, False]


@pytest.mark.parametrize("flush", [False, True])
def test_demonitor_leaves_a_down_that_came_unless_told_to_flush_it(node, flush) -> None:
    """[p_demonitor_flush]"""

    async def body():
        ref = spawn(wait_for_ever)
        watch, other = monitor(ref), monitor(ref)
        send(self_(), "before")
        exit(ref, "boom")
        await when_down(ref)
        send(self_(), "after")
        assert demonitor(watch, flush=flush) is False
        down = [Down(watch, ref, Custom("boom")), Down(other, ref, Custom("boom"))]
        return mailbox(), ["before", *down[1 if flush else 0 :], "after"]

    found, expected = inside(node, body)

    assert found == expected


def test_after_demonitor_nothing_comes(node) -> None:
    async def body():
        ref = spawn(wait_for_ever)
        demonitor(monitor(ref))
        exit(ref, "boom")
        await when_down(ref)
        return mailbox()

    assert inside(node, body) == []


def test_messages_of_the_dead_come_before_its_down(node) -> None:
    """[probe:priority_order]"""

    async def body():
        me = self_()

        async def talk():
            await gate
            send(me, ("a", 1))
            send(me, ("a", 2))

        gate: Future[None] = Future()
        ref = spawn(talk)
        watch = monitor(ref)
        gate.set(None)
        await when_down(ref)
        return mailbox() == [("a", 1), ("a", 2), Down(watch, ref, NORMAL)]

    assert inside(node, body)


def test_watching_a_name_tells_of_the_name(node) -> None:
    """[probe:monitor_name]"""

    async def body():
        ref = spawn(wait_for_ever, name="known")
        watch, unknown = monitor("known"), monitor("unknown")
        assert await receive(timeout=PATIENCE) == Down(unknown, "unknown", NOPROC)
        exit(ref, "boom")
        assert await receive(timeout=PATIENCE) == Down(watch, "known", Custom("boom"))
        return demonitor(watch)

    assert inside(node, body) is False


def test_a_watch_of_a_name_holds_to_the_process_it_found(node) -> None:
    async def body():
        first = spawn(wait_for_ever, name="known")
        watch = monitor("known")
        exit(first, KILL)
        await when_down(first)
        second = spawn(wait_for_ever, name="known")
        exit(second, KILL)
        await when_down(second)
        return mailbox() == [Down(watch, "known", KILLED)]

    assert inside(node, body)


def test_demonitor_of_a_watched_name_works_after_the_name_was_freed(node) -> None:
    async def body():
        ref = spawn(wait_for_ever)
        register("known", ref)
        watch = monitor("known")
        supervisors.unregister("known")
        assert demonitor(watch) is True
        exit(ref, KILL)
        await when_down(ref)
        return mailbox()

    assert inside(node, body) == []


def test_watching_oneself_has_no_effect(node) -> None:
    """[probe:link_to_self]"""

    async def body():
        watch = monitor(self_())
        return mailbox(), demonitor(watch) in (True, False)

    assert inside(node, body) == ([], True)


def test_every_process_that_watches_is_told(node) -> None:
    async def body():
        target = spawn(wait_for_ever)
        told: list[object] = []

        async def watch():
            monitor(target)
            ready.append(1)
            told.append((await receive(Down)).reason)

        ready: list[int] = []
        watchers = [spawn(watch) for _ in range(50)]
        while len(ready) < 50:
            await anyio.lowlevel.checkpoint()
        exit(target, "boom")
        for watcher in watchers:
            await when_down(watcher)
        return told

    assert inside(node, body) == [Custom("boom")] * 50


def test_a_watch_of_a_process_on_another_node(backend) -> None:
    with supervisors.Node(backend="asyncio") as one, supervisors.Node(backend=backend) as two:
        ref = spawn(wait_for_ever, node=two)

        async def body():
            watch, gone = monitor(ref), monitor(ref)
            assert demonitor(gone) is True
            exit(ref, "boom")
            down = await receive(Down, timeout=PATIENCE)
            late = monitor(ref)
            return (
                down == Down(watch, ref, Custom("boom")),
                await receive(Down, timeout=PATIENCE) == Down(late, ref, NOPROC),
                mailbox(),
            )

        assert inside(one, body) == (True, True, [])


def test_a_node_that_stops_tells_who_watches_its_processes(backend) -> None:
    with supervisors.Node(backend="asyncio") as one:
        two = supervisors.Node(backend=backend).start()
        refs = [spawn(wait_for_ever, node=two) for _ in range(3)]

        async def body():
            for ref in refs:
                monitor(ref)
            await anyio.to_thread.run_sync(two.stop)
            return [await receive(Down, timeout=PATIENCE) for _ in refs]

        downs = inside(one, body)

    assert {down.process for down in downs} == set(refs)


def test_watching_a_process_of_a_stopped_node_says_noproc(backend) -> None:
    with supervisors.Node(backend=backend) as two:
        ref = spawn(wait_for_ever, node=two)
    with supervisors.Node() as one:

        async def body():
            watch = monitor(ref)
            return await receive(Down, timeout=PATIENCE) == Down(watch, ref, NOPROC)

        assert inside(one, body)


# --- when_down


@pytest.mark.parametrize(("reason", "read"), REASONS, ids=[repr(row[0]) for row in REASONS])
def test_the_future_of_an_end(node, reason, read) -> None:
    ref = spawn(wait_for_ever)
    down = when_down(ref)
    assert down.done() is False
    exit(ref, "kill" if reason == "normal" else reason)

    assert down.get(timeout=PATIENCE) == (KILLED if reason == "normal" else read)


def test_the_future_of_an_end_that_was_is_noproc(node) -> None:
    ref = spawn(lambda: None)
    when_down(ref).get(timeout=PATIENCE)

    assert when_down(ref).get(timeout=PATIENCE) == NOPROC
    assert when_down("nobody").get(timeout=PATIENCE) == NOPROC


def test_the_future_of_an_end_leaves_no_trace_when_nobody_waits_any_more(node) -> None:
    ref = spawn(wait_for_ever)

    async def body():
        for _ in range(20):
            with anyio.move_on_after(0):
                await when_down(ref)
        await anyio.lowlevel.checkpoint()
        return supervisors.info(ref).monitored_by

    assert inside(node, body) == 0


async def test_an_end_is_awaited_in_the_loop_of_a_test(inner_node) -> None:
    ref = spawn(wait_for_ever)
    down = when_down(ref)
    exit(ref, "boom")

    assert (await down, as_reason("boom")) == (Custom("boom"), Custom("boom"))
