"""What lives long keeps nothing of what came and went."""

from __future__ import annotations

import gc
import threading
import weakref

import anyio
import anyio.lowlevel
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    Actor,
    Down,
    Exit,
    Future,
    GenServer,
    cancel_timer,
    demonitor,
    exit,
    exit_self,
    link,
    mailbox,
    monitor,
    receive,
    self_,
    send_after,
    spawn,
    spawn_link,
    spawn_monitor,
    trap_exit,
    unlink,
    when_down,
)

MANY = 300


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


def kept(process) -> dict[str, int]:
    """What a process holds on to, by the name of the table."""
    tables = ("links", "monitors", "watching", "receivers", "at_death", "normal", "urgent")
    return {name: len(table) for name in tables if (table := getattr(process, name, None))}


async def comes_and_goes(what: str, n: int) -> None:
    match what:
        case "spawn_link":
            spawn_link(exit_self, "boom")
            await receive(Exit)
        case "spawn_monitor":
            spawn_monitor(exit_self, "boom")
            await receive(Down)
        case "link unlink":
            ref = spawn(wait_for_ever)
            link(ref)
            unlink(ref)
            await ended(ref)
        case "monitor demonitor":
            ref = spawn(wait_for_ever)
            demonitor(monitor(ref))
            await ended(ref)
        case "monitor of the dead":
            ref = spawn(wait_for_ever)
            await ended(ref)
            monitor(ref)
            await receive(Down)
        case "when_down":
            ref = spawn(wait_for_ever)
            with anyio.move_on_after(0):
                await when_down(ref)
            await ended(ref)
        case "receive":
            with anyio.move_on_after(0):
                await receive(int)
        case "receive timeout":
            with pytest.raises(supervisors.ReceiveTimeout):
                await receive(int, timeout=0)
        case "timers":
            cancel_timer(send_after(3_600, self_(), n))
        case "names":
            ref = spawn(wait_for_ever, name=f"name {n}")
            await ended(ref)
        case "alias":
            supervisors.unalias(supervisors.alias())


async def ended(ref) -> None:
    down = when_down(ref)
    exit(ref, "kill")
    await down


WHATS = [
    "spawn_link",
    "spawn_monitor",
    "link unlink",
    "monitor demonitor",
    "monitor of the dead",
    "when_down",
    "receive",
    "receive timeout",
    "timers",
    "names",
    "alias",
]


@pytest.mark.parametrize("what", WHATS)
def test_a_process_keeps_nothing_of_what_came_and_went(node, what) -> None:
    async def body():
        me = self_().process
        while not me.monitors:  # the test's own wait for the end of this process
            await anyio.lowlevel.checkpoint()
        await comes_and_goes(what, MANY)
        before = kept(me), len(node.processes)
        for n in range(MANY):
            await comes_and_goes(what, n)
        await anyio.lowlevel.checkpoint()
        return mailbox(), (kept(me), len(node.processes)) == before

    assert inside(node, body, trap_exit=True) == ([], True)


@pytest.mark.parametrize("what", WHATS)
async def test_a_task_keeps_nothing_of_what_came_and_went(inner_node, what) -> None:
    found: list[object] = []

    async def task():
        before = len(inner_node.processes)
        for n in range(50):
            await comes_and_goes(what, n)
        await anyio.lowlevel.checkpoint()
        found.extend([kept(self_().process), mailbox(), len(inner_node.processes) <= before + 1])

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(task)

    assert found == [{}, [], True]


class Server(GenServer):
    def handle_call(self, request, caller):
        if request == "never":
            return supervisors.NO_REPLY
        return request


async def test_a_server_keeps_nothing_of_its_callers(inner_node) -> None:
    ref = await Server.start_unlinked()
    for n in range(MANY):
        assert await ref.call(n) == n
        with pytest.raises(supervisors.CallTimeout):
            await ref.call("never", timeout=0)
        with anyio.move_on_after(0):
            await ref.call("never", timeout=None)
    assert await within(ref.call("end")) == "end"

    assert kept(ref.process) == {}


def test_a_server_keeps_nothing_of_callers_that_ended(node) -> None:
    ref = Server.start_unlinked().get(timeout=PATIENCE)

    async def body():
        await ref.call("never", timeout=None)

    for _ in range(50):
        caller = spawn(body)
        down = when_down(caller)
        while not supervisors.info(caller) or supervisors.info(caller).state == "new":
            pass
        exit(caller, "kill")
        down.get(timeout=PATIENCE)
    ref.call("end").get(timeout=PATIENCE)
    inside(node, lambda: None)

    assert kept(ref.process) == {}


def test_actors_that_came_and_went_are_let_go(node) -> None:
    class Heavy(Actor):
        def __init__(self):
            super().__init__()
            self.weight = [0] * 1_000

        def on_receive(self, message):
            return message

    gone: list[weakref.ref[object]] = []
    for _ in range(100):
        ref = Heavy.start()
        assert ref.ask("x", timeout=PATIENCE) == "x"
        gone.append(weakref.ref(ref.process.actor))
        ref.stop(timeout=PATIENCE)
        when_down(ref).get(timeout=PATIENCE)
    del ref
    inside(node, lambda: None)
    gc.collect()

    assert sum(actor() is not None for actor in gone) == 0


def test_a_ref_that_is_kept_keeps_no_actor(node) -> None:
    class Heavy(GenServer):
        def init(self):
            self.weight = [0] * 1_000

    refs = [Heavy.start_unlinked().get(timeout=PATIENCE) for _ in range(50)]
    gone = [weakref.ref(ref.process.actor) for ref in refs]
    for ref in refs:
        supervisors.stop(ref).get(timeout=PATIENCE)
    inside(node, lambda: None)
    gc.collect()

    assert sum(actor() is not None for actor in gone) == 0


def test_messages_are_let_go_once_they_are_handled(node) -> None:
    class Message:
        pass

    class Sink(Actor):
        def on_receive(self, message):
            return None

    class AsyncSink(Actor):
        async def on_receive(self, message):
            await anyio.lowlevel.checkpoint()

    for kind in (Sink, AsyncSink, Server):
        ref = kind.start_unlinked().get(timeout=PATIENCE) if kind is Server else kind.start()
        messages = [Message() for _ in range(20)]
        gone = [weakref.ref(message) for message in messages]
        for message in messages:
            ref.tell(message)
        if kind is not Server:
            ref.ask(Message(), timeout=PATIENCE)
        ref.ask("end", timeout=PATIENCE)
        del messages, message
        gc.collect()

        assert sum(message() is not None for message in gone) == 0


def test_threads_that_came_and_went_are_let_go(node) -> None:
    refs: list[supervisors.Ref] = []

    def run():
        refs.append(self_())
        trap_exit()
        spawn_link(exit_self, "boom")
        receive(Exit, PATIENCE).get(timeout=PATIENCE)

    for _ in range(30):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        when_down(refs[-1]).get(timeout=PATIENCE)

    assert [kept(ref.process) for ref in refs] == [{}] * 30


def test_futures_that_nobody_waits_for_any_more_hold_no_callbacks(node) -> None:
    future: Future[int] = Future()

    async def body():
        for _ in range(MANY):
            with anyio.move_on_after(0):
                await future
        return len(future._callbacks or ()) if hasattr(future, "_callbacks") else 0

    assert inside(node, body) == 0
