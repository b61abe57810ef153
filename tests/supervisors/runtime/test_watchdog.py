"""The watchdog names who holds the loop, and shows where."""

from __future__ import annotations

import logging
import threading
import time

import anyio
import anyio.lowlevel
from inside import PATIENCE, silenced

from supervisors import Actor, BusyReport, GenServer, Node, spawn


def block(seconds):
    """Hold the loop, as code does that should not."""
    threading.Event().wait(seconds)


def watched(backend, limit=0.05):
    return Node("paris", backend=backend, watchdog=limit)


def wait_for(reports, kind=BusyReport):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = [report for report in reports if isinstance(report, kind)]
        if found:
            return found
        threading.Event().wait(0.005)
    return []


def test_the_actor_that_blocks_is_named_with_its_stack_while_it_blocks(backend) -> None:
    go = threading.Event()

    class Blocks(Actor):
        def on_receive(self, message):
            self.hold_the_loop()

        def hold_the_loop(self):
            go.wait(PATIENCE)

    with silenced() as reports, watched(backend):
        ref = Blocks.start()
        ref.tell("go")
        found = wait_for(reports)
        still = not go.is_set()
        go.set()
        ref.stop(timeout=PATIENCE)

    assert (still, found[0].ref, found[0].node) == (True, ref, "paris")
    assert found[0].seconds >= 0.05
    assert "hold_the_loop" in found[0].stack
    assert "to_thread" in str(found[0])


def test_a_server_that_blocks_in_an_async_handler_is_named(backend) -> None:
    class Blocks(GenServer):
        async def handle_cast(self, request):
            await anyio.lowlevel.checkpoint()
            block(0.3)

    with silenced() as reports, watched(backend):
        ref = Blocks.start_unlinked().get(timeout=PATIENCE)
        ref.cast("go")
        found = wait_for(reports)

    assert [report.ref for report in found[:1]] == [ref]


def test_a_spawned_function_that_blocks_is_named_or_at_least_shown(backend) -> None:
    def holds():
        block(0.3)

    with silenced() as reports, watched(backend):
        ref = spawn(holds)
        found = wait_for(reports)

    assert found[0].ref in (ref, None)
    assert "holds" in found[0].stack


def test_code_of_no_actor_that_blocks_is_shown(backend) -> None:
    def holds_in_a_timer():
        block(0.3)

    with silenced() as reports, watched(backend) as node:
        node.after(0, holds_in_a_timer)
        found = wait_for(reports)

    assert (found[0].ref, "holds_in_a_timer" in found[0].stack) == (None, True)
    assert "something that is no actor" in str(found[0])


async def test_the_code_around_an_embedded_node_is_watched_too(anyio_backend) -> None:
    with silenced() as reports:
        async with Node(watchdog=0.05):
            await anyio.sleep(0.01)
            block(0.3)
            await anyio.sleep(0.05)

    assert [report for report in reports if isinstance(report, BusyReport)]


def test_one_block_is_reported_once(backend) -> None:
    class Blocks(Actor):
        def on_receive(self, message):
            block(0.4)

    with silenced() as reports, watched(backend):
        ref = Blocks.start()
        for _ in range(2):
            ref.ask("go", timeout=PATIENCE)
    found = [report for report in reports if isinstance(report, BusyReport)]

    assert 1 <= len(found) <= 8


def test_a_handler_that_awaits_is_not_reported(backend) -> None:
    class Awaits(Actor):
        async def on_receive(self, message):
            await anyio.sleep(0.3)

    with silenced() as reports, watched(backend):
        Awaits.start().ask("go", timeout=PATIENCE)

    assert reports == []


def test_an_idle_node_is_not_reported(backend) -> None:
    with silenced() as reports, watched(backend):
        threading.Event().wait(0.3)

    assert reports == []


def test_a_watchdog_may_be_turned_off(backend) -> None:
    def names():
        return {thread.name for thread in threading.enumerate() if "watchdog" in thread.name}

    before = names()
    with Node(backend=backend, watchdog=None):
        assert names() == before
    with Node("watched", backend=backend):
        assert names() - before
    assert names() == before


def test_the_report_is_a_log_record_too(backend, caplog) -> None:
    class Blocks(Actor):
        def on_receive(self, message):
            block(0.3)

    with caplog.at_level(logging.INFO, logger="supervisors"), watched(backend):
        Blocks.start().ask("go", timeout=PATIENCE)
    records = [record for record in caplog.records if getattr(record, "event", "") == "busy"]

    assert records
    assert isinstance(records[0].report, BusyReport)
    assert records[0].levelno == logging.WARNING
