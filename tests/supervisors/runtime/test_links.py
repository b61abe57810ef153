"""Links: whose end ends whom, between actors, spawned functions, tasks, threads and nodes."""

from __future__ import annotations

import itertools

import anyio
import anyio.lowlevel
import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    KILL,
    KILLED,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    Actor,
    Custom,
    Error,
    Exit,
    Future,
    NoProcess,
    Shutdown,
    as_reason,
    exit,
    exit_self,
    is_alive,
    link,
    mailbox,
    receive,
    self_,
    send,
    spawn,
    spawn_link,
    spawn_monitor,
    trap_exit,
    unlink,
    when_down,
)

REASONS = [
    ("normal", NORMAL),
    ("shutdown", SHUTDOWN),
    (("shutdown", "why"), Shutdown("why")),
    ("boom", Custom("boom")),
    (ValueError("oops"), Error(ValueError("oops"))),
    ("killed", KILLED),
    ("noproc", NOPROC),
]


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


class Obedient(Actor):
    """Calls what it is told, in its own process; keeps every other message."""

    def __init__(self, log: list[object] | None = None) -> None:
        super().__init__()
        self.log = [] if log is None else log

    def on_receive(self, message):
        if callable(message):
            return message()
        self.log.append(message)
        return None


class Trapping(Obedient):
    trap_exit = True


def do(ref, *deeds):
    """Let an actor do deeds one after the other; the last one's value."""
    return [ref.ask(deed, timeout=PATIENCE) for deed in deeds][-1]


def downs(node, *refs):
    """The futures of ends, entered before this returns."""
    return inside(node, lambda: [when_down(ref) for ref in refs])


async def wait_for_ever():
    await receive(lambda _: False)


async def obey():
    """What a spawned function does that calls what it is sent, until it is told to end."""
    while True:
        message = await receive()
        if message == "end":
            return
        if callable(message):
            message()


def make(kind: str, trapping: bool = False):
    """A process of a kind, and a function that lets it do a deed."""
    if kind == "actor":
        ref = (Trapping if trapping else Obedient).start()
        return ref, lambda deed: do(ref, deed)
    ref = spawn(obey, trap_exit=trapping)

    def run(deed):
        done: Future[object] = Future()

        def carry_out():
            try:
                done.try_set(deed())
            except BaseException as error:
                done.try_fail(error)
                raise

        ref.send(carry_out)
        return done.get(timeout=PATIENCE)

    return ref, run


KINDS = pytest.mark.parametrize("kind", ["actor", "spawned"])


# --- the end of one end


@KINDS
@pytest.mark.parametrize(("reason", "read"), REASONS, ids=[repr(row[0]) for row in REASONS])
def test_a_plain_process_ends_with_its_link_unless_that_ended_normally(
    node, kind, reason, read
) -> None:
    (a, in_a), (b, _) = make(kind), make(kind)
    in_a(lambda: link(b))
    (down,) = downs(node, a)
    exit_of(b, reason)

    if read.is_normal:
        assert in_a(lambda: "lives") == "lives"
    else:
        assert down.get(timeout=PATIENCE) == read


def exit_of(ref, reason):
    """End a process from inside with a reason."""
    (down,) = downs(ref.node, ref)
    deed = (
        (lambda: (_ for _ in ()).throw(reason))
        if isinstance(reason, Exception)
        else (lambda: exit_self(reason))
    )
    ref.send(deed)
    assert down.get(timeout=PATIENCE) == as_reason(reason)


@KINDS
@pytest.mark.parametrize(("reason", "read"), REASONS, ids=[repr(row[0]) for row in REASONS])
def test_a_trapping_process_gets_a_message_instead(node, kind, reason, read) -> None:
    log: list[object] = []
    a, (b, _) = Trapping.start(log), make(kind)
    do(a, lambda: link(b))
    exit_of(b, reason)

    do(a, lambda: None)
    assert (log, is_alive(a)) == ([Exit(b, read)], True)


@KINDS
def test_a_link_works_in_both_directions(node, kind) -> None:
    for first in (0, 1):
        ends = [make(kind), make(kind)]
        ends[0][1](lambda ends=ends: link(ends[1][0]))
        (other,) = downs(node, ends[1 - first][0])
        exit(ends[first][0], "boom")

        assert other.get(timeout=PATIENCE) == Custom("boom")


def test_a_kill_goes_on_to_links_as_killed_which_can_be_trapped(node) -> None:
    """[p_kill_spreads_as_killed]"""
    log: list[object] = []
    victim, plain, trapping = Obedient.start(), Obedient.start(), Trapping.start(log)
    do(plain, lambda: link(victim))
    do(trapping, lambda: link(victim))
    ends = downs(node, victim, plain)
    exit(victim, KILL)

    assert [end.get(timeout=PATIENCE) for end in ends] == [KILLED, KILLED]
    do(trapping, lambda: None)
    assert log == [Exit(victim, KILLED)]


def test_an_own_exit_with_the_word_kill_is_an_ordinary_reason(node) -> None:
    """[probe:exit_self_kill_vs_exit] shows as kill, and can be trapped by links."""
    log: list[object] = []
    one, trapping, plain = Obedient.start(), Trapping.start(log), Obedient.start()
    do(trapping, lambda: link(one))
    do(plain, lambda: link(one))
    ends = downs(node, one, plain)
    one.tell(lambda: exit_self("kill"))

    assert [end.get(timeout=PATIENCE) for end in ends] == [KILL, KILL]
    do(trapping, lambda: None)
    assert log == [Exit(one, KILL)]


@pytest.mark.parametrize("length", [2, 50])
def test_links_pass_an_end_on_along_a_chain(node, length) -> None:
    """[p_link_chain_boom]"""
    chain = [Obedient.start() for _ in range(length)]
    for one, next_one in itertools.pairwise(chain):
        do(one, lambda next_one=next_one: link(next_one))
    ends = downs(node, *chain)
    exit(chain[0], "boom")

    assert {end.get(timeout=PATIENCE) for end in ends} == {Custom("boom")}


def test_a_long_chain_or_ring_does_not_nest(node) -> None:
    ring = [Obedient.start() for _ in range(3_000)]
    for one, next_one in zip(ring, [*ring[1:], ring[0]], strict=True):
        do(one, lambda next_one=next_one: link(next_one))
    ends = downs(node, *ring)
    exit(ring[0], "boom")

    assert {end.get(timeout=PATIENCE) for end in ends} == {Custom("boom")}


def test_a_trapping_process_stops_the_spread(node) -> None:
    """[p_link_chain_stops_at_trap]"""
    a, b, c = Obedient.start(), Trapping.start(), Obedient.start()
    do(b, lambda: link(a), lambda: link(c))
    down = when_down(a)
    exit(a, "boom")
    down.get(timeout=PATIENCE)

    assert (do(b, lambda: "b"), do(c, lambda: "c")) == ("b", "c")


# --- making and taking back


def test_two_links_are_one_and_one_unlink_takes_it_back(node) -> None:
    """[p_link_is_idempotent]"""
    log: list[object] = []
    a, b, c = Trapping.start(log), Obedient.start(), Obedient.start()
    do(a, lambda: link(b), lambda: link(b), lambda: link(c), lambda: link(c), lambda: unlink(c))
    do(c, lambda: link(a), lambda: unlink(a))
    ends = downs(node, b, c)
    exit(b, "boom")
    exit(c, "boom")
    for end in ends:
        end.get(timeout=PATIENCE)
    do(a, lambda: None)

    assert log == [Exit(b, Custom("boom"))]


def test_an_unlinked_process_does_not_end_with_the_other(node) -> None:
    a, b = Obedient.start(), Obedient.start()
    do(a, lambda: link(b), lambda: unlink(b))
    down = when_down(b)
    exit(b, "boom")
    down.get(timeout=PATIENCE)

    assert do(a, lambda: "lives") == "lives"


def test_unlink_leaves_an_exit_message_that_has_come(node) -> None:
    """[p_unlink_does_not_remove_delivered_exit]"""

    async def body():
        trap_exit()
        b = spawn_link(wait_for_ever)
        exit(b, "boom")
        await when_down(b)
        unlink(b)
        return mailbox(), b

    found, b = inside(node, body)

    assert found == [Exit(b, Custom("boom"))]


def test_after_unlink_no_new_exit_comes(node) -> None:
    async def body():
        trap_exit()
        b = spawn_link(wait_for_ever)
        unlink(b)
        exit(b, "boom")
        await when_down(b)
        return mailbox()

    assert inside(node, body) == []


def test_linking_an_ended_process_is_an_error_for_a_plain_caller(node) -> None:
    """[p_link_dead_plain]"""
    a, dead = Obedient.start(), Obedient.start()
    dead.stop(timeout=PATIENCE)
    with pytest.raises(NoProcess):
        do(a, lambda: link(dead))
    assert is_alive(a)
    down = when_down(a)
    a.tell(lambda: link(dead))

    assert not down.get(timeout=PATIENCE).is_calm


def test_a_plain_process_that_lets_that_error_pass_ends_with_noproc(node) -> None:
    """[p_link_dead_plain]: `link/1` makes the caller exit with noproc."""
    dead = Obedient.start()
    dead.stop(timeout=PATIENCE)
    down = when_down(spawn(lambda: link(dead)))
    reason = down.get(timeout=PATIENCE)

    assert reason == NOPROC or isinstance(reason.exception, NoProcess)


def test_linking_an_ended_process_gives_a_trapping_caller_a_message(node) -> None:
    """[p_link_dead_trap]"""
    log: list[object] = []
    a, dead = Trapping.start(log), Obedient.start()
    dead.stop(timeout=PATIENCE)
    do(a, lambda: link(dead), lambda: None)

    assert log == [Exit(dead, NOPROC)]


def test_linking_oneself_has_no_effect(node) -> None:
    """[probe:link_to_self]"""
    log: list[object] = []
    a = Trapping.start(log)
    do(a, lambda: link(self_()))
    down = when_down(a)
    exit(a, KILL)

    assert (down.get(timeout=PATIENCE), log) == (KILLED, [])


@pytest.mark.parametrize(
    ("reason", "child_lives"), [("normal", True), ("shutdown", False), ("boom", False)]
)
def test_a_linked_child_survives_its_parent_s_normal_end_only(node, reason, child_lives) -> None:
    """[p_spawn_link_parent_dies]"""
    children: list[supervisors.Ref] = []

    def parent():
        children.append(spawn_link(wait_for_ever))
        exit_self(reason)

    when_down(spawn(parent)).get(timeout=PATIENCE)
    inside(node, lambda: None)

    assert is_alive(children[0]) is child_lives
    exit(children[0], KILL)


def test_spawn_link_misses_no_end(node) -> None:
    async def body():
        trap_exit()
        children = [spawn_link(lambda: exit_self("boom")) for _ in range(100)]
        ends = [await receive(Exit, timeout=PATIENCE) for _ in children]
        return {end.process for end in ends} == set(children), {end.reason for end in ends}

    assert inside(node, body) == (True, {Custom("boom")})


def test_spawn_monitor_is_never_too_late(node) -> None:
    """[probe:spawn_monitor_fast]"""

    async def body():
        reasons = set()
        for _ in range(100):
            ref, watch = spawn_monitor(lambda: None)
            down = await receive(supervisors.Down, timeout=PATIENCE)
            assert down[:2] == (watch, ref)
            reasons.add(down.reason)
        return reasons

    assert inside(node, body) == {NORMAL}


# --- order


@KINDS
def test_messages_of_the_dead_come_before_its_exit(node, kind) -> None:
    """[p_message_before_down] also when Exit overtakes what others sent."""

    async def body():
        trap_exit()
        me = self_()

        def talk():
            for n in range(3):
                send(me, n)
            exit_self("boom")

        ref = spawn_link(talk)
        await when_down(ref)
        return mailbox(), ref

    found, ref = inside(node, body)

    assert found == [0, 1, 2, Exit(ref, Custom("boom"))]


def test_a_mutual_link_tells_each_once(node) -> None:
    log_a: list[object] = []
    log_b: list[object] = []
    a, b = Trapping.start(log_a), Trapping.start(log_b)
    do(a, lambda: link(b))
    do(b, lambda: link(a))
    down = when_down(a)
    exit(a, KILL)
    down.get(timeout=PATIENCE)
    do(b, lambda: None)

    assert (log_a, log_b) == ([], [Exit(a, KILLED)])


# --- across nodes


def test_processes_of_two_nodes_link(backend) -> None:
    with supervisors.Node(backend="asyncio") as one, supervisors.Node(backend=backend) as two:
        for reason in ("boom", "kill", ("shutdown", 1)):
            log: list[object] = []
            a = inside(one, Trapping.start, log)
            b = inside(two, Obedient.start)
            c = inside(two, Obedient.start)
            do(a, lambda b=b: link(b))
            do(c, lambda a=a: link(a))
            got: Future[object] = Future()
            down = when_down(b)
            exit(b, reason)
            ended = down.get(timeout=PATIENCE)
            while not log:
                do(a, lambda: None)
            assert log == [Exit(b, ended)]
            (other,) = downs(one, c)
            exit(a, KILL)
            assert other.get(timeout=PATIENCE) == KILLED
            got.set(None)


def test_a_node_that_stops_tells_the_links_of_its_processes(backend) -> None:
    with supervisors.Node(backend="asyncio") as one:
        log: list[object] = []
        a = inside(one, Trapping.start, log)
        with supervisors.Node(backend=backend) as two:
            b = inside(two, Obedient.start)
            do(a, lambda: link(b))
        while not log:
            do(a, lambda: None)

        assert [message.process for message in log] == [b]
        assert log[0].reason.is_calm


async def test_links_of_tasks_in_the_loop_of_a_test(inner_node) -> None:
    """The task of the test itself is a process that links."""
    trap_exit()
    ref = spawn_link(wait_for_ever)
    await anyio.lowlevel.checkpoint()
    exit(ref, "boom")

    assert await receive(Exit, timeout=PATIENCE) == Exit(ref, Custom("boom"))
    trap_exit(False)
