"""Many threads and nodes at once: nothing is told twice, nothing is lost, nobody waits for ever."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import anyio
import pykka
import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    KILL,
    Actor,
    CallExit,
    Down,
    Exit,
    Future,
    GenServer,
    MailboxFull,
    Node,
    NodeStopped,
    ProcessDead,
    exit,
    groups,
    is_alive,
    link,
    mailbox,
    monitor,
    receive,
    self_,
    send,
    spawn,
    trap_exit,
    when_down,
    whereis,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


class Echo(Actor):
    def on_receive(self, message):
        return message


class AsyncEcho(Actor):
    async def on_receive(self, message):
        await anyio.lowlevel.checkpoint()
        return message


class Server(GenServer):
    async def handle_call(self, request, caller):
        if request % 3 == 0:
            await anyio.lowlevel.checkpoint()
        return request


@pytest.fixture
def two(backend):
    with Node(watchdog=None) as one, Node(backend=backend, watchdog=None) as other:
        yield one, other


def threads(n, function):
    """Run function(i) in n threads at the same moment; returns what they returned."""
    line = threading.Barrier(n)

    def run(i):
        line.wait()
        return function(i)

    with ThreadPoolExecutor(n) as pool:
        futures = [pool.submit(run, i) for i in range(n)]
        return [future.result(3 * PATIENCE) for future in futures]


def test_every_watch_of_every_watcher_is_told_once(two) -> None:
    targets = [spawn(wait_for_ever, node=node) for node in two for _ in range(20)]

    def watch(i):
        me_traps = trap_exit()
        watches = [monitor(target) for target in targets for _ in range(2)]
        for target in targets[i::4]:
            link(target)
        if i < 2:
            for target in targets[i::2]:
                exit(target, ("boom", i) if i else KILL)
        told = [receive(Down, PATIENCE).get(timeout=PATIENCE) for _ in watches]
        exits = [receive(Exit, PATIENCE).get(timeout=PATIENCE) for _ in targets[i::4]]
        trap_exit(me_traps)
        return (
            Counter(down.monitor for down in told) == Counter(watches),
            {end.process for end in exits} == set(targets[i::4]),
            mailbox(),
        )

    assert threads(4, watch) == [(True, True, [])] * 4
    assert not any(map(is_alive, targets))


def test_every_call_ends_while_servers_are_killed(two) -> None:
    refs = [inside(node, Server.start_unlinked) for node in two for _ in range(4)]

    def use(i):
        chance = random.Random(i)
        ends = Counter()
        for n in range(150):
            ref = chance.choice(refs)
            if i == 0 and n % 40 == 39:
                exit(ref, KILL)
            try:
                assert ref.call(n, timeout=PATIENCE).get(timeout=PATIENCE) == n
                ends["reply"] += 1
            except CallExit as error:
                ends[str(error.reason)] += 1
        return ends

    ends = sum(threads(5, use), Counter())

    assert ends.total() == 750
    assert set(ends) <= {"reply", "killed", "no such process"}
    assert ends["reply"] > 0


def test_every_ask_ends_while_actors_stop_and_are_killed(two) -> None:
    refs = [
        inside(node, kind.start) for node in two for kind in (Echo, AsyncEcho) for _ in range(3)
    ]

    def use(i):
        chance = random.Random(i)
        ends = Counter()
        for n in range(150):
            ref = chance.choice(refs)
            if i == 0 and n % 30 == 29:
                exit(ref, KILL) if n % 60 == 29 else ref.stop(block=False)
            try:
                assert ref.ask(n, timeout=PATIENCE) == n
                ends["reply"] += 1
            except ProcessDead:
                ends["dead"] += 1
        return ends

    ends = sum(threads(5, use), Counter())

    assert (ends.total(), set(ends) <= {"reply", "dead"}) == (750, True)
    pykka.ActorRegistry.stop_all(block=False)


def test_what_is_sent_by_many_threads_arrives_once_and_in_their_order(two) -> None:
    for node in two:
        log: list[tuple[int, int]] = []

        async def collect(log=log):
            while True:
                message = await receive()
                if message == "end":
                    return
                log.append(message)

        ref = spawn(collect, node=node)
        threads(6, lambda i, ref=ref: [send(ref, (i, n)) for n in range(500)])
        down = when_down(ref)
        send(ref, "end")
        down.get(timeout=PATIENCE)

        assert len(log) == 3_000
        for i in range(6):
            assert [n for who, n in log if who == i] == list(range(500))


def test_processes_of_two_nodes_play_ping_pong_with_futures(two) -> None:
    one, other = two
    done: Future[int] = Future()

    async def pong():
        while True:
            n, answer = await receive()
            answer.set(n + 1)

    ref = spawn(pong, node=other)

    async def ping():
        n = 0
        while n < 2_000:
            answer: Future[int] = Future()
            send(ref, (n, answer))
            n = await answer
        done.set(n)

    spawn(ping, node=one)

    assert done.get(timeout=PATIENCE) == 2_000
    exit(ref, KILL)


def test_names_are_never_held_by_two(node) -> None:
    held = threading.Lock()
    clashes: list[object] = []

    def fight(i):
        won = 0
        for _ in range(60):

            def take():
                try:
                    supervisors.register("king")
                except supervisors.NameTaken:
                    return False
                if not held.acquire(blocking=False):
                    clashes.append(i)
                    return False
                held.release()
                return True

            ref = spawn(lambda: take() and None)
            when_down(ref).get(timeout=PATIENCE)
            won += 1
        return won

    threads(4, fight)

    assert (clashes, whereis("king")) == ([], None)


def test_groups_end_empty_whatever_happened(two) -> None:
    one, other = two

    def churn(i):
        for n in range(30):
            ref = spawn(wait_for_ever, node=one if (i + n) % 2 else other)
            groups.join("storm", ref)
            groups.publish("storm", n)
            if n % 3 == 0:
                groups.leave("storm", ref)
            down = when_down(ref)
            exit(ref, KILL)
            down.get(timeout=PATIENCE)

    threads(4, churn)

    assert (groups.members("storm"), groups.which_groups()) == ([], [])


def test_timers_set_and_cancelled_by_many_threads_fire_or_do_not(node) -> None:
    fired: Counter[tuple[int, int]] = Counter()
    lock = threading.Lock()

    def fire(key):
        with lock:
            fired[key] += 1

    def work(i):
        cancelled = set()
        handles = {}
        for n in range(200):
            handles[n] = node.after(random.Random(n).random() * 0.02, fire, (i, n))
            if n % 3 == 0 and handles[n].cancel():
                cancelled.add((i, n))
        return cancelled

    cancelled = set().union(*threads(5, work))
    last: Future[None] = Future()
    node.after(0.1, last.set, None)
    last.get(timeout=PATIENCE)

    assert not cancelled & set(fired)
    assert set(fired.values()) == {1}
    assert len(fired) + len(cancelled) == 1_000


def test_a_bounded_mailbox_never_holds_more_than_its_bound(node) -> None:
    class Bounded(Actor):
        mailbox_bound = supervisors.Bound(5, "reject")

        async def on_receive(self, message):
            await anyio.lowlevel.checkpoint()
            return message

    ref = Bounded.start()
    most: list[int] = []

    def use(i):
        ends = Counter()
        for n in range(200):
            try:
                ask = ref.ask(n, block=False)
                most.append(supervisors.info(ref).unread)
                ends[ask.get(timeout=PATIENCE) == n] += 1
            except MailboxFull:
                ends["full"] += 1
        return ends

    ends = sum(threads(8, use), Counter())

    assert (ends.total(), set(ends) <= {True, "full"}) == (1_600, True)
    assert max(most) <= 5 + 8  # a race of the look, not of the bound


def test_starting_and_stopping_nodes_under_load_leaves_nobody_waiting(backend) -> None:
    """Each thread uses whatever node there is; nodes come and go under its feet."""
    current: list[Node] = [Node(backend=backend, watchdog=None).start()]
    over = threading.Event()

    def use(i):
        ends = Counter()
        while not over.is_set():
            node = current[0]
            try:
                ref = spawn(self_, node=node)
                when_down(ref).get(timeout=PATIENCE)
                ends["ran"] += 1
            except NodeStopped:
                ends["stopped"] += 1
        return ends

    def change():
        for _ in range(8):
            old = current[0]
            current[0] = Node(backend=backend, watchdog=None).start()
            old.stop(timeout=PATIENCE)
        over.set()
        return Counter()

    ends = sum(threads(5, lambda i: use(i) if i else change()), Counter())
    current[0].stop(timeout=PATIENCE)

    assert ends["ran"] > 0


def test_a_supervisor_restarts_a_child_that_is_killed_again_and_again(node) -> None:
    """[probe:brutal_count] 500 kills, each seen from outside."""

    async def body():
        sup = await supervisors.Supervisor.start_link(
            [Server.child_spec(id="w")], strategy="one_for_one", max_restarts=1_000
        )
        seen = set()
        for _ in range(500):
            ((_, ref, _),) = await sup.which_children()
            seen.add(ref)
            monitor(ref)
            exit(ref, KILL)
            await receive(Down, timeout=PATIENCE)
        ((_, ref, _),) = await sup.which_children()
        return len(seen), await ref.call(1), is_alive(sup)

    assert inside(node, body, trap_exit=True) == (500, 1, True)
