"""Tasks under a supervisor, on real loops, and from threads."""

from __future__ import annotations

import functools
import threading
from contextlib import aclosing

import anyio
import pytest

import supervisors
from supervisors import (
    BRUTAL_KILL,
    NORMAL,
    CallExit,
    CallTimeout,
    Custom,
    Done,
    Down,
    Error,
    Exited,
    GenServer,
    MaxChildren,
    Node,
    NoProcess,
    NotOwner,
    SpecError,
    StartFailed,
    Supervisor,
    TaskReply,
    TaskSupervisor,
    exit,
    mailbox,
    stop,
    suspend,
    trap_exit,
    when_down,
    yield_many,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def tasks(inner_node):
    supervisor = await TaskSupervisor.start_link()
    yield supervisor
    if supervisor.is_alive():
        await stop(supervisor)


async def double(number: int) -> int:
    await anyio.lowlevel.checkpoint()
    return number * 2


def half(number: int) -> float:
    return 1 / number


async def until_no_children(tasks) -> None:
    with anyio.fail_after(5):
        while await tasks.which_children():
            await anyio.lowlevel.checkpoint()


async def test_functions_may_be_plain_or_async_or_partial(tasks) -> None:
    assert await tasks.async_(double, 21) == 42
    assert await tasks.async_nolink(half, 2) == 0.5
    task = tasks.async_nolink(functools.partial(functools.partial(double), 4))
    assert str(task.ref).startswith("double#")
    assert await task == 8
    assert await task == 8  # it may be asked again
    assert repr(task) == f"<Task {task.ref} done>"


async def test_a_failed_task_raises_what_it_failed_with(tasks) -> None:
    task = tasks.async_nolink(half, 0)

    with pytest.raises(CallExit, match="ZeroDivisionError") as failed:
        await task

    assert failed.value.reason == Error(ZeroDivisionError("division by zero"))
    assert failed.value.server is task.ref


async def test_a_wait_that_is_cancelled_can_be_repeated(tasks) -> None:
    gate = anyio.Event()

    async def work() -> str:
        await gate.wait()
        return "done"

    task = tasks.async_nolink(work)
    with anyio.move_on_after(0.01):
        await task
    assert await task.yield_(0.01) is None

    gate.set()

    assert await task.yield_(None) == Done("done")
    assert await task.result(timeout=None) == "done"
    assert mailbox() == []


async def test_a_message_that_came_is_taken_back_by_a_later_wait(tasks) -> None:
    good, bad = tasks.async_nolink(double, 1), tasks.async_nolink(half, 0)
    await when_down(good.ref)
    await when_down(bad.ref)
    await anyio.lowlevel.checkpoint()
    assert sorted(type(message).__name__ for message in mailbox()) == ["Down", "Down", "TaskReply"]

    assert await good == 2
    assert isinstance(await bad.yield_(), Exited)

    assert mailbox() == []


async def test_a_task_that_was_given_up_says_nothing(tasks) -> None:
    task = tasks.async_nolink(anyio.sleep, 0.5)

    with pytest.raises(CallTimeout, match=r"within 0\.001 seconds"):
        await task.result(0.001)

    assert await when_down(task.ref) == NORMAL
    assert mailbox() == []


async def test_a_server_gets_messages_of_the_tasks_it_does_not_await(tasks) -> None:
    class Owner(GenServer):
        def init(self) -> None:
            self.got = []

        def handle_call(self, request, caller):
            task = tasks.async_nolink(double, request)
            self.caller = caller
            self.task = task
            return supervisors.NO_REPLY

        def handle_info(self, message) -> None:
            match message:
                case TaskReply(monitor, value) if monitor is self.task.monitor:
                    self.got.append(value)
                case Down(monitor, _, reason) if monitor is self.task.monitor:
                    self.got.append(reason)
                    self.caller.reply(self.got)

    owner = await Owner.start_link()

    assert await owner.call(21) == [42, NORMAL]
    await stop(owner)


async def test_a_server_may_await_a_task_in_a_handler(tasks) -> None:
    class Owner(GenServer):
        async def handle_call(self, request, caller):
            return await tasks.async_(double, request), mailbox()

    owner = await Owner.start_link()

    assert await owner.call(21) == (42, [])
    await stop(owner)


async def test_only_the_owner_may_wait(tasks) -> None:
    task = tasks.async_nolink(double, 1)
    assert task.owner is supervisors.self_()
    refused = []

    async def other() -> None:
        for ask in (task.result, task.yield_, task.shutdown):
            try:
                ask()
            except NotOwner as error:
                refused.append(str(error))

    await when_down(supervisors.spawn(other))

    assert len(refused) == 3
    assert "Let the owner send the value" in refused[0]
    assert await task == 2


async def test_a_supervisor_that_is_gone() -> None:
    async with Node():
        tasks = await TaskSupervisor.start_link()
        await stop(tasks)

        with pytest.raises(NoProcess):
            await tasks.async_nolink(double, 1)
        with pytest.raises(NoProcess):
            await tasks.start_child(double, 1)
        with pytest.raises(NoProcess):
            [_ async for _ in tasks.stream([1], double)]
        with pytest.raises(NoProcess):
            await yield_many([tasks.async_nolink(double, 1)])
        task = tasks.async_nolink(double, 1)
        down = await supervisors.receive(Down)
        assert down.monitor is task.monitor
        assert isinstance(down.reason.exception, NoProcess)
        with pytest.raises(NoProcess):
            await task.yield_()


async def test_a_task_whose_owner_is_gone_before_it_began(tasks) -> None:
    await suspend(tasks)
    begun = []

    async def owner() -> None:
        tasks.async_(begun.append, 1)

    await when_down(supervisors.spawn(owner))
    await supervisors.resume(tasks)

    assert await tasks.count_children() == (0, 0, 0, 0)
    assert begun == []


async def test_a_task_stopped_before_it_began_never_runs(tasks) -> None:
    await suspend(tasks)
    begun = []
    task = tasks.async_nolink(begun.append, 1)

    assert await task.shutdown() is None

    await supervisors.resume(tasks)
    assert await tasks.count_children() == (0, 0, 0, 0)
    assert begun == []


async def test_shutdown_without_limit(tasks) -> None:
    task = tasks.async_(anyio.sleep, 60)
    assert await task.shutdown(None) is None
    task = tasks.async_(anyio.sleep, 60)
    assert await task.shutdown(BRUTAL_KILL) is None
    assert mailbox() == []


async def test_yield_many_of_none() -> None:
    assert await yield_many([]) == []


# ---- streams


async def test_streams_take_async_inputs_and_keep_no_more_than_they_may(tasks) -> None:
    pulled = 0

    async def inputs():
        nonlocal pulled
        for number in range(6):
            pulled += 1
            yield number

    got = []
    async for outcome in tasks.stream_nolink(inputs(), double, max_concurrency=2):
        got.append(outcome)
        assert pulled <= len(got) + 2

    assert got == [Done(number * 2) for number in range(6)]


async def test_an_unordered_stream_yields_what_comes_first(tasks) -> None:
    gate = anyio.Event()

    async def work(number: int) -> int:
        if number == 0:
            await gate.wait()
        return number

    async with aclosing(tasks.stream(range(3), work, max_concurrency=2, ordered=False)) as stream:
        first = [await anext(stream), await anext(stream)]
        gate.set()
        last = [outcome async for outcome in stream]

    assert (first, last) == ([Done(1), Done(2)], [Done(0)])


async def test_a_stream_needs_room_in_its_supervisor() -> None:
    async with Node():
        tasks = await TaskSupervisor.start_link(max_children=1)

        with pytest.raises(MaxChildren):
            [_ async for _ in tasks.stream([1, 2], anyio.sleep, max_concurrency=2)]

        await until_no_children(tasks)
        await stop(tasks)


async def test_a_stream_left_early_stops_its_tasks(tasks) -> None:
    cleaned = anyio.Event()

    async def work(number: int) -> int:
        if number:
            trap_exit(True)
            await supervisors.receive(supervisors.Exit)
            cleaned.set()
        return number

    async with aclosing(tasks.stream([0, 1], work, max_concurrency=2)) as stream:
        assert await anext(stream) == Done(0)
        await anyio.sleep(0.01)

    with anyio.fail_after(5):
        await cleaned.wait()
    await until_no_children(tasks)
    async with aclosing(
        tasks.stream([0, 1], work, max_concurrency=2, shutdown=BRUTAL_KILL, timeout=60.0)
    ) as stream:
        assert await anext(stream) == Done(0)
    await until_no_children(tasks)
    assert mailbox() == []


@pytest.mark.parametrize("options", [{"max_concurrency": 0}, {"on_timeout": "kill"}], ids=str)
async def test_wrong_options_are_refused_at_once(tasks, options) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(options))} must be"):
        tasks.stream([1], double, **options)


async def test_the_default_number_is_that_of_processors(tasks) -> None:
    assert [outcome async for outcome in tasks.stream([1, 2, 3], double)] == [
        Done(2),
        Done(4),
        Done(6),
    ]


# ---- the supervisor itself


async def test_it_is_a_child_like_any_other() -> None:
    async with Node():
        outer = await Supervisor.start_link([TaskSupervisor.child_spec(name="tasks")])
        [child] = await outer.which_children()
        assert child.type == "supervisor"
        ref = await supervisors.whereis("tasks").start_child(anyio.sleep, 60)
        ended = when_down(ref)

        await stop(outer)

        assert (await ended).is_calm
        with pytest.raises(StartFailed):
            await TaskSupervisor.start_link(max_children=-1)


async def test_a_transient_task_runs_again(tasks) -> None:
    runs = []

    async def work(number: int) -> None:
        runs.append(number)
        if len(runs) < 3:
            exit(supervisors.self_(), "boom")

    await tasks.start_child(work, 5, restart="transient", shutdown=BRUTAL_KILL)
    await until_no_children(tasks)

    assert runs == [5, 5, 5]


# ---- threads


def test_threads_use_the_same_calls(node) -> None:
    tasks = TaskSupervisor.start_on(node)

    assert tasks.async_(double, 21).result().get() == 42
    assert tasks.async_nolink(half, 0).yield_().get() == Exited(
        Error(ZeroDivisionError("division by zero"))
    )
    with pytest.raises(CallExit):
        tasks.async_(half, 0).result().get()
    slow = tasks.async_nolink(anyio.sleep, 60)
    assert slow.yield_(0.01).get() is None
    assert slow.shutdown().get() is None
    outcomes = yield_many([tasks.async_nolink(double, number) for number in range(50)]).get()
    assert [outcome for _, outcome in outcomes] == [Done(number * 2) for number in range(50)]
    assert tasks.start_child(threading.Event().is_set).get(timeout=5)
    supervisors.stop(tasks).get(timeout=5)


def test_a_thread_that_does_not_trap_is_not_left_waiting(node) -> None:
    tasks = TaskSupervisor.start_on(node)
    failed = []

    async def fail_later() -> None:
        await anyio.sleep(0.05)
        half(0)

    def work() -> None:
        trap_exit(False)
        try:
            tasks.async_(fail_later).result().get()
        except CallExit as error:
            failed.append(error.reason)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(5)

    assert failed == [Error(ZeroDivisionError("division by zero"))]
    supervisors.stop(tasks).get(timeout=5)


@pytest.mark.parametrize("how", ["boom", "shutdown"])
async def test_the_end_of_a_linked_owner_ends_its_task(tasks, how) -> None:
    box = []

    async def owner() -> None:
        box.append(tasks.async_(anyio.sleep, 60))
        await until_running(box[0])
        supervisors.exit_self(how)

    await when_down(supervisors.spawn(owner))
    ended = when_down(box[0].ref)

    assert await ended in (supervisors.as_reason(how), Custom("boom"), supervisors.NOPROC)
    await until_no_children(tasks)


async def until_running(task) -> None:
    with anyio.fail_after(5):
        while not supervisors.info(task.ref).links:
            await anyio.lowlevel.checkpoint()
