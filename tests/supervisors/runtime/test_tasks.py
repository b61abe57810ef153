"""Tasks of the user's as processes: who they are, and how their end is noticed and told."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref

import anyio
import anyio.lowlevel
import pytest
import trio
from inside import PATIENCE, silenced, within

import supervisors
from supervisors import (
    NORMAL,
    Actor,
    Custom,
    Down,
    Error,
    Exit,
    Future,
    is_alive,
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


async def wait_for_ever():
    await receive(lambda _: False)


async def test_a_task_is_one_process_for_all_its_life(inner_node) -> None:
    first = self_()
    await anyio.lowlevel.checkpoint()

    assert (self_() is first, is_alive(first), first.node) == (True, True, inner_node)


async def test_each_task_is_a_process_of_its_own(inner_node) -> None:
    refs: list[supervisors.Ref] = [self_()]

    async def task():
        refs.append(self_())
        await anyio.lowlevel.checkpoint()
        assert self_() in refs

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(task)

    assert len(set(refs)) == 4


async def test_a_task_has_a_mailbox(inner_node) -> None:
    async def task(*, task_status):
        task_status.started(self_())
        got.append(await receive(str))
        got.append(await receive(str))
        got.append(mailbox())

    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        for message in (1, "a", "b"):
            send(ref, message)

    assert got == ["a", "b", [1]]


async def test_the_normal_end_of_a_task_is_told(inner_node) -> None:
    async def task(*, task_status):
        task_status.started(self_())
        await gate.wait()

    gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        watch, down = monitor(ref), when_down(ref)
        gate.set()

        assert await within(down) == NORMAL
        assert await receive(Down, timeout=PATIENCE) == Down(watch, ref, NORMAL)


async def test_the_end_of_a_task_that_raised_is_told_with_what_it_raised(inner_node) -> None:
    async def task(*, task_status):
        task_status.started(self_())
        await gate.wait()
        raise ValueError("oops")

    gate = anyio.Event()
    child = spawn(wait_for_ever)
    with contextlib.suppress(ExceptionGroup):
        async with anyio.create_task_group() as tasks:
            ref = await tasks.start(task)
            down = when_down(ref)
            gate.set()

    assert await within(down) == Error(ValueError("oops"))
    assert is_alive(child)


async def test_the_end_of_a_task_that_was_cancelled_is_told_as_abnormal(inner_node) -> None:
    async def task(*, task_status):
        task_status.started(self_())
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        down = when_down(ref)
        tasks.cancel_scope.cancel()

    reason = await within(down)
    assert not reason.is_calm


async def test_a_linked_child_ends_with_a_task_that_raised(inner_node) -> None:
    async def task():
        ends.append(when_down(spawn_link(wait_for_ever)))
        await anyio.lowlevel.checkpoint()
        raise ValueError("oops")

    ends: list[Future[object]] = []
    with contextlib.suppress(ExceptionGroup):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(task)

    assert await within(ends[0]) == Error(ValueError("oops"))


async def test_a_linked_child_ends_with_a_task_that_was_cancelled(inner_node) -> None:
    async def task(*, task_status):
        child = spawn_link(wait_for_ever)
        task_status.started(child)
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        child = await tasks.start(task)
        down = when_down(child)
        tasks.cancel_scope.cancel()
    reason = await within(down)

    assert not reason.is_normal


async def test_a_linked_child_survives_a_task_that_ends_normally(inner_node) -> None:
    async def task():
        children.append(spawn_link(wait_for_ever))

    children: list[supervisors.Ref] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
    await anyio.wait_all_tasks_blocked()

    assert is_alive(children[0])


async def test_a_linked_child_s_end_comes_to_a_task_as_a_message(inner_node) -> None:
    ref = spawn_link(wait_for_ever)
    supervisors.exit(ref, "boom")

    assert await receive(Exit, timeout=PATIENCE) == Exit(ref, Custom("boom"))


async def test_an_ended_task_is_let_go(inner_node) -> None:
    before = len(inner_node.processes)
    refs: list[object] = []

    class Kept:
        pass

    async def task():
        kept = Kept()
        refs.append(weakref.ref(kept))
        send(self_(), kept)
        await anyio.lowlevel.checkpoint()

    for _ in range(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(task)
    await anyio.wait_all_tasks_blocked()
    gc.collect()

    assert (len(inner_node.processes), [ref() for ref in refs]) == (before, [None] * 10)


async def test_a_task_may_be_named(inner_node) -> None:
    async def task(*, task_status):
        supervisors.register("me")
        task_status.started(self_())
        got.append(await receive())

    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        assert (supervisors.whereis("me"), ref.name) == (ref, "me")
        send("me", "hi")
    await anyio.wait_all_tasks_blocked()

    assert (got, supervisors.whereis("me")) == (["hi"], None)


async def test_a_task_calls_a_server_and_is_told_of_its_end(inner_node) -> None:
    class Server(supervisors.GenServer):
        def handle_call(self, request, caller):
            return request * 2

    ref = await Server.start_link()
    assert await ref.call(21) == 42
    await supervisors.stop(ref)
    with pytest.raises(supervisors.NoProcess):
        await ref.call(1)
    end = await receive(Exit, timeout=PATIENCE)
    assert end == Exit(ref, NORMAL)


async def test_what_an_actor_is_told_by_a_task_comes_before_the_task_s_down(inner_node) -> None:
    class Watches(supervisors.GenServer):
        def init(self):
            self.log = []

        def handle_call(self, request, caller):
            if request == "log":
                return self.log
            monitor(request)
            return None

        def handle_info(self, message):
            self.log.append(message)

    ref = await Watches.start_unlinked()

    async def task():
        await ref.call(self_())
        for n in range(3):
            ref.send(n)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
    await anyio.wait_all_tasks_blocked()
    log = await ref.call("log")

    assert log[:3] == [0, 1, 2]
    assert [entry.reason for entry in log[3:]] == [NORMAL]


# --- asyncio and trio by themselves, with the default node


def test_an_asyncio_task_is_a_process_without_a_node_of_its_own() -> None:
    async def main():
        ref = self_()
        assert ref.node is supervisors.default_node()
        child = spawn(lambda: send(ref, "hi"))
        assert child.node is supervisors.default_node()
        return await receive("hi".__eq__, timeout=PATIENCE), ref

    got, ref = asyncio.run(main())

    assert got == "hi"
    assert when_down(ref).get(timeout=PATIENCE) in (NORMAL, supervisors.NOPROC)


def test_a_trio_task_is_a_process_without_a_node_of_its_own() -> None:
    async def main():
        ref = self_()
        spawn(lambda: send(ref, "hi"))
        return await receive("hi".__eq__, timeout=PATIENCE), ref

    got, ref = trio.run(main)

    assert got == "hi"
    assert when_down(ref).get(timeout=PATIENCE) in (NORMAL, supervisors.NOPROC)


def test_the_end_of_a_task_of_another_loop_is_told_to_a_node_on_a_thread(backend) -> None:
    class Watches(Actor):
        def __init__(self, ends):
            super().__init__()
            self.ends = ends

        def on_receive(self, message):
            if isinstance(message, Down):
                self.ends.append(message.reason)
                done.set(None)
            else:
                monitor(message)

    async def main():
        async def task():
            watcher.ask(self_(), block=False).get(timeout=PATIENCE)
            raise ValueError("oops")

        with pytest.raises(ValueError, match="oops"):
            await asyncio.ensure_future(task())

    done: Future[None] = Future()
    ends: list[object] = []
    with supervisors.Node(backend=backend):
        watcher = Watches.start(ends)
        asyncio.run(main())
        done.get(timeout=PATIENCE)

    assert ends == [Error(ValueError("oops"))]


def test_a_loop_that_is_closed_under_its_tasks_ends_them(backend) -> None:
    found: list[supervisors.Ref] = []
    tasks: list[object] = []

    async def main():
        async def task():
            found.append(self_())
            await asyncio.sleep(PATIENCE)

        tasks.append(asyncio.ensure_future(task()))
        await asyncio.sleep(0)

    with supervisors.Node(backend=backend):
        asyncio.run(main())
        reason = when_down(found[0]).get(timeout=PATIENCE)

    assert reason.is_normal is False


async def test_code_that_is_no_task_s_belongs_to_the_thread(inner_node) -> None:
    """A callback of the loop runs in no task."""
    found: Future[supervisors.Ref] = Future()
    inner_node.after(0, lambda: found.set(self_()))
    ref = await found

    assert ref is not self_()


async def test_trap_exit_of_a_task_is_its_own(inner_node) -> None:
    flags: list[bool] = []

    async def task():
        flags.extend([trap_exit(False), trap_exit(False), trap_exit(True)])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
        tasks.start_soon(task)

    assert flags == [True, False, False] * 2


async def test_two_tasks_link(inner_node) -> None:
    async def one(*, task_status):
        task_status.started(self_())
        await gate.wait()

    async def two(ref, *, task_status):
        link(ref)
        task_status.started()
        ends.append(await receive(Exit, timeout=PATIENCE))

    ends: list[Exit] = []
    gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(one)
        await tasks.start(two, ref)
        gate.set()

    assert ends == [Exit(ref, NORMAL)]
