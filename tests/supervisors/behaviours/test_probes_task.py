"""Task.Supervisor, asked what a real Elixir was asked: the answers are those that were recorded.

The recordings are in `otp_probes/probes_elixir.jsonl`; each test names its probe.
"""

from __future__ import annotations

import time
from contextlib import aclosing

import anyio
import pytest

from supervisors import (
    BRUTAL_KILL,
    KILLED,
    NORMAL,
    SHUTDOWN,
    CallExit,
    CallTimeout,
    Custom,
    Done,
    Down,
    Error,
    Exit,
    Exited,
    MaxChildren,
    NotOwner,
    Shutdown,
    TaskReply,
    TaskSupervisor,
    TimedOut,
    exit_self,
    mailbox,
    receive,
    spawn,
    stop,
    subscribe_reports,
    trap_exit,
    when_down,
    yield_many,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("inner_node")]

BOOM = Custom("boom")


@pytest.fixture
async def tasks(inner_node):
    supervisor = await TaskSupervisor.start_link()
    yield supervisor
    if supervisor.is_alive():
        await stop(supervisor)


async def value(it, seconds: float = 0.0):
    await anyio.sleep(seconds)
    return it


def boom(*_args) -> None:
    exit_self("boom")


def raise_x() -> None:
    raise RuntimeError("x")


class Caller:
    """A process that does something with tasks: what came of it, its mailbox then, and its end."""

    def __init__(self, function, *, trapping: bool = False) -> None:
        self.result: object = None
        self.mailbox: list[object] | None = None
        self._function = function
        self.ref = spawn(self._run, trap_exit=trapping)
        self._down = when_down(self.ref)

    async def _run(self) -> None:
        self.result = await self._function()
        await anyio.sleep(0.02)
        self.mailbox = mailbox()

    async def end(self):
        with anyio.fail_after(5):
            return await self._down


async def exit_of(awaitable) -> object:
    """The reason an await exits with, as `catch_exit` has it."""
    try:
        return await awaitable
    except CallExit as error:
        return ("exit", error.reason)


async def until_no_children(tasks) -> None:
    with anyio.fail_after(5):
        while await tasks.which_children():
            await anyio.lowlevel.checkpoint()


# ---- supervisor


async def test_task_sup_defaults(tasks) -> None:
    ref = await tasks.start_child(raise_x)
    [entry] = [*tasks.process.actor._children._by_ref.values()]
    ended = when_down(ref)

    assert (entry.spec.restart, entry.spec.shutdown, entry.spec.type) == (
        "temporary",
        5.0,
        "worker",
    )
    assert await ended == Error(RuntimeError("x"))
    await until_no_children(tasks)
    assert tasks.is_alive()


async def test_start_child_transient_restarts(tasks) -> None:
    runs = []
    ended = when_down(tasks)

    def failing() -> None:
        runs.append(1)
        boom()

    await tasks.start_child(failing, restart="transient")

    assert await ended == SHUTDOWN
    assert len(runs) == 4


async def test_task_max_children() -> None:
    tasks = await TaskSupervisor.start_link(max_children=1)
    await tasks.start_child(anyio.sleep, 60)

    with pytest.raises(MaxChildren):
        await tasks.start_child(value, 1)
    with pytest.raises(MaxChildren):
        await tasks.async_(value, 1)
    await stop(tasks)


async def test_task_sup_stop(tasks) -> None:
    async def cleaning() -> None:
        trap_exit(True)
        message = await receive(Exit)
        exit_self(("shutdown", ("cleaned", message.reason)))

    async def stubborn() -> None:
        trap_exit(True)
        await receive(int)

    plain = await tasks.start_child(anyio.sleep, 60)
    cleaned = await tasks.start_child(cleaning)
    killed = await tasks.start_child(stubborn, shutdown=0.08)
    ends = [when_down(ref) for ref in (plain, cleaned, killed)]
    await anyio.sleep(0.02)
    before = time.monotonic()

    await stop(tasks)

    assert [await end for end in ends] == [SHUTDOWN, Shutdown(("cleaned", SHUTDOWN)), KILLED]
    assert 0.07 < time.monotonic() - before < 0.5


async def test_task_callers_and_logger(tasks) -> None:
    seen = []
    unsubscribe = subscribe_reports(seen.append)
    await when_down(await tasks.start_child(raise_x))
    await until_no_children(tasks)
    await when_down(await tasks.start_child(exit_self, "normal"))
    await when_down(await tasks.start_child(exit_self, "shutdown"))
    await until_no_children(tasks)
    unsubscribe()

    assert [(r.event, getattr(r, "context", None)) for r in seen if r.event != "progress"] == [
        ("crash", None),
        ("supervisor", "child_terminated"),
    ]


# ---- async and await


async def test_async_await_ok(tasks) -> None:
    async def ask():
        return await tasks.async_(value, 42)

    caller = Caller(ask)

    assert (await caller.end(), caller.result, caller.mailbox) == (NORMAL, 42, [])


async def test_async_crash_plain_caller(tasks) -> None:
    async def ask():
        return await exit_of(tasks.async_(raise_x).result())

    caller = Caller(ask)

    assert await caller.end() == Error(RuntimeError("x"))
    assert (caller.result, caller.mailbox) == (None, None)


async def test_async_crash_trapping_caller(tasks) -> None:
    async def ask():
        return await exit_of(tasks.async_(boom).result())

    caller = Caller(ask, trapping=True)

    assert await caller.end() == NORMAL
    assert caller.result == ("exit", BOOM)
    [message] = caller.mailbox
    assert isinstance(message, Exit)
    assert message.reason == BOOM


async def test_async_nolink_crash(tasks) -> None:
    async def awaited():
        return await exit_of(tasks.async_nolink(boom).result())

    async def not_awaited():
        tasks.async_nolink(boom)
        return await receive()

    caller, other = Caller(awaited), Caller(not_awaited)

    assert (await caller.end(), caller.result, caller.mailbox) == (NORMAL, ("exit", BOOM), [])
    assert (await other.end(), other.mailbox) == (NORMAL, [])
    assert isinstance(other.result, Down)
    assert other.result.reason == BOOM


async def test_async_nolink_result_message(tasks) -> None:
    async def ask():
        task = tasks.async_nolink(value, 1)
        first, second = await receive(), await receive()
        return (
            first == TaskReply(task.monitor, 1),
            second == Down(task.monitor, task.ref, NORMAL),
        )

    caller = Caller(ask)

    assert (await caller.end(), caller.result, caller.mailbox) == (NORMAL, (True, True), [])


async def test_caller_dies_async(tasks) -> None:
    left = {}
    for start, how in (
        (tasks.async_, "boom"),
        (tasks.async_, "normal"),
        (tasks.async_nolink, "boom"),
        (tasks.async_nolink, "normal"),
    ):
        begun = anyio.Event()

        async def work(begun=begun) -> None:
            begun.set()
            await anyio.sleep(60)

        async def call(start=start, how=how, work=work, begun=begun) -> None:
            start(work)
            await begun.wait()
            exit_self(how)

        caller = Caller(call)
        await caller.end()
        await anyio.sleep(0.02)
        children = await tasks.which_children()
        left[start.__name__, how] = len(children)
        for child in children:
            await tasks.terminate_child(child.ref)

    assert left == {
        ("async_", "boom"): 0,
        ("async_", "normal"): 1,
        ("async_nolink", "boom"): 1,
        ("async_nolink", "normal"): 1,
    }


async def test_await_timeout(tasks) -> None:
    async def ask():
        task = tasks.async_(value, 1, 0.15)
        outcome = await exit_of(task.result(0.05))
        alive = task.ref.is_alive()
        await when_down(task.ref)
        await anyio.sleep(0.01)
        return outcome, alive, mailbox()

    caller = Caller(ask)

    assert (await caller.end(), caller.mailbox) == (NORMAL, [])
    assert caller.result == (("exit", TimedOut()), True, [])


async def test_await_not_owner(tasks) -> None:
    task = tasks.async_nolink(value, 1)

    async def ask():
        with pytest.raises(NotOwner):
            await task
        return "error"

    caller = Caller(ask)

    assert (await caller.end(), caller.result, caller.mailbox) == (NORMAL, "error", [])
    assert await task == 1


# ---- yield, shutdown


async def test_yield_and_shutdown(tasks) -> None:
    async def stubborn() -> None:
        trap_exit(True)
        while True:
            await receive()

    async def ask():
        said = {}
        slow = tasks.async_nolink(value, 1, 60.0)
        said["yield"] = await slow.yield_(0.03)
        said["shutdown"] = await slow.shutdown()
        quick = tasks.async_nolink(value, "quick")
        await anyio.sleep(0.02)
        said["shutdown_done"] = await quick.shutdown()
        said["yield_dead"] = await tasks.async_nolink(boom).yield_()
        said["brutal"] = await tasks.async_nolink(anyio.sleep, 60).shutdown(BRUTAL_KILL)
        trapping = tasks.async_nolink(stubborn)
        await anyio.sleep(0.02)
        before = time.monotonic()
        said["trapping_killed_after"] = await trapping.shutdown(0.06)
        assert 0.05 < time.monotonic() - before < 0.5
        await until_no_children(tasks)
        return said

    caller = Caller(ask)

    assert (await caller.end(), caller.mailbox) == (NORMAL, [])
    assert caller.result == {
        "yield": None,
        "shutdown": None,
        "shutdown_done": Done("quick"),
        "yield_dead": Exited(BOOM),
        "brutal": None,
        "trapping_killed_after": Exited(KILLED),
    }


async def test_yield_many(tasks) -> None:
    async def ask():
        started = [
            tasks.async_nolink(value, 1),
            tasks.async_nolink(boom),
            tasks.async_nolink(value, 3, 60.0),
        ]
        outcomes = await yield_many(started, 0.06)
        await started[2].shutdown()
        assert [task for task, _ in outcomes] == started
        return [outcome for _, outcome in outcomes]

    caller = Caller(ask)

    assert (await caller.end(), caller.mailbox) == (NORMAL, [])
    assert caller.result == [Done(1), Exited(BOOM), None]


# ---- streams


async def test_stream_basic(tasks) -> None:
    running, seen, pulled = [], [], []

    async def work(number: int) -> int:
        running.append(number)
        seen.append(len(running))
        await anyio.sleep(0.005)
        running.remove(number)
        return number

    async def wait(ms: int) -> int:
        await anyio.sleep(ms / 1000)
        return ms

    def inputs():
        for number in range(1, 6):
            pulled.append(number)
            yield number

    stream = tasks.stream(range(1, 6), work, max_concurrency=2)
    assert [outcome async for outcome in stream] == [Done(n) for n in range(1, 6)]
    assert max(seen) == 2
    stream = tasks.stream([60, 20, 5], wait, max_concurrency=3, ordered=False)
    assert [outcome async for outcome in stream] == [Done(5), Done(20), Done(60)]
    async with aclosing(tasks.stream(inputs(), work, max_concurrency=2)) as stream:
        assert await anext(stream) == Done(1)
    assert len(pulled) == 2
    await until_no_children(tasks)


async def test_stream_task_exits(tasks) -> None:
    def fail_at_two(number: int) -> int:
        if number == 2:
            exit_self("boom")
        return number

    def all_of(stream):
        async def ask():
            return [o async for o in stream([1, 2, 3], fail_at_two, max_concurrency=1)]

        return ask

    plain = Caller(all_of(tasks.stream))
    assert (await plain.end(), plain.result, plain.mailbox) == (BOOM, None, None)
    expected = [Done(1), Exited(BOOM), Done(3)]
    trapping = Caller(all_of(tasks.stream), trapping=True)
    assert (await trapping.end(), trapping.result, trapping.mailbox) == (NORMAL, expected, [])
    nolink = Caller(all_of(tasks.stream_nolink))
    assert (await nolink.end(), nolink.result, nolink.mailbox) == (NORMAL, expected, [])


async def test_stream_timeout(tasks) -> None:
    async def wait(ms: int) -> int:
        await anyio.sleep(ms / 1000)
        return ms

    def all_of(**options):
        async def ask():
            stream = tasks.stream([5, 3000, 5], wait, timeout=0.06, **options)
            try:
                return [outcome async for outcome in stream]
            except CallTimeout as error:
                return ("exit", error.reason)

        return ask

    caller = Caller(all_of())
    assert (await caller.end(), caller.result) == (NORMAL, ("exit", TimedOut()))
    await until_no_children(tasks)
    killing = Caller(all_of(on_timeout="kill_task"))
    assert (await killing.end(), killing.mailbox) == (NORMAL, [])
    assert killing.result == [Done(5), Exited(TimedOut()), Done(5)]
    zipping = Caller(all_of(on_timeout="kill_task", zip_input_on_exit=True))
    assert (await zipping.end(), zipping.mailbox) == (NORMAL, [])
    assert zipping.result == [Done(5), Exited(TimedOut(), 3000), Done(5)]


async def test_stream_halt_kills_rest(tasks) -> None:
    async def wait(ms: int) -> int:
        await anyio.sleep(ms / 1000)
        return ms

    async def ask():
        async with aclosing(tasks.stream([1, 3000, 3000], wait, max_concurrency=3)) as stream:
            got = await anext(stream)
        await until_no_children(tasks)
        return got

    caller = Caller(ask)

    assert (await caller.end(), caller.result, caller.mailbox) == (NORMAL, Done(1), [])
