"""What processes that share a store may rely on, also when one of them is killed."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from snodo_actors.oauth.file_store import FileStore
from snodo_actors.oauth.words.errors import AuthorizationError

BACKENDS = ["asyncio", "trio"]


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert (0, output) == (process.returncode, output)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_that_count_under_the_lock_lose_nothing(
    shared: list[str], shared_store: Any, start: Any
) -> None:
    counting = [start("count", *shared, "10", backend=BACKENDS[n % 2]) for n in range(8)]
    end(*counting)

    assert anyio.run(shared_store.load, "counter") == {"count": 80, "padding": "x" * 100}


def test_processes_that_save_different_keys_at_once_lose_nothing(
    shared: list[str], shared_store: Any, start: Any
) -> None:
    names = ["a", "b", "c", "d"]
    saving = [start("save_own", *shared, name) for name in names]
    assert [line_of(process) for process in saving] == ["ready"] * len(names)
    for process in saving:
        process.stdin.write("\n")
        process.stdin.flush()
    end(*saving)

    async def load_all() -> list[Any]:
        return [await shared_store.load(f"{name} {n}") for name in names for n in range(10)]

    assert [{"name": name, "number": n} for name in names for n in range(10)] == anyio.run(load_all)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_lock_is_refused_while_another_process_has_it_and_free_once_that_is_killed(
    shared: list[str], shared_store: Any, start: Any, backend: str
) -> None:
    holder = start("hold", *shared, backend=backend)
    assert line_of(holder) == "held"

    async def take(timeout: float) -> None:
        async with shared_store.locked("key", timeout):
            pass

    with pytest.raises(AuthorizationError, match=r"\.lock was not free within 0.1 s") as caught:
        anyio.run(take, 0.1, backend=backend)
    assert caught.value.step == "store"
    holder.kill()
    holder.wait()
    anyio.run(take, 0, backend=backend)


def test_who_waits_for_a_process_gets_its_turn_once_that_is_killed(
    shared: list[str], start: Any
) -> None:
    holder = start("hold", *shared)
    assert line_of(holder) == "held"
    waiting = [start("wait_behind", *shared, backend=backend) for backend in BACKENDS]
    assert [line_of(process) for process in waiting] == ["waiting", "waiting"]
    # One of them stands in the door, and is killed there or behind it.
    waiting[0].kill()
    waiting[0].wait()
    holder.kill()

    assert line_of(waiting[1]) == "held"
    end(waiting[1])


def test_a_process_that_wants_the_lock_all_the_time_does_not_keep_it(
    shared: list[str], shared_store: Any, start: Any, tmp_path: Path
) -> None:
    holds = tmp_path / "holds"
    holds.write_text("0")
    greedy = start("grab", *shared, str(holds))

    async def take() -> int:
        """Return how often the other had it while we waited for it."""
        seen = before = int(holds.read_text())
        while before == seen:
            await anyio.sleep(0.001)
            before = int(holds.read_text())
        async with shared_store.locked("key", 30.0):
            return int(holds.read_text()) - before

    async def take_often() -> list[int]:
        return [await take() for _ in range(20)]

    # Once we stand in the door the other has it no more; polls alone lose it a hundred times each.
    assert sum(anyio.run(take_often)) <= 60
    end(greedy)


async def test_waiting_for_a_process_lets_the_loop_go_on_and_ends_at_once_when_cancelled(
    shared: list[str], shared_store: Any, start: Any
) -> None:
    holder = start("hold", *shared)
    assert line_of(holder) == "held"
    threads = threading.active_count()

    async def wait() -> None:
        async with shared_store.locked("key", 30.0):
            pytest.fail("two hold it")

    turns = 0
    with anyio.fail_after(10.0):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait)
            while turns < 1000:
                await anyio.lowlevel.checkpoint()
                turns += 1
            tasks.cancel_scope.cancel()

    assert threads == threading.active_count()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fork_of_the_holder_neither_has_the_lock_nor_keeps_it(
    shared: list[str], shared_store: Any, start: Any, backend: str
) -> None:
    holder = start("fork", *shared, backend=backend)
    said = {line_of(holder) for _ in range(3)}
    assert {"parent", "child was refused", "child took another"} == said
    holder.kill()
    holder.wait()

    async def take() -> None:
        async with shared_store.locked("key", 5.0):
            pass

    anyio.run(take)
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert line_of(holder) == "child took it"


def test_a_process_killed_while_it_saves_leaves_what_was_there(tmp_path: Path, start: Any) -> None:
    path = tmp_path / "tokens.json"
    store = FileStore(path)
    anyio.run(store.save, "key", {"token": "old"})
    dying = start("die_in_save", "file", str(path))

    assert dying.wait() == -signal.SIGKILL
    left = tmp_path / "tokens.json.new"
    assert json.loads(left.read_text())["entries"] == {"key": {"token": "new"}}
    assert stat.S_IMODE(left.stat().st_mode) == 0o600  # with an umask of 0
    assert anyio.run(store.load, "key") == {"token": "old"}

    anyio.run(store.save, "key", {"token": "newer"})
    assert anyio.run(store.load, "key") == {"token": "newer"}
    assert not left.exists()
