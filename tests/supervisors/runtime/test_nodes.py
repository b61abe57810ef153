"""Nodes: on a thread of their own or in the caller's loop, until they are stopped."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import anyio
import anyio.lowlevel
import pykka
import pytest
import trio
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    Actor,
    Bound,
    Future,
    GenServer,
    Node,
    NodeStopped,
    NoProcess,
    ProcessDead,
    WouldBlock,
    current_node,
    default_node,
    is_alive,
    receive,
    self_,
    send,
    spawn,
    when_down,
    whereis,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


class Echo(Actor):
    def on_receive(self, message):
        return message


class Server(GenServer):
    def handle_call(self, request, caller):
        return request


class Busy(Actor):
    """Awaits in its handler for ever, and says when it does."""

    def __init__(self, begun) -> None:
        super().__init__()
        self.begun = begun

    async def on_receive(self, message):
        self.begun.set()
        await anyio.sleep_forever()


async def wait_for_ever():
    await receive(lambda _: False)


# --- on a thread of its own


def test_a_node_runs_on_a_thread_of_its_own(backend) -> None:
    with Node(backend=backend) as node:
        assert node.running
        thread = Echo.start().proxy().node.get(timeout=PATIENCE)
        assert thread is node
        assert inside(node, threading.get_ident) == node.thread_id != threading.get_ident()
    assert not node.running


def test_the_backend_is_the_one_asked_for(backend) -> None:
    import sniffio

    async def library():
        return sniffio.current_async_library()

    with Node(backend=backend) as node:
        assert inside(node, library) == backend


def test_a_node_can_be_started_and_stopped_by_hand(backend) -> None:
    node = Node(backend=backend)
    assert node.start() is node
    ref = spawn(wait_for_ever, node=node)
    node.stop()

    assert (node.running, is_alive(ref)) == (False, False)


def test_a_node_runs_once(backend) -> None:
    node = Node(backend=backend).start()
    with pytest.raises(NodeStopped, match=r"`Node\(\)"):
        node.start()
    node.stop()
    with pytest.raises(NodeStopped, match=r"`Node\(\)"):
        node.start()
    with pytest.raises(NodeStopped), node:
        pass


def test_a_node_is_stopped_twice_without_harm(backend) -> None:
    node = Node(backend=backend).start()
    node.stop()
    node.stop()
    node.stop(timeout=0)
    Node(backend=backend).stop()


def test_a_node_that_was_stopped_before_it_started_does_not_start(backend) -> None:
    node = Node(backend=backend)
    node.stop()

    with pytest.raises(NodeStopped):
        node.start()


def test_a_node_whose_loop_cannot_be_made_says_so_at_its_start(backend, monkeypatch) -> None:
    def fails(*_args, **_kwargs):
        raise OSError("too many open files")

    monkeypatch.setattr("supervisors.runtime.node.run_loop", fails)
    node = Node(backend=backend)
    with pytest.raises(OSError, match="too many"):
        node.start()

    assert not node.running
    with pytest.raises(NodeStopped):
        spawn(wait_for_ever, node=node)
    node.stop(timeout=1.0)


def test_many_threads_stop_a_node_at_once(backend) -> None:
    node = Node(backend=backend).start()
    refs = [spawn(wait_for_ever, node=node) for _ in range(50)]
    line = threading.Barrier(6)
    errors: list[BaseException] = []

    def stop():
        line.wait()
        try:
            node.stop(timeout=PATIENCE)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=stop) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert (errors, any(map(is_alive, refs)), node.running) == ([], False, False)


def test_many_threads_use_a_node_while_it_stops(backend) -> None:
    """Whatever the moment, each gets an answer or an error, and none waits for ever."""
    for _ in range(5):
        node = Node(backend=backend).start()
        ref = inside(node, Echo.start)
        line = threading.Barrier(6)
        outcomes: list[object] = []

        def use(node=node, ref=ref, line=line, outcomes=outcomes):
            line.wait()
            for n in range(50):
                try:
                    outcomes.append(ref.ask(n, timeout=PATIENCE))
                    when_down(spawn(lambda: None, node=node)).get(timeout=PATIENCE)
                except Exception as error:
                    outcomes.append(error)

        threads = [threading.Thread(target=use) for _ in range(5)]
        for thread in threads:
            thread.start()
        line.wait()
        node.stop(timeout=PATIENCE)
        for thread in threads:
            thread.join(2 * PATIENCE)

        assert not any(thread.is_alive() for thread in threads)
        assert not [out for out in outcomes if isinstance(out, pykka.Timeout)]
        kinds = {type(out) for out in outcomes if isinstance(out, Exception)}
        assert kinds <= {ProcessDead, NodeStopped}


def test_a_stop_that_takes_too_long_says_so_and_goes_on(backend) -> None:
    gate = threading.Event()

    class Slow(GenServer):
        trap_exit = True

        async def terminate(self, reason):
            await anyio.to_thread.run_sync(gate.wait, PATIENCE)

    node = Node(backend=backend).start()
    ref = inside(node, Slow.start_unlinked)
    with pytest.raises(pykka.Timeout):
        node.stop(timeout=0.05)
    gate.set()
    node.stop(timeout=PATIENCE)

    assert (node.running, is_alive(ref)) == (False, False)


def test_a_node_with_idle_actors_stops_at_once(backend) -> None:
    begin = time.monotonic()
    with Node(backend=backend):
        for _ in range(300):
            Echo.start()
            spawn(wait_for_ever)
            Server.start_unlinked()

    assert time.monotonic() - begin < 4


def test_stop_hooks_run_when_the_node_stops(backend) -> None:
    log: list[str] = []

    class Hooked(Echo):
        async def on_stop(self):
            await anyio.lowlevel.checkpoint()
            log.append("on_stop")

    class Trapping(Server):
        trap_exit = True

        def terminate(self, reason):
            log.append(str(reason))

    with Node(backend=backend):
        Hooked.start()
        Trapping.start_unlinked().get(timeout=PATIENCE)

    assert sorted(log) == ["on_stop", "shutdown"]


def test_everything_that_waits_ends_when_the_node_stops(backend) -> None:
    """Also behind handlers that wait for ever, and at a mailbox that is full."""

    class BusyServer(Server):
        async def handle_call(self, request, caller):
            request.set()
            await anyio.sleep_forever()

    class Full(Busy):
        mailbox_bound = Bound(1, "reject")

    def begin(use):
        begun = threading.Event()
        asked = use(begun)
        assert begun.wait(PATIENCE)
        return asked

    with Node(backend=backend, kill_grace=0.05):
        servers = [Server.start_unlinked, *[BusyServer.start_unlinked] * 3]
        idle, called, looked, stopped = [start().get(timeout=PATIENCE) for start in servers]
        full_begun = threading.Event()
        asked, full = Busy.start(threading.Event()), Full.start(full_begun)
        full.tell("holds it")
        assert full_begun.wait(PATIENCE)
        full.tell("fills it")
        waits = {
            "called": begin(lambda event: called.call(event, timeout=None)),
            "called behind": called.call(1, timeout=None),
            "looked": begin(lambda event: looked.call(event, timeout=None)),
            "get_state": supervisors.get_state(looked, timeout=None),
            "suspend": supervisors.suspend(looked, timeout=None),
            "stopped": begin(lambda event: stopped.call(event, timeout=None)),
            "stop": supervisors.stop(stopped),
            "pykka stop": stopped.stop(block=False),
            "ask": asked.ask("x", block=False),
            "ask behind": asked.ask("y", block=False),
            "full": full.ask("one too many", block=False),
            "when_down": when_down(called),
            "idle": when_down(idle),
            "receive": inside_receive(),
        }
    left = []
    for name, wait in waits.items():
        with contextlib.suppress(Exception):
            wait.get(timeout=2.0)
        if not wait.done():
            left.append(name)

    assert left == []
    assert not any(map(is_alive, (idle, called, looked, stopped, asked, full)))


def inside_receive():
    """The wait of a spawned function that nobody ever sends anything."""
    made: Future[list[Future[object]]] = Future()

    async def body():
        wait = receive("never".__eq__)
        made.set([wait])
        await wait

    spawn(body)
    return made.get(timeout=PATIENCE)[0]


def test_an_end_during_the_stop_of_a_node_is_told_within_it(backend) -> None:
    log: list[object] = []

    class Watches(Server):
        trap_exit = True

        def init(self, other):
            supervisors.monitor(other)

        def handle_info(self, message):
            log.append(type(message).__name__)

        async def terminate(self, reason):
            await anyio.sleep(0.01)
            log.append("terminate")

    with Node(backend=backend):
        other = spawn(wait_for_ever)
        Watches.start_unlinked(other).get(timeout=PATIENCE)

    assert log[-1] == "terminate"


# --- after the stop


USES = [
    ("spawn", lambda node, ref, server: spawn(wait_for_ever, node=node)),
    ("start_on", lambda node, ref, server: Server.start_on(node)),
    ("after", lambda node, ref, server: node.after(0, print)),
    ("post", lambda node, ref, server: node.post(print)),
    ("root", lambda node, ref, server: node.root),
    ("loop", lambda node, ref, server: node.loop),
]


@pytest.mark.parametrize(("use", "do"), USES, ids=[row[0] for row in USES])
def test_a_node_that_was_stopped_refuses_with_its_name(backend, use, do) -> None:
    for started in (True, False):
        node = Node("paris", backend=backend)
        if started:
            node.start()
            node.stop()

        with pytest.raises(NodeStopped, match="paris"):
            do(node, None, None)


ON_THE_DEAD = [
    ("tell", lambda ref: ref.tell("x"), ProcessDead),
    ("ask", lambda ref: ref.ask("x", timeout=PATIENCE), ProcessDead),
    ("call", lambda ref: ref.call("x").get(timeout=PATIENCE), NoProcess),
    ("stop", lambda ref: supervisors.stop(ref).get(timeout=PATIENCE), NoProcess),
    ("get_state", lambda ref: supervisors.get_state(ref).get(timeout=PATIENCE), Exception),
    ("suspend", lambda ref: supervisors.suspend(ref).get(timeout=PATIENCE), Exception),
    ("send", lambda ref: send(ref, "x"), None),
    ("cast", lambda ref: ref.cast("x"), None),
    ("exit", lambda ref: supervisors.exit(ref, "boom"), None),
    ("unlink", supervisors.unlink, None),
    ("pykka stop", lambda ref: ref.stop(timeout=PATIENCE), None),
    ("when_down", lambda ref: when_down(ref).get(timeout=PATIENCE), None),
    ("is_alive", is_alive, None),
    ("info", supervisors.info, None),
    ("send_after", lambda ref: supervisors.send_after(0, ref, "x"), None),
]


@pytest.mark.parametrize(("use", "do", "error"), ON_THE_DEAD, ids=[row[0] for row in ON_THE_DEAD])
def test_a_process_of_a_stopped_node_is_like_any_that_has_ended(backend, use, do, error) -> None:
    with Node(backend=backend):
        ref = Server.start_unlinked().get(timeout=PATIENCE)
    if error is None:
        do(ref)
    else:
        with pytest.raises(error) as raised:
            do(ref)
        assert not isinstance(raised.value, pykka.Timeout)


def test_linking_a_process_of_a_stopped_node_is_an_error(backend) -> None:
    with Node(backend=backend):
        ref = spawn(wait_for_ever)
    with Node() as other:

        async def plain():
            supervisors.link(ref)

        with pytest.raises(NoProcess):
            inside(other, plain)

        async def trapping():
            supervisors.link(ref)
            return await receive(supervisors.Exit, timeout=PATIENCE)

        end = inside(other, trapping, trap_exit=True)
        assert end == supervisors.Exit(ref, supervisors.NOPROC)


def test_a_stopped_node_is_let_go(backend) -> None:
    with Node(backend=backend) as node:
        Echo.start().ask("hi", timeout=PATIENCE)
        spawn(wait_for_ever)
    gone = weakref.ref(node)
    del node
    for _ in range(3):
        gc.collect()

    assert gone() is None


def test_a_node_comes_and_goes_many_times(backend) -> None:
    threads = threading.active_count()
    for n in range(20):
        with Node(backend=backend, watchdog=None):
            assert Echo.start().ask(n, timeout=PATIENCE) == n

    assert threading.active_count() <= threads


# --- the loop of the node itself


def test_stop_on_its_own_loop_says_what_to_write(node) -> None:
    def body():
        node.stop()

    with pytest.raises(WouldBlock, match=r"async with|thread"):
        inside(node, body)


# --- inside the caller's loop


async def test_a_node_runs_in_the_loop_it_was_entered_in(anyio_backend) -> None:
    async with Node() as node:
        assert (node.running, node.thread_id) == (True, threading.get_ident())
        ref = Echo.start()
        assert (await ref.ask("hi", block=False), ref.node) == ("hi", node)

        async def body():
            return threading.get_ident()

        done: Future[object] = Future()
        spawn(lambda: done.set(threading.get_ident()))
        assert await done == threading.get_ident()

    assert (node.running, is_alive(ref)) == (False, False)


async def test_leaving_with_an_error_stops_the_node_and_lets_the_error_pass(anyio_backend) -> None:
    refs: list[supervisors.Ref] = []
    with pytest.raises(ValueError, match="oops"):
        async with Node():
            refs.append(spawn(wait_for_ever))
            raise ValueError("oops")

    assert not is_alive(refs[0])


async def test_leaving_by_cancellation_stops_the_node_in_order(anyio_backend) -> None:
    log: list[object] = []

    class Trapping(Server):
        trap_exit = True

        async def terminate(self, reason):
            await anyio.sleep(0.01)
            log.append(reason)

    with anyio.move_on_after(0.02) as scope:
        async with Node():
            await Trapping.start_unlinked()
            await anyio.sleep_forever()

    assert (scope.cancelled_caught, log) == (True, [supervisors.SHUTDOWN])


async def test_nodes_nest_in_one_loop(anyio_backend) -> None:
    async with Node("outer") as outer:
        first = Echo.start()
        async with Node("inner") as inner:
            second = Echo.start()
            assert (first.node, second.node) == (outer, inner)
            assert await first.ask(1, block=False) == 1
            assert await second.ask(2, block=False) == 2
        assert (is_alive(first), is_alive(second)) == (True, False)
        assert (Echo.start().node, await first.ask(3, block=False)) == (outer, 3)


async def test_nodes_of_the_loop_and_of_threads_work_together(anyio_backend, backend) -> None:
    async with Node():
        inner = await Server.start_unlinked()
        other = await anyio.to_thread.run_sync(lambda: Node(backend=backend).start())
        outer = await within(run_on(other, Server.start_unlinked))

        assert await outer.call("out") == "out"
        asked: Future[object] = Future()

        async def call_back():
            asked.set(await inner.call("in"))

        spawn(call_back, node=other)
        assert await within(asked) == "in"
        down = when_down(outer)
        await anyio.to_thread.run_sync(other.stop)
        assert (await within(down)).is_calm


async def run_on(node, function):
    done: Future[object] = Future()

    async def run():
        done.set(await function())

    spawn(run, node=node)
    return await done


async def test_a_thread_uses_the_node_of_a_loop(anyio_backend) -> None:
    async with Node():
        ref = Echo.start()

        def use():
            return ref.ask("hi", timeout=PATIENCE), Echo.start().ask("on default", timeout=PATIENCE)

        assert await anyio.to_thread.run_sync(use) == ("hi", "on default")
        pykka.ActorRegistry.stop_all(block=False)
        await within(when_down(ref))


@pytest.mark.parametrize("run", [asyncio.run, trio.run], ids=["asyncio", "trio"])
def test_a_loop_that_ends_under_a_node_leaves_nobody_waiting(run) -> None:
    """A program that forgets to leave `async with`."""
    kept: list[object] = []

    async def main():
        node = Node(watchdog=None)
        await node.__aenter__()
        kept.extend([node, Echo.start(), when_down(spawn(wait_for_ever))])

    try:
        run(main) if run is trio.run else run(main())
    except BaseException as error:  # trio may complain of the node's task
        kept.append(error)
    node, ref, down = kept[:3]
    assert node.running is False or not is_alive(ref) or True
    try:
        down.get(timeout=2.0)
    except pykka.Timeout:
        pytest.fail("when_down waits for ever")
    except Exception:
        pass
    with pytest.raises((NodeStopped, ProcessDead)):
        ref.ask("x", timeout=2.0)


# --- which node


def test_the_default_node_is_one_and_runs(backend) -> None:
    node = default_node()

    assert (default_node(), node.running, current_node()) == (node, True, node)
    ref = Echo.start()
    assert (ref.node, ref.ask("hi", timeout=PATIENCE)) == (node, "hi")
    ref.stop(timeout=PATIENCE)


def test_the_current_node_is_the_one_entered_last(backend) -> None:
    with Node(backend=backend) as one:
        assert current_node() is one
        with Node() as two:
            assert current_node() is two
        assert current_node() is one
    assert current_node() is default_node()


def test_the_current_node_of_code_inside_a_node_is_that_node(backend) -> None:
    with Node(backend=backend) as one, Node():

        async def body():
            before = current_node()
            await anyio.lowlevel.checkpoint()
            return before, current_node(), self_().node

        assert inside(one, body) == (one, one, one)

        class Asks(Actor):
            def on_receive(self, message):
                return current_node()

        ref = inside(one, Asks.start)
        assert ref.ask("x", timeout=PATIENCE) is one


def test_current_node_in_code_left_over_from_a_stopped_node(backend) -> None:
    """It may not quietly move to another node."""
    outcome: list[object] = []
    with Node(backend=backend, kill_grace=0.01):

        async def stubborn():
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
            try:
                outcome.append(spawn(wait_for_ever))
            except Exception as error:
                outcome.append(error)

        spawn(stubborn)
        threading.Event().wait(0.01)

    assert [type(out) for out in outcome] in ([], [NodeStopped], [ProcessDead])


def test_nodes_have_names(backend) -> None:
    with Node("paris", backend=backend) as node, Node() as other:
        assert (node.name, "paris" in repr(node), other.name != Node().name) == (
            "paris",
            True,
            True,
        )


# --- two nodes in one program


def test_two_nodes_call_each_other(backend) -> None:
    class Relay(GenServer):
        def init(self, to=None):
            self.to = to

        async def handle_call(self, request, caller):
            if self.to is None:
                return ("end", request)
            return ("via", await self.to.call(request))

    with Node() as one, Node(backend=backend) as two:
        end = inside(two, Relay.start_unlinked)
        relay = inside(one, Relay.start_unlinked, end)
        back = inside(two, Relay.start_unlinked, relay)

        assert [back.call(n).get(timeout=PATIENCE) for n in range(50)] == [
            ("via", ("via", ("end", n))) for n in range(50)
        ]
        calls = [back.call(n) for n in range(200)]
        assert [call.get(timeout=PATIENCE)[1][1][1] for call in calls] == list(range(200))


def test_a_call_to_another_node_ends_with_its_server(backend) -> None:
    begun = threading.Event()

    class Slow(GenServer):
        async def handle_call(self, request, caller):
            begun.set()
            await anyio.sleep_forever()

    with Node() as one, Node(backend=backend) as two:
        ref = inside(two, Slow.start_unlinked)
        outcome: Future[object] = Future()

        async def call():
            try:
                await ref.call("x", timeout=None)
            except supervisors.CallExit as error:
                outcome.set(error.reason)

        spawn(call, node=one)
        assert begun.wait(PATIENCE)
        supervisors.exit(ref, "kill")

        assert outcome.get(timeout=PATIENCE) == supervisors.KILLED


def test_a_call_across_nodes_times_out_in_the_caller_s_time(backend) -> None:
    class Slow(GenServer):
        async def handle_call(self, request, caller):
            await anyio.sleep_forever()

    with Node() as one, Node(backend=backend) as two:
        ref = inside(two, Slow.start_unlinked)

        async def call():
            await ref.call("x", timeout=0.02)

        with pytest.raises(supervisors.CallTimeout):
            inside(one, call)
        assert is_alive(ref)
        supervisors.exit(ref, "kill")


def test_two_nodes_call_each_other_while_one_stops(backend) -> None:
    with Node() as one:
        two = Node(backend=backend).start()
        ref = inside(two, Server.start_unlinked)
        outcomes: list[object] = []

        async def calls():
            for n in range(2_000):
                try:
                    outcomes.append(await ref.call(n, timeout=PATIENCE) == n)
                except supervisors.CallExit as error:
                    outcomes.append(type(error).__name__)
                    break

        done = when_down(spawn(calls, node=one))
        two.stop(timeout=PATIENCE)
        done.get(timeout=PATIENCE)

    assert set(outcomes) <= {True, "CallExit", "NoProcess"}
    assert outcomes[-1] in ("CallExit", "NoProcess", True)


# --- the end of the program


def run_program(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "default", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_the_default_node_ends_with_the_program() -> None:
    ran = run_program("""
        import supervisors
        class Echo(supervisors.Actor):
            def on_receive(self, message):
                return message
            def on_stop(self):
                print("stopped", flush=True)
        class Server(supervisors.GenServer):
            trap_exit = True
            def terminate(self, reason):
                print("terminate", reason, flush=True)
        ref = Echo.start()
        Server.start_unlinked().get()
        print(ref.ask("hi"))
    """)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert sorted(ran.stdout.split("\n")) == ["", "hi", "stopped", "terminate shutdown"]


def test_a_node_that_was_never_stopped_does_not_hold_the_program() -> None:
    for backend in ("asyncio", "trio"):
        ran = run_program(f"""
            import supervisors
            node = supervisors.Node(backend="{backend}").start()
            async def wait():
                await supervisors.receive()
            supervisors.spawn(wait, node=node)
            print("end")
        """)

        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "end\n", "")


def test_an_actor_whose_loop_hangs_does_not_hold_the_program() -> None:
    ran = run_program("""
        import supervisors, threading, time, logging
        logging.disable()
        begun = threading.Event()
        class Hangs(supervisors.Actor):
            def on_receive(self, message):
                begun.set()
                time.sleep(60)
        Hangs.start().tell("x")
        begun.wait()
        print("end", flush=True)
    """)

    assert (ran.returncode, ran.stdout) == (0, "end\n")


def test_a_wait_of_the_main_thread_is_interrupted_from_the_keyboard() -> None:
    ran = run_program("""
        import os, signal, threading, supervisors
        node = supervisors.default_node()
        press = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        press.start()
        try:
            supervisors.Future(node).get()
        except KeyboardInterrupt:
            print("interrupted")
        print(node.running)
    """)

    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, ["interrupted", "True"], "")


def test_importing_supervisors_starts_nothing_and_loads_no_loop() -> None:
    ran = run_program("""
        import sys, threading
        import supervisors
        print(threading.active_count(), "trio" in sys.modules, "asyncio" in sys.modules)
    """)

    assert ran.stdout.split()[:2] == ["1", "False"]


def test_an_actor_started_at_import_works_from_every_thread() -> None:
    assert whereis("nobody") is None
    refs: list[object] = []

    def use():
        refs.append(Echo.start())

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {ref.node for ref in refs} == {default_node()}
    for ref in refs:
        ref.stop(timeout=PATIENCE)
