"""One child many times over, each for its share of the keys."""

from __future__ import annotations

import pytest

from supervisors import (
    CallExit,
    Custom,
    DynamicSupervisor,
    GenServer,
    NoProcess,
    PartitionSupervisor,
    StartFailed,
    Stop,
    call,
    cast,
    exit,
    stop,
    when_down,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("inner_node")]


class Counter(GenServer):
    def init(self, start: int = 0, step: int = 1) -> None:
        self.value = start
        self.step = step

    def handle_call(self, request, caller):
        return self.value

    def handle_cast(self, request):
        if request == "stop":
            return Stop("boom")
        self.value += self.step
        return None


async def test_keys_go_to_their_partitions() -> None:
    supervisor = await PartitionSupervisor.start_link((Counter, 10), partitions=3)
    cast(supervisor.via(1), "add")
    cast(supervisor.via(4), "add")

    assert [await call(supervisor.via(key), "get") for key in (0, 1, 2, -1)] == [10, 12, 10, 12]
    assert supervisor.partition("key") is supervisor.partition("key")
    assert repr(supervisor.via("key")) == f"<partition of 'key' in {supervisor}>"
    await stop(supervisor)


async def test_each_partition_may_have_arguments_of_its_own() -> None:
    supervisor = await PartitionSupervisor.start_link(
        (Counter, 5), partitions=2, with_arguments=lambda args, number: (*args, 100 + number)
    )
    for key in (0, 1, 0, 1):
        cast(supervisor.via(key), "add")

    assert [await call(supervisor.via(key), "get") for key in (0, 1)] == [205, 207]
    await stop(supervisor)


async def test_a_partition_is_restarted_and_found_again() -> None:
    supervisor = await PartitionSupervisor.start_link(Counter, partitions=2)
    first, other = supervisor.partition(0), supervisor.partition(1)
    ended = when_down(first)
    first.cast("stop")
    await ended

    assert await supervisor.count_children() == (2, 2, 0, 2)
    assert supervisor.partition(0) is not first
    assert supervisor.partition(1) is other
    assert await call(supervisor.via(0), "get") == 0
    await stop(supervisor)


async def test_a_partition_that_does_not_run() -> None:
    supervisor = await PartitionSupervisor.start_link(Counter, partitions=2)
    await supervisor.terminate_child(0)

    with pytest.raises(NoProcess):
        await call(supervisor.via(0), "get")
    await supervisor.restart_child(0)
    assert await call(supervisor.via(0), "get") == 0
    await stop(supervisor)


async def test_after_its_end() -> None:
    supervisor = await PartitionSupervisor.start_link(Counter, partitions=2)
    await stop(supervisor)

    for ask in (supervisor.partitions, lambda: supervisor.partition(1), supervisor.via(1).whereis):
        with pytest.raises(NoProcess):
            ask()


@pytest.mark.parametrize("partitions", [0, -1, 1.5, True, "3"])
async def test_wrong_numbers(partitions) -> None:
    with pytest.raises(StartFailed) as failed:
        await PartitionSupervisor.start_link(Counter, partitions=partitions)

    assert failed.value.reason == Custom(("start_spec", ("invalid_partitions", partitions)))


async def test_partitioned_dynamic_supervisors() -> None:
    supervisor = await PartitionSupervisor.start_link(DynamicSupervisor, partitions=2)
    child = await supervisor.partition("me").start_child((Counter, 7))
    assert await child.call("get") == 7
    ended = when_down(child)

    exit(child, "kill")

    await ended
    await stop(supervisor)
    with pytest.raises(CallExit):
        await child.call("get")
