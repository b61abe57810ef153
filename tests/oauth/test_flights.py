from __future__ import annotations

import threading

import anyio
import anyio.from_thread
import pytest

from snodo_actors.oauth.flights import Flights
from snodo_actors.words.errors import Error


async def test_many_ask_and_one_does() -> None:
    flights: Flights[int] = Flights()
    done = 0
    begun, go = anyio.Event(), anyio.Event()

    async def work() -> int:
        nonlocal done
        done += 1
        begun.set()
        await go.wait()
        return done

    got: list[int] = []

    async def ask() -> None:
        got.append(await flights.run("key", work))

    async with anyio.create_task_group() as tasks:
        for _ in range(64):
            tasks.start_soon(ask)
        await begun.wait()
        await anyio.lowlevel.checkpoint()
        go.set()

    assert got == [1] * 64
    assert await flights.run("key", work) == 2  # a new one, for nothing is kept


async def test_other_keys_do_not_wait() -> None:
    flights: Flights[str] = Flights()

    async def outer() -> str:
        async def inner() -> str:
            return "inner"

        return await flights.run("b", inner)

    assert await flights.run("a", outer) == "inner"


async def test_each_gets_the_failure_as_its_own() -> None:
    flights: Flights[int] = Flights()
    begun, go = anyio.Event(), anyio.Event()
    raised: list[Error] = []

    async def work() -> int:
        begun.set()
        await go.wait()
        raise Error(-32000, "no")

    async def ask() -> None:
        with pytest.raises(Error) as caught:
            await flights.run("key", work)
        raised.append(caught.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        await begun.wait()
        go.set()

    assert [error.message for error in raised] == ["no", "no"]
    assert raised[0] is not raised[1]


async def test_who_is_cancelled_leaves_the_work_to_the_next() -> None:
    flights: Flights[str] = Flights()
    begun, go = anyio.Event(), anyio.Event()
    got: list[str] = []

    async def forever() -> str:
        begun.set()
        await anyio.sleep_forever()
        return "never"

    async def second() -> str:
        return "second"

    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def first() -> None:
            with scope:
                await flights.run("key", forever)

        async def ask() -> None:
            go.set()
            got.append(await flights.run("key", second))

        tasks.start_soon(first)
        await begun.wait()
        tasks.start_soon(ask)
        await go.wait()
        scope.cancel()

    assert got == ["second"]


async def test_what_is_no_error_of_ours_stays_with_whoever_did_it() -> None:
    flights: Flights[str] = Flights()

    async def wrong() -> str:
        raise ZeroDivisionError

    async def right() -> str:
        return "right"

    with pytest.raises(ZeroDivisionError):
        await flights.run("key", wrong)
    assert await flights.run("key", right) == "right"


def test_threads_with_loops_of_their_own_share_it() -> None:
    flights: Flights[int] = Flights()
    barrier = threading.Barrier(4)
    done: list[int] = []
    got: list[int] = []

    async def work() -> int:
        done.append(1)
        await anyio.sleep(0.1)  # long enough for the others to ask
        return len(done)

    async def ask() -> None:
        barrier.wait()
        got.append(await flights.run("key", work))

    threads = [threading.Thread(target=anyio.run, args=(ask,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done == [1]
    assert got == [1, 1, 1, 1]
