"""Code that does not let go: it gets a grace, then it counts as dead and its deeds as undone."""

from __future__ import annotations

import threading

import anyio
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    KILL,
    KILLED,
    AbandonedReport,
    Actor,
    Custom,
    Future,
    GenServer,
    Node,
    ProcessDead,
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
    when_down,
    whereis,
)


@pytest.fixture
def reports():
    with silenced() as reports:
        yield reports


@pytest.fixture
def impatient(backend, reports):
    with Node(backend=backend, kill_grace=0.02) as node:
        yield node


class Stubborn(Actor):
    """Swallows cancellation until it is let go; then does a last deed."""

    def __init__(self, begun, go, deed=None, outcome=None) -> None:
        super().__init__()
        self.begun, self.go, self.deed, self.outcome = begun, go, deed, outcome

    async def on_receive(self, message):
        self.begun.set()
        await hold_on(self.go)
        if self.deed is not None:
            try:
                self.outcome.set(self.deed(self))
            except BaseException as error:
                self.outcome.set(error)
        return "late answer"


async def hold_on(go):
    """Wait for an event as code does that swallows cancellation."""
    while not go.is_set():
        try:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.002)
        except BaseException:
            continue


def downs(node, *refs):
    return inside(node, lambda: [when_down(ref) for ref in refs])


def test_a_handler_that_swallows_its_cancellation_is_abandoned(impatient, reports) -> None:
    begun, go = threading.Event(), threading.Event()
    ref = Stubborn.start(begun, go)
    (down,) = downs(impatient, ref)
    asks = [ref.ask(n, block=False) for n in range(3)]
    assert begun.wait(PATIENCE)
    exit(ref, KILL)

    assert (down.get(timeout=PATIENCE), is_alive(ref), go.is_set()) == (KILLED, False, False)
    for ask in asks:
        with pytest.raises(ProcessDead):
            ask.get(timeout=PATIENCE)
    go.set()
    found = [report for report in reports if isinstance(report, AbandonedReport)]
    assert [(report.ref, report.grace) for report in found] == [(ref, 0.02)]


def test_a_spawned_function_that_swallows_its_cancellation_is_abandoned(impatient, reports) -> None:
    begun, go = threading.Event(), threading.Event()

    async def stubborn():
        begun.set()
        await hold_on(go)

    ref = spawn(stubborn)
    (down,) = downs(impatient, ref)
    assert begun.wait(PATIENCE)
    exit(ref, "boom")

    assert down.get(timeout=PATIENCE) in (Custom("boom"), KILLED)
    go.set()
    assert [report.ref for report in reports if isinstance(report, AbandonedReport)] == [ref]


def test_a_handler_that_lets_go_within_the_grace_is_not_abandoned(backend, reports) -> None:
    cleaned: list[str] = []
    begun = threading.Event()

    class CleansUp(Actor):
        async def on_receive(self, message):
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.02)
                cleaned.append("cleaned")

    with Node(backend=backend, kill_grace=PATIENCE) as node:
        ref = CleansUp.start()
        (down,) = downs(node, ref)
        ref.tell("go")
        assert begun.wait(PATIENCE)
        exit(ref, KILL)

        assert (down.get(timeout=PATIENCE), cleaned) == (KILLED, ["cleaned"])
    assert reports == []


def test_the_others_are_told_when_it_is_abandoned_and_once(impatient) -> None:
    begun, go = threading.Event(), threading.Event()
    ref = Stubborn.start(begun, go)

    async def body():
        link(ref)
        watch = monitor(ref)
        ref.tell("go")
        await anyio.to_thread.run_sync(begun.wait, PATIENCE)
        exit(ref, KILL)
        got = [await receive(timeout=PATIENCE) for _ in range(2)]
        go.set()
        await anyio.sleep(0.05)
        both = {supervisors.Exit(ref, KILLED), supervisors.Down(watch, ref, KILLED)}
        return set(got) == both, mailbox()

    assert inside(impatient, body, trap_exit=True) == (True, [])


def test_the_name_of_an_abandoned_process_is_free(impatient) -> None:
    begun, go = threading.Event(), threading.Event()
    ref = Stubborn.start(begun, go)
    register("svc", ref)
    (down,) = downs(impatient, ref)
    ref.tell("go")
    assert begun.wait(PATIENCE)
    exit(ref, KILL)
    down.get(timeout=PATIENCE)

    assert whereis("svc") is None
    go.set()


DEEDS = [
    ("send", lambda target: send(target, "from the grave")),
    ("tell", lambda target: target.tell("from the grave")),
    ("cast", lambda target: target.cast("from the grave")),
    ("exit", lambda target: exit(target, KILL)),
    ("register", lambda target: register("grave")),
    ("spawn", lambda target: spawn(lambda: target.send("from the grave's child"))),
    ("link", link),
    ("monitor", monitor),
    ("self_", lambda target: self_()),
    ("start", lambda target: Actor.start()),
]


@pytest.mark.parametrize(("what", "deed"), DEEDS, ids=[row[0] for row in DEEDS])
def test_what_an_abandoned_process_still_does_is_refused(impatient, what, deed) -> None:
    """SHEET 22.2: a fence; else two incarnations could work on one thing."""
    begun, go, outcome = threading.Event(), threading.Event(), Future[object]()
    log: list[object] = []

    class Keeps(Actor):
        def on_receive(self, message):
            log.append(message)

    target = Keeps.start()
    ref = Stubborn.start(begun, go, lambda _: deed(target), outcome)
    (down,) = downs(impatient, ref)
    ref.tell("go")
    assert begun.wait(PATIENCE)
    exit(ref, KILL)
    assert down.get(timeout=PATIENCE) == KILLED
    go.set()
    result = outcome.get(timeout=PATIENCE)
    target.ask("end", timeout=PATIENCE)

    assert isinstance(result, ProcessDead)
    assert (log, is_alive(target), whereis("grave")) == (["end"], True, None)


def test_the_late_answer_of_an_abandoned_handler_vanishes(impatient) -> None:
    begun, go = threading.Event(), threading.Event()

    class Server(GenServer):
        async def handle_call(self, request, caller):
            begun.set()
            await hold_on(go)
            return "late"

    ref = Server.start_unlinked().get(timeout=PATIENCE)
    (down,) = downs(impatient, ref)
    call = ref.call("x", timeout=None)
    assert begun.wait(PATIENCE)
    exit(ref, KILL)
    down.get(timeout=PATIENCE)
    with pytest.raises(supervisors.CallExit) as ended:
        call.get(timeout=PATIENCE)
    go.set()

    assert ended.value.reason == KILLED


def test_an_abandoned_handler_that_raises_in_the_end_is_heard_no_more(impatient, reports) -> None:
    begun, go, outcome = threading.Event(), threading.Event(), Future[object]()

    def deed(_actor):
        outcome.set("raises")
        raise SystemExit

    ref = Stubborn.start(begun, go, deed, Future[object]())
    (down,) = downs(impatient, ref)
    ref.tell("go")
    assert begun.wait(PATIENCE)
    exit(ref, KILL)
    down.get(timeout=PATIENCE)
    go.set()
    assert outcome.get(timeout=PATIENCE) == "raises"
    inside(impatient, lambda: None)

    assert [type(report) for report in reports] == [AbandonedReport]


@pytest.mark.leaks("a task that swallows its cancellation is left to itself with its loop")
def test_a_node_stops_although_a_handler_does_not_let_go(backend, reports) -> None:
    begun, go = threading.Event(), threading.Event()
    node = Node(backend=backend, kill_grace=0.02).start()
    ref = inside(node, Stubborn.start, begun, go)
    ref.tell("go")
    assert begun.wait(PATIENCE)
    threading.Timer(0.5, go.set).start()
    exit(ref, KILL)
    node.stop(timeout=PATIENCE)

    assert (node.running, is_alive(ref)) == (False, False)


def test_a_supervisor_restarts_what_it_had_to_abandon(impatient) -> None:
    begun, go = threading.Event(), threading.Event()
    starts: list[object] = []
    again: Future[None] = Future()

    class Worker(GenServer):
        def init(self):
            starts.append(self.ref)
            if len(starts) == 2:
                again.set(None)

        async def handle_cast(self, request):
            begun.set()
            await hold_on(go)

    async def body():
        sup = await supervisors.Supervisor.start_link(
            [Worker.child_spec(id="w")], strategy="one_for_one"
        )
        starts[0].cast("go")
        await anyio.to_thread.run_sync(begun.wait, PATIENCE)
        exit(starts[0], KILL)
        await within(again)
        children = await sup.which_children()
        return children[0].ref is starts[1]

    try:
        assert inside(impatient, body)
    finally:
        go.set()
