"""A stdio connection closes when the process that opened it ends, in whatever way it ends."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import subprocess
import sys
import threading
import time

import anyio
import pykka
import pytest
from case_servers import TESTS, echoes, everywhere, lost, took

import snodo_actors as snodo
import supervisors
from supervisors import GenServer, spawn, when_down

SOON = 2.5


async def ended(at, server, waiting=None, within=SOON):
    """Nothing is left of the server, and who waited for it is told."""
    with took(below=within + 1):
        await at.until(lambda: not server.processes(), within=within)
        if waiting is not None:
            error = await at.error(waiting)
            lost(error)
    assert server.facts("stdin_eof")


# ---- actors


class Holder(GenServer):
    """Opens a connection and keeps it."""

    def init(self, server, where="init"):
        self.server = server
        if where == "init":
            self.opening = server.connect(timeout=30.0)

    async def handle_call(self, request, caller):
        match request:
            case "client":
                return await self.opening
            case "connect":
                self.opening = self.server.connect(timeout=30.0)
                return await self.opening
            case "hang":
                await anyio.sleep(30)
                return None
            case "raise":
                raise LookupError("the owner broke")

    def handle_cast(self, request):
        match request:
            case "raise":
                raise LookupError("the owner broke")
            case "stop":
                return supervisors.Stop("normal")
            case "other":
                return supervisors.Stop(("shutdown", "other"))
        return None


ENDS = {
    "stop": lambda ref: ref.cast("stop"),
    "shutdown": lambda ref: ref.cast("other"),
    "raise": lambda ref: ref.cast("raise"),
    "exit": lambda ref: supervisors.exit(ref, "boom"),
    "kill": lambda ref: supervisors.exit(ref, "kill"),
    "pykka": lambda ref: ref.stop(block=False),
    "kill while busy": lambda ref: (
        ref.call("hang", None),
        supervisors.send_after(0.1, ref, "x"),
        supervisors.exit(ref, "kill"),
    ),
}


@pytest.mark.parametrize("where", ["init", "later"])
@pytest.mark.parametrize("end", [*ENDS])
@everywhere
async def test_an_actor(at, stays, end, where):
    ref = await at.get(Holder.start_unlinked(stays, where))
    client = await at.get(ref.call("client" if where == "init" else "connect", None))
    await echoes(at, client)
    waiting = client.call_tool("hold")
    await at.until(lambda: stays.facts("recv", tool="hold"))
    with contextlib.suppress(Exception):
        ENDS[end](ref)
    await at.get(when_down(ref))
    await ended(at, stays, waiting)
    error = await at.error(client.call_tool("echo"))
    lost(error)
    assert error.delivery == "never_sent"
    assert "Holder" in str(error), "it names the owner that ended"


@pytest.mark.parametrize("at", ["thread", "thread-trio"], indirect=True)
@pytest.mark.parametrize("end", ["stop", "raise", "unhandled"])
@everywhere
async def test_an_actor_of_pykkas(at, stays, end):
    context = contextvars.copy_context()

    class Holder(pykka.ThreadingActor):
        def on_receive(self, message):
            match message:
                case "connect":
                    return context.run(lambda: stays.connect(timeout=30.0).get())
                case "raise":
                    raise LookupError("the owner broke")
                case "unhandled":
                    raise KeyboardInterrupt
            return None

    ref = Holder.start()
    client = ref.ask("connect")
    await echoes(at, client)
    if end == "stop":
        ref.stop()
        await ended(at, stays)
        lost(await at.error(client.call_tool("echo")))
    elif end == "raise":  # pykka's actors live on after an exception in an ask
        with pytest.raises(LookupError):
            ref.ask("raise")
        await echoes(at, client)
        ref.stop()
        await ended(at, stays)
    else:
        ref.tell("unhandled")
        await at.until(lambda: not ref.is_alive())
        await ended(at, stays)


class Tidy(GenServer):
    """Closes its connection itself, as the last thing it does or in the middle of its work."""

    trap_exit = True

    async def init(self, server):
        self.client = await server.connect(timeout=30.0)

    async def handle_call(self, request, caller):
        return await self.client.close() if request == "close" else self.client

    async def terminate(self, reason):
        await self.client.close()


@pytest.mark.parametrize("when", ["at its end", "before"])
@everywhere
async def test_an_actor_may_close_its_connection_itself(at, stays, when):
    ref = await at.get(Tidy.start_unlinked(stays))
    client = await at.get(ref.call("client", None))
    waiting = client.call_tool("hold")
    await at.until(lambda: stays.facts("recv", tool="hold"))
    with took(below=3):
        if when == "before":
            assert await at.get(ref.call("close", None)) is None
            lost(await at.error(waiting), "closed")
        await at.get(supervisors.stop(ref))
    await ended(at, stays, waiting)


@everywhere
async def test_who_is_killed_while_it_waits_takes_its_call_back(at, server_of):
    """It owns nothing; the server is told, and the connection goes on."""
    server = server_of("timings")
    client = await at.get(server.connect(timeout=30.0))

    async def use():
        await client.call_tool("steps")

    ref = spawn(use)
    await at.until(lambda: server.facts("recv", tool="steps"))
    supervisors.exit(ref, "kill")
    await at.until(lambda: server.facts("stopped"))
    await echoes(at, client)
    await at.get(client.close())
    assert len(server.received("notifications/cancelled")) == 1


# ---- bare processes, tasks and threads


@pytest.mark.parametrize("end", ["returns", "raises", "killed", "exits"])
@everywhere
async def test_a_spawned_process(at, stays, end):
    box = []

    async def hold():
        box.append(await stays.connect(timeout=30.0))
        await supervisors.receive("go".__eq__)
        if end == "raises":
            raise LookupError("the owner broke")
        if end == "exits":
            supervisors.exit_self("boom")

    ref = spawn(hold)
    client = (await at.until(lambda: box))[0]
    await echoes(at, client)
    waiting = client.call_tool("hold")
    if end == "killed":
        supervisors.exit(ref, "kill")
    else:
        ref.send("go")
    await ended(at, stays, waiting)
    lost(await at.error(client.call_tool("echo")))


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@pytest.mark.parametrize("end", ["returns", "raises", "cancelled"])
@everywhere
async def test_a_task(at, stays, end):
    """Cancelled from outside, as a task group does, and while it waits for a call."""
    box, reached = [], anyio.Event()

    async def hold():
        client = await stays.connect(timeout=30.0)
        box.append(client)
        await echoes(at, client)
        reached.set()
        if end == "raises":
            raise LookupError("the owner broke")
        if end == "cancelled":
            await client.call_tool("hold")

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(hold)
            await reached.wait()
            if end == "cancelled":
                group.cancel_scope.cancel()
    except* LookupError:
        assert end == "raises"
    await ended(at, stays)
    lost(await at.error(box[0].call_tool("echo")))


@pytest.mark.parametrize("at", ["asyncio", "beside"], indirect=True)
@everywhere
async def test_a_task_of_asyncios_own(at, stays):
    box = []

    async def hold():
        box.append(await stays.connect())
        await asyncio.sleep(30)

    task = asyncio.create_task(hold())
    await at.until(lambda: box)
    await echoes(at, box[0])
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await ended(at, stays)


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@everywhere
async def test_a_task_that_is_cancelled_while_it_connects(at, server_of):
    server = server_of("negotiation")

    async def hold():
        await server.connect(env={"CASE_INIT": "silent"}, timeout=30.0)

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await at.until(lambda: server.facts("first"))
        group.cancel_scope.cancel()
    await ended(at, server)


@pytest.mark.parametrize("end", ["returns", "raises", "exits"])
@everywhere
async def test_a_thread(at, stays, end):
    box, go = [], threading.Event()
    context = contextvars.copy_context()

    def hold():
        box.append(stays.connect(timeout=30.0).get())
        go.wait(20)
        if end == "raises":
            raise LookupError("the owner broke")
        if end == "exits":
            sys.exit(3)

    def run():
        with contextlib.suppress(LookupError, SystemExit):
            context.run(hold)

    thread = threading.Thread(target=run, name="the-owner")
    thread.start()
    client = (await at.until(lambda: box))[0]
    await echoes(at, client)
    waiting = client.call_tool("hold")
    go.set()
    await at.until(lambda: not thread.is_alive())
    await ended(at, stays, waiting)
    error = await at.error(client.call_tool("echo"))
    lost(error)
    assert "the-owner" in str(error), "it names the owner that ended"


@everywhere
async def test_a_stubborn_server_ends_with_its_owner_too(at, server_of):
    server = server_of("B-011")
    await at.in_thread(lambda: server.connect().get())
    await at.until(lambda: not server.processes(), within=8)
    assert [fact["fact"] for fact in server.facts() if fact["fact"] != "recv"] == [
        "stdin_eof",
        "sigterm",
    ]


@everywhere
async def test_fifty_owners_at_the_same_time(at, server_of):
    """Their servers end; the connection of somebody else goes on."""
    server, other = server_of("stays"), server_of("stays")
    context, gate, open_ = contextvars.copy_context(), threading.Event(), []
    survivor = await at.get(other.connect(timeout=30.0))

    def hold():
        open_.append(server.connect(timeout=60.0).get())
        gate.wait(60)

    threads = [
        threading.Thread(target=context.copy().run, args=(hold,), name=f"owner {n}")
        for n in range(50)
    ]
    for thread in threads:
        thread.start()
    await at.until(lambda: len(open_) == 50, within=60)
    calls = [client.call_tool("hold") for client in open_]
    gate.set()
    with took(below=6):
        for error in await at.all(*calls):
            lost(error)
        await at.until(lambda: not server.processes(), within=6)
        await echoes(at, survivor)
    await at.until(lambda: not any(thread.is_alive() for thread in threads))
    await at.get(survivor.close())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_end_of_a_loop_is_the_end_of_its_main_task(stays, backend):
    """The node lives on beside it; the connection belonged to the task."""
    with supervisors.Node(backend=backend):
        for main_backend in ("asyncio", "trio"):
            for end in ("returns", "raises"):

                async def main(end=end):
                    await (await stays.connect()).call_tool("echo")
                    if end == "raises":
                        raise LookupError("the program broke")

                with contextlib.suppress(LookupError):
                    anyio.run(main, backend=main_backend)
                gone(stays, within=SOON)


# ---- who else may own it


@everywhere
async def test_another_process_may_own_it(at, stays):
    async def owner():
        await anyio.sleep(60)

    ref = spawn(owner)
    box = []
    await at.in_thread(lambda: box.append(stays.connect(owner=ref).get()))
    await echoes(at, box[0])
    supervisors.exit(ref, "kill")
    await ended(at, stays)
    lost(await at.error(box[0].call_tool("echo")))


@everywhere
async def test_an_owner_that_has_ended_already(at, stays):
    ref = spawn(lambda: None)
    await at.get(when_down(ref))
    with took(below=4):
        outcome = await at.outcome(stays.connect(owner=ref))
        if not isinstance(outcome, Exception):
            await at.until(lambda: not stays.processes(), within=SOON)
            outcome = await at.error(outcome.call_tool("echo"))
    lost(outcome)


@everywhere
async def test_the_node_may_own_it(at, stays):
    """Then it lives until it is closed, or the node stops."""
    box, node = [], supervisors.current_node()
    await at.in_thread(lambda: box.append(stays.connect(owner=node).get()))
    await at.sleep(0.3)
    await echoes(at, box[0])
    await at.get(box[0].close())
    await ended(at, stays)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("mode", ["", "stubborn"])
def test_the_end_of_the_node_is_the_end_of_its_connections(stays, backend, mode):
    errors = []
    with supervisors.Node(backend=backend):
        clients = [stays.connect(timeout=30.0, env={"CASE_MODE": mode}).get() for _ in range(3)]
        calls = [client.call_tool("hold") for client in clients]

        def wait(call):
            try:
                call.get()
            except snodo.Error as error:
                errors.append(error)

        threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        start = time.monotonic()
    assert time.monotonic() - start < 8
    for thread in threads:
        thread.join(3)
    assert not any(thread.is_alive() for thread in threads), "a call waits for ever"
    assert len(errors) == 3
    for error in errors:
        lost(error)
    assert not stays.processes()
    with pytest.raises(snodo.Error) as raised:
        clients[0].call_tool("echo").get(timeout=5)
    lost(raised.value)
    assert clients[0].close().get(timeout=5) is None


# ---- the program ends


PROGRAM = """
import asyncio, os, signal, sys, threading, time
from case_servers import Server
from pathlib import Path
import snodo_actors as snodo

script, log, mode, how = sys.argv[1:5]
server = Server(Path(script), Path(log))

def connect():
    client = server.connect(timeout=60.0, env={"CASE_MODE": mode}).get()
    client.call_tool("echo").get()
    return client

async def main():
    client = await server.connect(timeout=60.0, env={"CASE_MODE": mode})
    await client.call_tool("echo")
    print("ready", flush=True)
    if how == "async end":
        return
    if how == "async raise":
        raise LookupError("the program broke")
    await client.call_tool("hold")

if how.startswith("async"):
    asyncio.run(main())
else:
    client = connect()
    call = client.call_tool("hold")
    if how == "waiting thread":
        threading.Thread(target=lambda: call.get(), daemon=True).start()
    print("ready", flush=True)
    match how:
        case "end" | "waiting thread":
            pass
        case "exit":
            sys.exit(5)
        case "raise":
            raise LookupError("the program broke")
        case "_exit":
            os._exit(5)
        case _:
            call.get()
"""


def run_program(server, mode, how, number=None):
    """Run it; send it the signal once it is ready; return its status and how long its end took."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(server.script), str(server.log), mode, how],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            assert program.stdout.readline() == "ready\n", program.stderr.read()
            if number is not None:
                while not server.facts("recv", tool="hold"):
                    assert program.poll() is None, program.stderr.read()
                    time.sleep(0.01)
                # At this very moment it may be between its last look at signals and its sleep,
                # which Python itself does not wake for one: see `signal.set_wakeup_fd`.
                time.sleep(0.05)
            start = time.monotonic()
            if number is not None:
                program.send_signal(number)
            _, errors = program.communicate(timeout=30)
            return program.returncode, time.monotonic() - start, errors
        finally:
            program.kill()


def gone(server, within):
    deadline = time.monotonic() + within
    while server.processes():
        assert time.monotonic() < deadline, "the server outlived the program"
        time.sleep(0.02)


@pytest.mark.parametrize("mode", ["", "stubborn"])
@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("end", 0),
        ("exit", 5),
        ("raise", 1),
        ("waiting thread", 0),
        ("async end", 0),
        ("async raise", 1),
    ],
)
def test_the_end_of_the_program(stays, mode, how, status):
    ended, seconds, errors = run_program(stays, mode, how)
    assert ended == status, errors
    assert seconds < 8, f"the program took {seconds:.1f} s to end"
    assert ("LookupError" in errors) == how.endswith("raise")
    gone(stays, within=1)


@pytest.mark.parametrize("mode", ["", "stubborn"])
@pytest.mark.parametrize("how", ["wait", "async wait"])
def test_ctrl_c(stays, mode, how):
    _, seconds, errors = run_program(stays, mode, how, signal.SIGINT)
    assert seconds < 8, errors
    assert "KeyboardInterrupt" in errors
    gone(stays, within=1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
@pytest.mark.parametrize("mode", ["", "stubborn", "deaf", "stubborn family"])
def test_the_program_is_killed(stays, mode, number):
    """Nobody is left to be polite; all the same nothing of the server stays."""
    ended, _, errors = run_program(stays, mode, "wait", number)
    assert ended == -number, errors
    gone(stays, within=5)


@pytest.mark.parametrize("mode", ["", "stubborn"])
def test_a_program_that_leaves_at_once(stays, mode):
    ended, _, _ = run_program(stays, mode, "_exit")
    assert ended == 5
    gone(stays, within=5)
