"""A future is awaited on any loop, waited for in any thread, and set once."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.abc
import pykka
import pytest
import trio
from inside import PATIENCE, inside

import supervisors
from supervisors import Future, WouldBlock


class Echo(supervisors.Actor):
    """Answers with what it is asked; holds an answer back while told to."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[supervisors.Future[object]] = []

    def on_receive(self, message):
        match message:
            case Exception():
                raise message
            case _:
                return message

    def hold(self) -> supervisors.Future[object]:
        future: supervisors.Future[object] = Future(self.node)
        self.held.append(future)
        return future

    async def wait(self, future):
        return await future


@pytest.fixture
def echo(node):
    return Echo.start()


# --- in threads


def test_a_thread_waits_for_the_value(echo) -> None:
    assert echo.ask("hi", block=False).get(timeout=PATIENCE) == "hi"
    assert echo.ask("hi") == "hi"


def test_a_thread_waits_for_a_future_that_another_thread_sets() -> None:
    future = Future[int]()
    waits = threading.Event()
    future.add_done_callback(lambda _: None)
    with ThreadPoolExecutor(4) as threads:
        got = [
            threads.submit(lambda: (waits.set(), future.get(timeout=PATIENCE))[1]) for _ in range(4)
        ]
        assert waits.wait(PATIENCE)
        future.set(7)

        assert [each.result(PATIENCE) for each in got] == [7] * 4


def test_a_value_can_be_got_again_and_again() -> None:
    future = Future[int]()
    future.set(7)

    assert [future.get(), future.get(timeout=0), future.get(timeout=1.0)] == [7, 7, 7]


def test_get_raises_what_the_future_failed_with_each_time() -> None:
    future = Future[int]()
    error = ValueError("oops")
    future.set_exception(error)

    for _ in range(2):
        with pytest.raises(ValueError, match="oops") as raised:
            future.get(timeout=1.0)
        assert raised.value is error


@pytest.mark.parametrize("timeout", [0, 0.01])
def test_get_gives_up_after_its_timeout_and_can_be_tried_again(timeout) -> None:
    future = Future[int]()

    with pytest.raises(pykka.Timeout):
        future.get(timeout=timeout)
    future.set(1)
    assert future.get(timeout=timeout) == 1


def test_raising_does_not_grow_the_traceback_of_the_exception() -> None:
    future = Future[int]()
    future.set_exception(ValueError("oops"))

    def depth() -> int:
        try:
            future.get()
        except ValueError as error:
            traceback, n = error.__traceback__, 0
            while traceback:
                traceback, n = traceback.tb_next, n + 1
            return n
        raise AssertionError

    first = depth()
    for _ in range(50):
        depth()
    assert depth() <= first + 2


# --- set once


def set_value(future):
    future.set(2)


def set_exception(future):
    future.set_exception(KeyError("late"))


def set_hook(future):
    future.set_get_hook(lambda _timeout: 3)


@pytest.mark.parametrize("again", [set_value, set_exception, set_hook])
@pytest.mark.parametrize("failed", [False, True])
def test_a_future_is_set_once(again, failed) -> None:
    future = Future[int]()
    future.set_exception(ValueError("first")) if failed else future.set(1)

    with pytest.raises(queue.Full):
        again(future)
    assert (future.try_set(4), future.try_fail(KeyError("late"))) == (False, False)
    if failed:
        with pytest.raises(ValueError, match="first"):
            future.get()
    else:
        assert future.get() == 1


def test_of_many_threads_that_set_a_future_one_wins() -> None:
    for _ in range(50):
        future = Future[int]()
        line = threading.Barrier(4)

        def race(n, future=future, line=line):
            line.wait()
            return future.try_set(n)

        with ThreadPoolExecutor(4) as threads:
            won = list(threads.map(race, range(4)))
        assert (sum(won), won.index(True)) == (1, future.get())


def test_a_future_says_whether_it_is_done_and_how() -> None:
    value, error = Future[int](), Future[int]()
    assert (value.done(), error.done()) == (False, False)
    value.set(1)
    error.set_exception(oops := ValueError("oops"))

    assert (value.done(), error.done()) == (True, True)
    assert (value.exception(), error.exception()) == (None, oops)


def test_the_exception_being_handled_is_what_set_exception_takes_without_one() -> None:
    future = Future[int]()
    try:
        raise ValueError("oops")
    except ValueError:
        future.set_exception()

    with pytest.raises(ValueError, match="oops"):
        future.get()


def test_set_exception_takes_what_sys_exc_info_gives() -> None:
    future = Future[int]()
    try:
        raise ValueError("oops")
    except ValueError:
        future.set_exception(sys.exc_info())

    with pytest.raises(ValueError, match="oops"):
        future.get()


# --- callbacks


def test_callbacks_run_once_where_the_future_is_set() -> None:
    future = Future[int]()
    seen: list[object] = []
    for n in range(2):
        future.add_done_callback(lambda f, n=n: seen.append((n, f.get(), threading.get_ident())))
    thread = threading.Thread(target=future.set, args=(7,))
    thread.start()
    thread.join()
    future.add_done_callback(lambda f: seen.append(("late", f.get(), threading.get_ident())))

    me = threading.get_ident()
    assert [entry[:2] for entry in seen] == [(0, 7), (1, 7), ("late", 7)]
    assert [entry[2] == me for entry in seen] == [False, False, True]


def test_a_callback_that_was_removed_does_not_run() -> None:
    future = Future[int]()
    seen: list[str] = []
    mine, other = lambda _: seen.append("mine"), lambda _: seen.append("other")
    future.remove_done_callback(mine)
    future.add_done_callback(mine)
    future.add_done_callback(other)
    future.remove_done_callback(mine)
    future.set(1)

    assert seen == ["other"]


def test_a_callback_that_raises_keeps_nobody_from_the_value() -> None:
    future = Future[int]()
    seen: list[int] = []
    future.add_done_callback(lambda _: 1 / 0)
    future.add_done_callback(lambda f: seen.append(f.get()))
    with contextlib.suppress(ZeroDivisionError):  # the one who set it may hear of it
        future.set(7)

    assert (seen, future.get(timeout=1.0)) == ([7], 7)


# --- awaited in the loop of a test: asyncio, uvloop, trio


async def test_a_future_is_awaited_in_another_loop_than_the_node_s(backend, anyio_backend) -> None:
    with supervisors.Node(backend=backend):
        echo = Echo.start()

        assert await echo.ask("hi", block=False) == "hi"
        with pytest.raises(ValueError, match="oops"):
            await echo.ask(ValueError("oops"), block=False)


async def test_a_future_is_awaited_in_the_loop_of_the_node_itself(inner_node) -> None:
    echo = Echo.start()

    assert await echo.ask("hi", block=False) == "hi"
    with pytest.raises(ValueError, match="oops"):
        await echo.ask(ValueError("oops"), block=False)


async def test_a_future_that_is_done_can_be_awaited_again_and_again(anyio_backend) -> None:
    future = Future[int]()
    future.set(7)

    assert [await future, await future] == [7, 7]


async def test_many_tasks_await_one_future_that_a_thread_sets(anyio_backend) -> None:
    future = Future[int]()
    got: list[int] = []

    async def wait() -> None:
        got.append(await future)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert got == []
        await anyio.to_thread.run_sync(future.set, 7)

    assert got == [7] * 5


async def test_a_future_set_in_the_same_loop_wakes_who_awaits_it(anyio_backend) -> None:
    future = Future[int]()
    got: list[int] = []

    async def wait() -> None:
        got.append(await future)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        future.set(7)

    assert got == [7]


async def test_awaiting_is_a_place_to_be_cancelled_that_leaves_no_trace(anyio_backend) -> None:
    class Kept:
        pass

    future = Future[int]()
    seen: list[object] = []

    async def wait() -> None:
        kept = Kept()
        seen.append(weakref.ref(kept))
        try:
            await future
        except BaseException as error:
            seen.append(isinstance(error, anyio.get_cancelled_exc_class()))
            raise

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    gc.collect()

    assert (seen[0](), seen[1:]) == (None, [True])  # type: ignore[operator]
    assert future.done() is False
    future.set(7)
    assert await future == 7


async def test_one_of_two_who_await_is_cancelled_and_the_other_gets_the_value(
    anyio_backend,
) -> None:
    future = Future[int]()
    got: list[object] = []

    async def wait(scope: anyio.CancelScope) -> None:
        with scope:
            got.append(await future)
        got.append("end")

    first, second = anyio.CancelScope(), anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, first)
        tasks.start_soon(wait, second)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
        await anyio.wait_all_tasks_blocked()
        future.set(7)

    assert got == ["end", 7, "end"]


async def test_a_value_set_in_the_moment_of_a_cancellation_is_not_lost(anyio_backend) -> None:
    future = Future[int]()
    ended: list[str] = []

    async def wait() -> None:
        try:
            await future
            ended.append("value")
        finally:
            ended.append("end")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        future.set(7)
        tasks.cancel_scope.cancel()

    assert ended[-1] == "end"
    assert await future == 7


async def test_cancelling_who_awaits_an_answer_does_not_stop_the_actor(inner_node) -> None:
    echo = Echo.start().proxy()
    held = await echo.hold()
    asked = echo.wait(held)
    with anyio.move_on_after(0.01) as scope:
        await asked
    assert scope.cancelled_caught
    held.set(7)

    assert await asked == 7


async def test_fail_after_reaches_a_future(anyio_backend) -> None:
    with pytest.raises(TimeoutError):
        with anyio.fail_after(0.01):
            await Future[int]()


async def test_get_in_a_thread_while_its_loop_goes_on(inner_node) -> None:
    echo = Echo.start()
    future = echo.ask("hi", block=False)

    assert await anyio.to_thread.run_sync(lambda: future.get(timeout=PATIENCE)) == "hi"


# --- the loop that has to produce the value may not wait for it


async def test_get_on_the_loop_of_the_node_says_what_to_write(inner_node) -> None:
    echo = Echo.start()
    future = echo.ask("hi", block=False)
    with pytest.raises(WouldBlock, match="await"):
        future.get()
    with pytest.raises(WouldBlock, match="await"):
        future.get(timeout=1.0)
    with pytest.raises(WouldBlock, match=r"await ref\.ask\(message, block=False\)"):
        echo.ask("hi")
    with pytest.raises(WouldBlock, match="await"):
        echo.stop()

    assert await future == "hi"


def test_get_in_a_handler_says_what_to_write(node) -> None:
    class Asks(supervisors.Actor):
        def on_receive(self, message):
            return message.ask("hi")

    echo = Echo.start()
    with pytest.raises(WouldBlock, match="await"):
        Asks.start().ask(echo, timeout=PATIENCE)


def test_get_on_the_loop_is_fine_once_the_value_is_there(node) -> None:
    echo = Echo.start()

    async def body():
        future = echo.ask("hi", block=False)
        await future
        return future.get(), future.get(timeout=0)

    assert inside(node, body) == ("hi", "hi")


def test_a_handler_may_wait_in_its_thread_for_another_node(node) -> None:
    class Asks(supervisors.Actor):
        def on_receive(self, message):
            return message.ask("hi", timeout=PATIENCE)

    asks = Asks.start()
    with supervisors.Node():
        echo = Echo.start()

        assert asks.ask(echo, timeout=PATIENCE) == "hi"


# --- map, filter, join, reduce


async def test_composed_futures_are_awaited(inner_node) -> None:
    echo = Echo.start()

    def ask(value):
        return echo.ask(value, block=False)

    assert await ask(3).map(lambda n: n + 1) == 4
    assert list(await ask([1, 2, 3]).filter(lambda n: n > 1)) == [2, 3]
    assert list(await ask(1).join(ask(2), ask(3))) == [1, 2, 3]
    assert await ask([1, 2, 3]).reduce(lambda a, b: a + b) == 6
    assert await ask([1, 2, 3]).reduce(lambda a, b: a + b, 4) == 10
    assert await ask([]).reduce(lambda a, b: a + b, 4) == 4
    chained = ask(1).join(ask(2)).map(sum).map(lambda n: n * 10)
    assert [await chained, await chained] == [30, 30]


def test_composed_futures_are_got_in_a_thread(echo) -> None:
    def ask(value):
        return echo.ask(value, block=False)

    assert ask(3).map(lambda n: n + 1).get(timeout=PATIENCE) == 4
    assert list(ask([1, 2, 3]).filter(lambda n: n > 1).get(timeout=PATIENCE)) == [2, 3]
    assert list(ask(1).join(ask(2)).get(timeout=PATIENCE)) == [1, 2]
    assert ask([1, 2, 3]).reduce(lambda a, b: a + b).get(timeout=PATIENCE) == 6


async def test_reduce_of_nothing_without_a_start_fails_as_in_pykka(anyio_backend) -> None:
    future = Future[list[int]]()
    future.set([])

    with pytest.raises(TypeError):
        await future.reduce(lambda a, b: a + b)


async def test_a_mapped_function_runs_once_for_all_who_ask(anyio_backend) -> None:
    runs: list[int] = []
    future = Future[int]()
    mapped = future.map(lambda n: (runs.append(n), n * 2)[1])
    assert (mapped.done(), runs) == (False, [])
    future.set(4)
    got: list[int] = []

    async def wait() -> None:
        got.append(await mapped)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(wait)

    assert (got, runs) == ([8, 8, 8], [4])


async def test_a_mapped_future_fails_as_the_first_one_or_as_its_function(anyio_backend) -> None:
    failed, value = Future[int](), Future[int]()
    failed.set_exception(ValueError("first"))
    value.set(0)

    with pytest.raises(ValueError, match="first"):
        await failed.map(lambda n: n + 1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await value.map(lambda n: 1 // n)


async def test_joined_futures_fail_with_the_first_that_failed(anyio_backend) -> None:
    good, bad, pending = Future[int](), Future[int](), Future[int]()
    good.set(1)
    bad.set_exception(ValueError("bad"))

    with pytest.raises(ValueError, match="bad"):
        await good.join(bad, pending)


async def test_a_join_is_cancelled_while_one_of_its_futures_is_pending(anyio_backend) -> None:
    done, pending = Future[int](), Future[int]()
    done.set(1)
    joined = done.join(pending)
    with anyio.move_on_after(0.01) as scope:
        await joined
    assert scope.cancelled_caught
    pending.set(2)

    assert list(await joined) == [1, 2]


async def test_our_futures_join_with_pykka_s_and_pykka_get_all_takes_ours(anyio_backend) -> None:
    ours = Future[int]()
    ours.set(1)
    theirs = pykka.ThreadingFuture[int]()
    theirs.set(2)

    assert list(await ours.join(theirs)) == [1, 2]
    assert list(theirs.join(ours).get(timeout=PATIENCE)) == [2, 1]
    assert list(pykka.get_all([ours, theirs], timeout=PATIENCE)) == [1, 2]


def test_join_in_a_thread_gives_up_after_its_timeout(echo) -> None:
    future = echo.ask("hi", block=False).join(Future[int]())

    with pytest.raises(pykka.Timeout):
        future.get(timeout=0.02)


# --- get hooks


def test_a_get_hook_produces_the_value_once() -> None:
    seen: list[object] = []
    future = Future[int]()
    future.set_get_hook(lambda timeout: (seen.append(timeout), 7)[1])

    assert [future.get(timeout=2.0), future.get()] == [7, 7]
    assert seen == [2.0]


async def test_a_future_with_a_get_hook_is_awaited_without_blocking_the_loop(
    anyio_backend,
) -> None:
    future = Future[int]()
    gate = threading.Event()
    future.set_get_hook(lambda _timeout: (gate.wait(PATIENCE), 7)[1])
    got: list[int] = []

    async def wait() -> None:
        got.append(await future)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.sleep(0.01)  # the loop still turns
        gate.set()

    assert got == [7]


# --- loops of the test's own making


def test_a_future_is_awaited_in_loops_that_come_and_go() -> None:
    future = Future[int]()

    async def give_up() -> str:
        try:
            await asyncio.wait_for(future, 0.01)
        except TimeoutError:
            return "gave up"
        return "value"

    async def trio_gives_up() -> bool:
        with trio.move_on_after(0.01) as scope:
            await future
        return scope.cancelled_caught

    async def take() -> int:
        return await future

    assert asyncio.run(give_up()) == "gave up"
    assert trio.run(trio_gives_up) is True
    future.set(7)  # both loops are closed by now
    assert (asyncio.run(take()), trio.run(take)) == (7, 7)


def test_a_loop_that_ended_while_awaiting_does_not_disturb_who_sets_the_future() -> None:
    future = Future[int]()

    async def forget() -> None:
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        assert not task.done()

    async def wait() -> None:
        await future

    asyncio.run(forget())  # cancels the task
    future.set(7)
    assert future.get() == 7


@pytest.mark.leaks("a loop is closed over a task on purpose")
def test_a_loop_closed_over_a_task_that_awaits_does_not_disturb_the_others(caplog) -> None:
    future = Future[int]()
    seen: list[int] = []

    async def wait() -> None:
        await future

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it complains of the task it left
    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    future.add_done_callback(lambda f: seen.append(f.get()))
    future.set(7)

    assert (seen, future.get(), task.done(), caplog.records) == ([7], 7, False, [])
    task._log_destroy_pending = False


async def test_await_outside_any_loop_s_task_is_refused(anyio_backend) -> None:
    future = Future[int]()
    coroutine = future.__await__()
    # Driven by hand, with no task around it, nothing can wake it; it must not hang or spin.
    next(coroutine, None)
    coroutine.close()


def test_futures_can_be_awaited_with_asyncio_gather_and_wait_for() -> None:
    with supervisors.Node():
        echo = Echo.start()

        async def body() -> list[object]:
            futures = [echo.ask(n, block=False) for n in range(3)]

            async def take(future):
                return await future

            return [
                *await asyncio.gather(*map(take, futures)),
                await asyncio.wait_for(take(futures[0]), 5),
            ]

        assert asyncio.run(body()) == [0, 1, 2, 0]
