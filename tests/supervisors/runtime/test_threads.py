"""Threads and pykka's own actors as processes: their end is noticed and told."""

from __future__ import annotations

import gc
import threading
import weakref

import anyio
import pykka
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    NOPROC,
    NORMAL,
    Actor,
    Custom,
    Down,
    Exit,
    Future,
    exit,
    is_alive,
    link,
    mailbox,
    monitor,
    receive,
    register,
    self_,
    send,
    spawn,
    spawn_link,
    trap_exit,
    unlink,
    when_down,
    whereis,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


def in_thread(function, *args):
    """Run *function* in a thread of its own; return or raise what it does."""
    out: list[object] = []

    def run():
        try:
            out.append((function(*args), None))
        except BaseException as error:
            out.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the thread does not end"
    value, error = out[0]
    if error is not None:
        raise error
    return value


# --- threads


def test_a_thread_is_one_process_for_all_its_life(node) -> None:
    def body():
        return self_() is self_(), self_()

    same, ref = in_thread(body)
    again, other = in_thread(body)

    assert (same, again, ref is other, self_() in (ref, other)) == (True, True, False, False)


def test_a_thread_receives_selectively(node) -> None:
    def body():
        me = self_()
        inside(node, lambda: [send(me, message) for message in (1, "a", 2, "b")])
        return [
            receive(str).get(timeout=PATIENCE),
            receive(lambda m: m == 2).get(timeout=PATIENCE),
            mailbox(),
            receive().get(timeout=PATIENCE),
            receive((str, bytes)).get(timeout=PATIENCE),
        ]

    assert in_thread(body) == ["a", 2, [1, "b"], 1, "b"]


def test_a_thread_waits_for_a_message_to_come(node) -> None:
    def body():
        me = self_()
        spawn(later, me)
        return receive("late".__eq__, PATIENCE).get(timeout=PATIENCE)

    async def later(ref):
        await anyio.sleep(0.01)
        for message in ("early", "late"):
            send(ref, message)

    assert in_thread(body) == "late"


def test_the_end_of_a_thread_is_told_to_watchers_and_links(node) -> None:
    async def body():
        trap_exit()
        ready: Future[supervisors.Ref] = Future()
        go = threading.Event()

        def run():
            link(me)
            ready.set(self_())
            go.wait(PATIENCE)

        me = self_()
        thread = threading.Thread(target=run)
        thread.start()
        ref = await ready
        watch, down = monitor(ref), when_down(ref)
        go.set()
        got = [await receive(timeout=PATIENCE) for _ in range(2)]
        messages = {type(message): message for message in got}
        return (
            messages == {Exit: Exit(ref, NORMAL), Down: Down(watch, ref, NORMAL)},
            await down,
            is_alive(ref),
        )

    assert inside(node, body) == (True, NORMAL, False)


def test_a_thread_that_raised_is_told_as_ended(node, monkeypatch) -> None:
    """Nobody can see what ended a thread; that it ended is told."""
    ready: Future[supervisors.Ref] = Future()
    go = threading.Event()

    def run():
        ready.set(self_())
        go.wait(PATIENCE)
        raise ValueError("oops")

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    thread = threading.Thread(target=run)
    thread.start()
    down = when_down(ready.get(timeout=PATIENCE))
    go.set()

    assert down.get(timeout=PATIENCE) == NORMAL


def test_the_end_of_a_linked_process_comes_to_a_thread_as_a_message(node) -> None:
    def body():
        ref = spawn_link(wait_for_ever)
        exit(ref, "boom")
        return receive(Exit).get(timeout=PATIENCE) == Exit(ref, Custom("boom"))

    assert in_thread(body)


def test_a_thread_links_unlinks_and_watches(node) -> None:
    def body():
        refs = [spawn(wait_for_ever) for _ in range(3)]
        link(refs[0])
        link(refs[1])
        unlink(refs[1])
        watch = monitor(refs[2])
        for ref in refs:
            exit(ref, "boom")
        got = [receive(timeout=PATIENCE).get(timeout=PATIENCE) for _ in range(2)]
        for ref in refs:
            when_down(ref).get(timeout=PATIENCE)
        boom = Custom("boom")
        return set(got) == {Exit(refs[0], boom), Down(watch, refs[2], boom)}, mailbox()

    assert in_thread(body) == (True, [])


def test_an_actor_that_started_in_a_thread_outlives_it(node) -> None:
    class Echo(Actor):
        def on_receive(self, message):
            return message

    ref = in_thread(Echo.start)

    assert ref.ask("hi", timeout=PATIENCE) == "hi"
    ref.stop(timeout=PATIENCE)


def test_a_server_started_with_a_link_knows_the_thread_as_its_parent(node) -> None:
    """A trapping server ends with its parent, also when that ends normally."""

    class Server(supervisors.GenServer):
        trap_exit = True

        def handle_call(self, request, caller):
            return self.parent

    def body():
        ref = Server.start_link().get(timeout=PATIENCE)
        return ref, when_down(ref), ref.call("parent").get(timeout=PATIENCE) is self_()

    _ref, down, knows = in_thread(body)

    assert (knows, down.get(timeout=PATIENCE)) == (True, NORMAL)


def test_a_thread_may_have_a_name(node) -> None:
    def body():
        register("worker")
        send("worker", "hi")
        return whereis("worker") is self_(), receive().get(timeout=PATIENCE), self_()

    same, got, ref = in_thread(body)
    when_down(ref).get(timeout=PATIENCE)

    assert (same, got, whereis("worker")) == (True, "hi", None)


def test_an_ended_thread_is_let_go(node) -> None:
    inside(node, lambda: None)
    before = len(node.processes)
    for _ in range(10):
        ref = in_thread(self_)
        when_down(ref).get(timeout=PATIENCE)
    gc.collect()
    inside(node, lambda: None)

    assert len(node.processes) <= before


def test_many_threads_end_at_once_and_all_are_told(node) -> None:
    ends: list[Future[object]] = []
    line = threading.Barrier(21)

    def run():
        ends.append(when_down(self_()))
        line.wait()

    threads = [threading.Thread(target=run) for _ in range(20)]
    for thread in threads:
        thread.start()
    line.wait()

    assert [end.get(timeout=PATIENCE) for end in ends] == [NORMAL] * 20


def test_a_thread_whose_node_stopped_is_a_process_of_the_next(backend) -> None:
    def body():
        nodes = []
        for _ in range(2):
            with supervisors.Node(backend=backend) as node:
                ref = spawn_link(wait_for_ever)
                exit(ref, "boom")
                assert receive(Exit).get(timeout=PATIENCE) == Exit(ref, Custom("boom"))
                nodes.append(self_().node is node)
        return nodes

    assert in_thread(body) == [True, True]


async def test_the_end_of_a_worker_thread_of_the_loop_is_not_its_task_s(inner_node) -> None:
    """`to_thread` reuses threads; who runs in one is a process of its own kind."""
    me = self_()
    ref = await anyio.to_thread.run_sync(self_)

    assert ref is not me
    await anyio.to_thread.run_sync(send, me, "hi")
    assert await within(receive()) == "hi"


# --- pykka's own actors


class Foreign(pykka.ThreadingActor):
    """An actor of pykka's own; calls what it is told in its thread."""

    def __init__(self, log=None):
        super().__init__()
        self.log = [] if log is None else log

    def on_receive(self, message):
        if callable(message):
            return message()
        self.log.append(message)
        return message


@pytest.fixture
def foreign(node):
    log: list[object] = []
    ref = Foreign.start(log)
    yield ref, log
    ref.stop(timeout=PATIENCE)


def test_the_stop_of_a_pykka_actor_is_told_to_watchers_and_links(node, foreign) -> None:
    ref, _ = foreign

    async def body():
        trap_exit()
        watch = monitor(ref)
        link(ref)
        down = when_down(ref)
        alive = is_alive(ref)
        await anyio.to_thread.run_sync(lambda: ref.stop(timeout=PATIENCE))
        got = [await receive(timeout=PATIENCE) for _ in range(2)]
        by_kind = {type(message): message for message in got}
        return (
            alive,
            by_kind[Exit].reason,
            by_kind[Down].monitor is watch,
            by_kind[Down].reason,
            await down,
            is_alive(ref),
        )

    assert inside(node, body) == (True, NORMAL, True, NORMAL, NORMAL, False)


def test_a_pykka_actor_that_crashed_is_told_as_ended(node, foreign) -> None:
    ref, _ = foreign
    down = when_down(ref)
    ref.tell(lambda: 1 / 0)

    reason = down.get(timeout=PATIENCE)
    assert reason is not None
    assert not ref.is_alive()


def test_watching_a_pykka_actor_that_has_stopped_says_noproc(node, foreign) -> None:
    ref, _ = foreign
    ref.stop(timeout=PATIENCE)

    async def body():
        monitor(ref)
        return (await receive(Down, timeout=PATIENCE)).reason

    assert inside(node, body) in (NOPROC, NORMAL)
    assert when_down(ref).get(timeout=PATIENCE) in (NOPROC, NORMAL)


def test_a_pykka_actor_that_was_watched_and_has_stopped_is_forgotten(node) -> None:
    ref = Foreign.start()
    down = when_down(ref)
    ref.stop(timeout=PATIENCE)
    down.get(timeout=PATIENCE)
    is_alive(ref)
    left = weakref.ref(ref)
    del ref, down
    inside(node, lambda: None)
    gc.collect()

    assert left() is None


def test_messages_reach_a_pykka_actor(node, foreign) -> None:
    ref, log = foreign

    def body():
        send(ref, "sent")
        supervisors.cast(ref, "cast")
        supervisors.send_after(0, ref, "later")

    inside(node, body)
    done: Future[None] = Future()
    supervisors.send_after(0.02, ref, lambda: done.set(None))
    done.get(timeout=PATIENCE)

    assert log == ["sent", "cast", "later"]


def test_a_call_to_a_pykka_actor_says_what_to_write(node, foreign) -> None:
    ref, _ = foreign
    with pytest.raises(supervisors.SpecError, match=r"ref\.ask\(message, block=False\)"):
        supervisors.call(ref, "x").get(timeout=PATIENCE)


def test_a_pykka_actor_uses_processes_from_its_own_thread(node, foreign) -> None:
    ref, _ = foreign

    def body():
        with_link = spawn_link(wait_for_ever)
        exit(with_link, "boom")
        return receive(Exit).get(timeout=PATIENCE) == Exit(with_link, Custom("boom"))

    assert ref.ask(body, timeout=PATIENCE)


def test_who_a_pykka_actor_is_ends_with_it(node, foreign) -> None:
    """What `self_()` says in its handler is a process whose end is told."""
    ref, _ = foreign
    me = ref.ask(self_, timeout=PATIENCE)
    down = when_down(me)
    assert is_alive(me)
    ref.stop(timeout=PATIENCE)

    assert down.get(timeout=PATIENCE) == NORMAL


def test_a_child_of_a_pykka_actor_ends_with_it_as_with_any_owner(node, foreign) -> None:
    ref, _ = foreign

    class Owned(supervisors.GenServer):
        trap_exit = True

    child = ref.ask(lambda: Owned.start_link().get(timeout=PATIENCE), timeout=PATIENCE)
    down = when_down(child)
    ref.stop(timeout=PATIENCE)

    assert down.get(timeout=PATIENCE) == NORMAL


def test_an_exit_signal_stops_a_pykka_actor(node, foreign) -> None:
    ref, _ = foreign
    down = when_down(ref)
    exit(ref, "boom")

    assert down.get(timeout=PATIENCE) == Custom("boom")
    assert ref.actor_stopped.wait(PATIENCE)


def test_a_pykka_actor_ends_with_what_it_is_linked_to(node, foreign) -> None:
    ref, _ = foreign
    other = spawn(wait_for_ever)
    inside(node, lambda: None)

    async def body():
        link(ref)
        exit(self_(), "boom")

    with pytest.raises(supervisors.ExitProcess):
        inside(node, body)
    assert ref.actor_stopped.wait(PATIENCE)
    assert is_alive(other)


def test_a_normal_end_does_not_stop_a_linked_pykka_actor(node, foreign) -> None:
    ref, _ = foreign
    inside(node, lambda: link(ref))

    assert ref.ask("still here", timeout=PATIENCE) == "still here"


def test_our_futures_and_actors_work_from_a_pykka_actor(node, foreign) -> None:
    ref, _ = foreign

    class Echo(Actor):
        def on_receive(self, message):
            return message

    echo = Echo.start()

    assert ref.ask(lambda: echo.ask("hi", timeout=PATIENCE), timeout=PATIENCE) == "hi"


def test_pykka_stop_all_stops_both_kinds(node) -> None:
    class Echo(Actor):
        def on_receive(self, message):
            return message

    ours, theirs = Echo.start(), Foreign.start()
    pykka.ActorRegistry.stop_all(timeout=PATIENCE)

    assert (ours.is_alive(), theirs.is_alive()) == (False, False)


def test_a_node_that_stops_leaves_pykka_s_own_actors_alone(backend) -> None:
    ref = Foreign.start()
    with supervisors.Node(backend=backend):
        when_down(ref)
        exit(ref, "normal")
    assert ref.ask("still here", timeout=PATIENCE) == "still here"
    with supervisors.Node(backend=backend):
        down = when_down(ref)
        ref.stop(timeout=PATIENCE)

        assert down.get(timeout=PATIENCE) == NORMAL
