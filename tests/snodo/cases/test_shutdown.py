"""Closing answers everybody who waits, from wherever it is called, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import threading
import time

import anyio
import leaks
import pykka
import pytest
from case_servers import MODERN, PLACES, across, echoes, everywhere, lost, program, took

import snodo_actors as snodo
import supervisors

AT_ONCE = 1.5


@pytest.fixture
def silent(server_of):
    return server_of("B-067")


@pytest.fixture
def streams(server_of):
    return server_of("streams")


async def is_closed(at, client):
    """Later calls fail at once, each in its own right; closing again is nothing."""
    with took(below=AT_ONCE):
        calls = [client.call_tool("echo"), client.list_tools(), client.ping()]
        for error in await at.all(*calls):
            lost(error, "closed")
            assert error.delivery == "never_sent"
        assert await at.get(client.close()) is None


# ---- the case


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_fifty_who_wait_are_all_told(at, silent):
    """In threads: none hangs, and none sees an error that is not this library's."""
    client = await at.get(silent.connect())
    context, errors = contextvars.copy_context(), []

    def wait():
        try:
            client.call_tool("bug", timeout=20.0).get()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=context.copy().run, args=(wait,)) for _ in range(50)]
    for thread in threads:
        thread.start()
    await at.until(lambda: len(silent.facts("recv", tool="bug")) == 50)
    with took(below=2):
        assert await at.get(client.close()) is None
        await at.until(lambda: len(errors) == 50)
    for error in errors:
        lost(error, "closed")
        assert error.delivery == "unknown"
    await at.until(lambda: not any(thread.is_alive() for thread in threads))
    await is_closed(at, client)


@everywhere
async def test_fifty_who_wait_here_are_all_told(at, silent):
    client = await at.get(silent.connect())

    async def wait():
        return await at.outcome(client.call_tool("bug", timeout=20.0))

    async def close():
        await at.until(lambda: len(silent.facts("recv", tool="bug")) == 50)
        with took(below=2):
            return await at.get(client.close())

    *outcomes, closed = await at.together(*[wait] * 50, close)
    assert closed is None
    for outcome in outcomes:
        lost(outcome, "closed")


@everywhere
async def test_closing_twice_and_at_the_same_time(at, silent):
    client = await at.get(silent.connect())
    with took(below=2):
        assert await at.all(*[client.close() for _ in range(5)]) == [None] * 5
    await is_closed(at, client)


@everywhere
async def test_closing_from_many_threads(at, silent):
    client = await at.get(silent.connect())
    context, closed = contextvars.copy_context(), []
    barrier = threading.Barrier(20)

    def close():
        barrier.wait(10)
        closed.append(client.close().get(timeout=10))

    threads = [threading.Thread(target=context.copy().run, args=(close,)) for _ in range(20)]
    with took(below=4):
        for thread in threads:
            thread.start()
        await at.until(lambda: len(closed) == 20)
    assert closed == [None] * 20
    await at.until(lambda: not any(thread.is_alive() for thread in threads))
    await is_closed(at, client)


@pytest.mark.parametrize("at", ["thread", "thread-trio"], indirect=True)
@everywhere
async def test_closing_inside_a_progress_function_in_a_thread(at, silent):
    client = await at.get(silent.connect(timeout=20.0))
    closed = []
    with took(below=3):
        call = client.call_tool("bug", progress=lambda p: closed.append(client.close().get()))
        lost(await at.error(call), "closed")
    assert closed == [None]
    await is_closed(at, client)


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@everywhere
async def test_closing_inside_a_progress_function(at, silent):
    client = await at.get(silent.connect(timeout=20.0))
    closed = []

    async def progress(params):
        closed.append(await client.close())

    with took(below=3):
        lost(await at.error(client.call_tool("bug", progress=progress)), "closed")
    assert closed == [None]
    await is_closed(at, client)


@everywhere
async def test_a_progress_function_may_close_and_not_wait(at, silent):
    client = await at.get(silent.connect(timeout=20.0))

    def progress(params):
        client.close()

    with took(below=3):
        lost(await at.error(client.call_tool("bug", progress=progress)), "closed")
    await is_closed(at, client)


@pytest.mark.parametrize("kind", ["plain", "async"])
@everywhere
async def test_closing_inside_an_input_handler(at, server_of, kind):
    server, closed = server_of("asking"), []
    holder = []

    if kind == "async":

        async def form(params):
            closed.append(await holder[0].close())
            return {"action": "cancel"}
    else:

        def form(params):
            closed.append(holder[0].close().get(timeout=10))
            return {"action": "cancel"}

    client = await at.get(server.connect(timeout=20.0, input_handlers={"form": form}))
    holder.append(client)
    with took(below=3):
        lost(await at.error(client.call_tool("form")), "closed")
    await is_closed(at, client)


@everywhere
async def test_closing_by_whoever_gets_an_event(at, streams):
    client = await at.get(streams.connect(protocol=MODERN))
    subscription = await at.get(client.listen({"toolsListChanged": True}))
    event = await at.get(subscription.next(timeout=5.0))
    assert event[0] == "notification"
    with took(below=3):
        assert await at.get(client.close()) is None
    *_, last = [await at.get(subscription.next(timeout=3.0)) for _ in range(2)]
    assert last[0] == "closed"
    lost(last[1])
    await is_closed(at, client)


@everywhere
async def test_closing_inside_a_callback_of_a_future(at, silent):
    client = await at.get(silent.connect(timeout=20.0))
    waiting, closing = client.call_tool("bug"), []
    client.call_tool("echo").add_done_callback(lambda _: closing.append(client.close()))
    with took(below=3):
        lost(await at.error(waiting), "closed")
        await at.get(closing[0])
    await is_closed(at, client)


# ---- more of the kind


@pytest.mark.parametrize("kind", ["result", "error"])
@across
async def test_leaving_the_block_closes(at, silent, kind):
    with pytest.raises(LookupError) if kind == "error" else contextlib.nullcontext():
        if type(at).__name__ == "Thread":
            with await at.get(silent.connect()) as client:
                await echoes(at, client)
                if kind == "error":
                    raise LookupError("inside")
        else:
            async with await at.get(silent.connect()) as client:
                await echoes(at, client)
                if kind == "error":
                    raise LookupError("inside")
    assert not silent.processes()
    await is_closed(at, client)


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@across
async def test_a_block_that_is_cancelled_closes_all_the_same(at, silent):
    """The close is awaited in a cancelled scope: it goes on, though nobody waits for it."""
    client = await silent.connect()
    with anyio.move_on_after(0.3):
        async with client:
            await client.call_tool("bug")
    await at.until(lambda: not silent.processes(), within=5)
    await is_closed(at, client)


@across
async def test_closing_while_calls_are_being_made(at, silent):
    """Calls from several sides before, during and after: each one ends, and as it should."""
    client = await at.get(silent.connect(timeout=20.0))

    async def call():
        outcomes, deadline = [], time.monotonic() + 10
        while not (outcomes and isinstance(outcomes[-1], Exception)):
            assert time.monotonic() < deadline
            outcomes.append(await at.outcome(client.call_tool("echo", {"n": len(outcomes)})))
        return outcomes[-1]

    async def close():
        await at.sleep(0.05)
        return await at.get(client.close())

    *errors, closed = await at.together(*[call] * 8, close)
    assert closed is None
    for error in errors:
        lost(error, "closed")


@across
async def test_closing_a_connection_whose_server_is_gone(at, silent):
    client = await at.get(silent.connect())
    silent.kill_all()
    await at.outcome(client.call_tool("echo"))
    with took(below=AT_ONCE):
        assert await at.get(client.close()) is None
        assert await at.get(client.close()) is None


@across
async def test_closing_one_of_two_does_nothing_to_the_other(at, silent, server_of):
    other = server_of("B-067")
    one, two = await at.get(silent.connect()), await at.get(other.connect())
    waiting = two.call_tool("bug")
    await at.get(one.close())
    await echoes(at, two)
    assert not waiting.done()
    await at.get(two.close())
    lost(await at.error(waiting), "closed")


@across
async def test_ten_stubborn_servers_are_closed_side_by_side(at, stays):
    clients = [await at.get(stays.connect(env={"CASE_MODE": "stubborn"})) for _ in range(10)]
    with took(below=8):
        await at.all(*[client.close() for client in clients])
    assert not stays.processes()


@across
async def test_a_handler_that_blocks_does_not_hold_the_close_up(at, server_of):
    server, gate = server_of("asking"), threading.Event()

    def form(params):
        gate.wait(10)
        return {"action": "cancel"}

    client = await at.get(server.connect(timeout=20.0, input_handlers={"form": form}))
    try:
        call = client.call_tool("form")
        await at.sleep(0.2)
        with took(below=3):
            await at.get(client.close())
            lost(await at.error(call), "closed")
    finally:
        gate.set()


@across
async def test_a_handle_outlives_its_node(at, silent):
    with supervisors.Node():
        client = await at.get(silent.connect())
    with took(below=AT_ONCE):
        lost(await at.error(client.call_tool("echo")))
        assert await at.get(client.close()) is None
    assert not silent.processes()


@everywhere
async def test_fifty_connections_at_a_time(at, stays):
    """No thread for each, and their ends do not wait for one another."""
    threads = threading.active_count()
    with took(below=40):
        connecting = [stays.connect(timeout=60.0) for _ in range(50)]
        clients = [await at.get(future) for future in connecting]
    for client in clients:
        await echoes(at, client)
    assert threading.active_count() <= threads + 5
    calls = [client.call_tool("hold") for client in clients]
    with took(below=8):
        await at.all(*[client.close() for client in clients])
        for error in await at.all(*calls):
            lost(error, "closed")
    assert not stays.processes()


# ---- nothing accumulates


@across
async def test_thirty_cycles_leave_nothing(at, silent):
    async def cycle():
        client = await at.get(silent.connect())
        await echoes(at, client)
        call = client.call_tool("bug")
        await at.get(client.close())
        lost(await at.error(call), "closed")

    for _ in range(3):
        await cycle()
    gc.collect()
    before = leaks.running()
    registered = len(pykka.ActorRegistry.get_all())
    for _ in range(30):
        await cycle()
    assert len(pykka.ActorRegistry.get_all()) == registered
    await at.until(lambda: not leaks._new(before), within=5)


@pytest.mark.parametrize("ending", ["exits", "refused"])
@across
async def test_thirty_failures_leave_nothing(at, server_of, ending):
    server = server_of("exits" if ending == "exits" else "B-020")

    async def cycle():
        if ending == "refused":
            assert (await at.error(server.connect())).code == -32602
            return
        client = await at.get(server.connect())
        lost(await at.error(client.call_tool("status", {"status": 1})))

    for _ in range(3):
        await cycle()
    gc.collect()
    before = leaks.running()
    for _ in range(30):
        await cycle()
    await at.until(lambda: not leaks._new(before), within=5)


CYCLES = """
import gc, json, os, sys, threading, time
from case_servers import Memory, Server
from pathlib import Path
import pykka, supervisors
import snodo_actors as snodo

script, log, backend, cycles = sys.argv[1:4] + [int(sys.argv[4])]

def counts():
    gc.collect()
    return {
        "fds": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "registered": len(pykka.ActorRegistry.get_all()),
        "processes": len(supervisors.current_node().processes),
        "refs": sum(isinstance(found, supervisors.Ref) for found in gc.get_objects()),
        "futures": sum(isinstance(found, supervisors.Future) for found in gc.get_objects()),
    }

with supervisors.Node(backend=backend):
    server = Server(Path(script), Path(log))
    def cycle():
        client = server.connect().get()
        call = client.call_tool("bug")
        client.call_tool("echo").get()
        client.close().get()
        assert call.exception().code == -32000
    for _ in range(10):
        cycle()
    before, memory = counts(), Memory()
    for _ in range(cycles):
        cycle()
    after, grown = counts(), memory.now()
    patience = time.monotonic() + 10
    # What is left of the last ones may take a moment; what stays for good is still there then.
    while after["refs"] > before["refs"] and time.monotonic() < patience:
        time.sleep(0.05)
        after = counts()
print(json.dumps({"before": before, "after": after, "grown": grown}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_cycles_do_not_grow(silent, backend):
    ran = program(CYCLES, silent.script, silent.log, backend, 150, timeout=110)
    before, after = ran["before"], ran["after"]

    assert {name: after[name] - before[name] for name in ("fds", "threads", "registered")} == {
        "fds": 0,
        "threads": 0,
        "registered": 0,
    }, ran
    assert after["processes"] <= before["processes"] + 1, ran
    assert after["refs"] <= before["refs"] + 10, ran
    assert after["futures"] <= before["futures"] + 20, ran
    assert ran["grown"] < 6, ran


# ---- a supervisor is told


@across
async def test_the_owner_of_a_stream_is_told_once(at, streams):
    """The connection is killed from outside: the end comes to the stream's owner, once."""
    client = await at.get(streams.connect(protocol=MODERN))
    subscription = await at.get(client.listen({"toolsListChanged": True}))
    streams.kill_all()
    payloads = []
    with took(below=4):
        while not payloads or payloads[-1][0] != "closed":
            payloads.append(await at.get(subscription.next(timeout=3.0)))
    lost(payloads[-1][1], ("exit_status", 137))
    ends = [p for p in payloads if p[0] == "closed"]
    assert len(ends) == 1
    await at.sleep(0.1)
    assert not [
        m for m in supervisors.mailbox() if isinstance(m, tuple) and m[1] is subscription.ref
    ]
    with took(below=AT_ONCE):
        assert (await at.get(subscription.next()))[0] == "closed"
        await at.get(subscription.close())
    assert isinstance(payloads[-1][1], snodo.Error)
    await at.get(client.close())
