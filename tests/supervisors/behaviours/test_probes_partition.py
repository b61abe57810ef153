"""PartitionSupervisor, asked what a real Elixir was asked: the answers are those recorded.

The recordings are in `otp_probes/probes_elixir.jsonl`; each test names its probe.
"""

from __future__ import annotations

import os

import anyio
import pytest

from supervisors import (
    SHUTDOWN,
    ChildSpec,
    DynamicSupervisor,
    GenServer,
    NoProcess,
    PartitionSupervisor,
    exit,
    stop,
    when_down,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("inner_node")]


async def test_part_basic() -> None:
    supervisor = await PartitionSupervisor.start_link(GenServer, partitions=3)
    other = await PartitionSupervisor.start_link(GenServer)
    at = supervisor.partition

    assert sorted(child.id for child in await supervisor.which_children()) == [0, 1, 2]
    assert (await supervisor.count_children())._asdict() == {
        "active": 3,
        "specs": 3,
        "supervisors": 0,
        "workers": 3,
    }
    assert supervisor.partitions() == 3
    assert at(0) is at(3)
    assert at(-1) is at(1)
    assert at(1) is not at(0)
    assert at(("term", 1)) is at(("term", 1))
    assert other.partitions() == os.cpu_count()
    await stop(supervisor)
    await stop(other)


async def test_part_with_arguments() -> None:
    started = []

    def start(*args):
        started.append(args)
        return GenServer.start_link()

    supervisor = await PartitionSupervisor.start_link(
        ChildSpec("x", start, args=("x",)),
        partitions=2,
        with_arguments=lambda args, partition: [*args, partition],
    )

    assert started == [("x", 0), ("x", 1)]
    await stop(supervisor)


async def test_part_restart() -> None:
    supervisor = await PartitionSupervisor.start_link(GenServer, partitions=2)
    ended = when_down(supervisor)
    zero, one = supervisor.partition(0), supervisor.partition(1)
    for kill in range(4):
        victim = supervisor.partition(0)
        exit(victim, "kill")
        with anyio.fail_after(5):
            while kill < 3 and supervisor.partition(0) is victim:
                await anyio.lowlevel.checkpoint()
        if not kill:
            assert supervisor.partition(0) is not zero
            assert supervisor.partition(1) is one

    assert await ended == SHUTDOWN
    with pytest.raises(NoProcess):
        supervisor.partitions()


async def test_part_dynamic_supervisors() -> None:
    supervisor = await PartitionSupervisor.start_link(DynamicSupervisor, partitions=2)
    for key in range(4):
        await supervisor.partition(key).start_child(GenServer)

    children = [
        (child.id, child.type, (await child.ref.count_children()).active)
        for child in await supervisor.which_children()
    ]

    assert sorted(children) == [(0, "supervisor", 2), (1, "supervisor", 2)]
    await stop(supervisor)
