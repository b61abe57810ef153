"""What every store keeps, and what it promises about its locks within one process."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from snodo_actors.oauth.words.errors import AuthorizationError

VALUE = {
    "access_token": "s3cr3t",
    "expires_at": 1.5,
    "scopes": ["a", "ü", "\ud800", 2**70],
    "nested": {"": None, "yes": True},
}
KEYS = ["", "https://example.test/mcp", "a/b\0c", "../../etc/passwd", "ü" * 1000, "\ud800"]


async def test_nothing_is_there_before_it_is_saved(store: Any) -> None:
    await store.delete("key")

    assert await store.load("key") is None


async def test_a_value_comes_back_under_its_key_until_it_is_deleted(store: Any) -> None:
    for number, key in enumerate(KEYS):
        await store.save(key, {**VALUE, "number": number})
    await store.save(KEYS[0], {**VALUE, "number": 100})
    await store.delete(KEYS[1])

    loaded = [await store.load(key) for key in KEYS]

    assert loaded[:2] == [{**VALUE, "number": 100}, None]
    assert [{**VALUE, "number": number} for number in range(2, len(KEYS))] == loaded[2:]


async def test_what_is_saved_and_loaded_is_the_callers_own(store: Any) -> None:
    value: dict[str, Any] = {"scopes": ["a"]}
    await store.save("key", value)
    value["scopes"].append("b")
    loaded = await store.load("key")
    loaded["scopes"].append("c")

    assert await store.load("key") == {"scopes": ["a"]}


@pytest.mark.parametrize("wrong", [{"a": object()}, {"a": float("nan")}, {"a": b""}])
async def test_what_is_not_json_is_refused_and_the_old_value_stays(store: Any, wrong: Any) -> None:
    await store.save("key", {"old": 1})

    with pytest.raises((TypeError, ValueError)):
        await store.save("key", wrong)
    assert await store.load("key") == {"old": 1}


async def test_a_store_shows_no_secret(store: Any) -> None:
    await store.save("key", VALUE)

    assert "s3cr3t" not in f"{store!r} {store}"


async def test_a_lock_is_held_by_one_at_a_time_in_the_order_of_asking(store: Any) -> None:
    order: list[int] = []
    inside = 0

    async def work(number: int) -> None:
        nonlocal inside
        async with store.locked("key", 30.0):
            inside += 1
            assert inside == 1
            order.append(number)
            await anyio.lowlevel.checkpoint()
            inside -= 1

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(work, number)
            await anyio.wait_all_tasks_blocked()  # in line before the next one comes

    assert list(range(6)) == order


async def test_locks_of_different_keys_do_not_wait_for_each_other(store: Any) -> None:
    async with store.locked("one", 0), store.locked("two", 0):
        await store.save("one", VALUE)  # nor does what is written

    async with store.locked("one", 0):
        pass


async def test_a_lock_that_is_not_free_in_time_is_an_error_that_says_so(store: Any) -> None:
    async with store.locked("key", 0):
        for timeout in (0, 0.05):
            with pytest.raises(AuthorizationError, match=f"not free within {timeout} s") as caught:
                async with store.locked("key", timeout):
                    pytest.fail("two hold it")
            assert (caught.value.step, caught.value.delivery) == ("store", "never_sent")
    async with store.locked("key", 0):
        pass


async def test_an_error_inside_frees_the_lock_and_comes_out(store: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async with store.locked("key", 0):
            raise ZeroDivisionError

    async with store.locked("key", 0):
        pass


async def test_who_is_cancelled_while_waiting_leaves_the_lock_to_the_next(store: Any) -> None:
    got = anyio.Event()

    async def wait(scope: anyio.CancelScope, then: anyio.Event | None = None) -> None:
        with scope:
            async with store.locked("key", 30.0):
                await anyio.lowlevel.checkpoint()
                assert then is not None
                then.set()

    scopes = [anyio.CancelScope() for _ in range(4)]
    with anyio.fail_after(10.0):
        async with anyio.create_task_group() as tasks:
            async with store.locked("key", 0):
                for scope in scopes[:3]:
                    tasks.start_soon(wait, scope)
                tasks.start_soon(wait, scopes[3], got)
                await anyio.wait_all_tasks_blocked()
                scopes[1].cancel()
                await anyio.wait_all_tasks_blocked()
                scopes[0].cancel()  # it may have been told that its turn has come
            scopes[2].cancel()
            await got.wait()


async def test_who_is_cancelled_while_holding_frees_the_lock(store: Any) -> None:
    with anyio.CancelScope() as scope:
        async with store.locked("key", 0):
            scope.cancel()
            await anyio.sleep_forever()

    async with store.locked("key", 0):
        pass


def test_threads_with_loops_of_both_kinds_lose_nothing(store: Any) -> None:
    async def count() -> None:
        for _ in range(15):
            async with store.locked("counter", 60.0):
                value = await store.load("counter") or {"count": 0}
                await store.save("counter", {"count": value["count"] + 1})

    threads = [
        threading.Thread(target=anyio.run, args=(count,), kwargs={"backend": backend})
        for backend in ("asyncio", "trio", "asyncio", "trio")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert anyio.run(store.load, "counter") == {"count": 60}


def test_a_loop_that_is_closed_over_its_tasks_frees_what_they_held(store: Any) -> None:
    async def hold() -> None:
        async with store.locked("key", 30.0):
            await anyio.sleep_forever()

    async def begin() -> None:
        tasks.append(asyncio.ensure_future(hold()))
        await anyio.wait_all_tasks_blocked()

    async def check() -> None:
        async with store.locked("key", 5.0):
            pass

    tasks: list[asyncio.Task[None]] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
    tasks.clear()
    del loop
    gc.collect()

    anyio.run(check, backend="trio")
