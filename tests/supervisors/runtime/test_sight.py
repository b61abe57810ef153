"""Looking into actors: state, suspension, traces, and the tree."""

from __future__ import annotations

import threading
from collections import Counter, deque

import anyio
import pykka
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    KILL,
    KILLED,
    Actor,
    Custom,
    DynamicSupervisor,
    Future,
    GenServer,
    ProcessDead,
    Shutdown,
    Supervisor,
    exit,
    get_state,
    info,
    is_alive,
    link,
    receive,
    register,
    replace_state,
    resume,
    spawn,
    suspend,
    trace,
    tree,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


class Counts(GenServer):
    """Counts; [probe:sys_debug] has its twin in Erlang."""

    def init(self, n=0):
        self.n = n
        self._hidden = "x"

    async def handle_call(self, request, caller):
        match request:
            case "inc":
                self.n += 1
                return self.n
            case Future():
                return await request
            case _:
                return request

    def handle_cast(self, request):
        self.last = request

    def handle_info(self, message):
        self.seen = message


@pytest.fixture
def counter(node):
    return Counts.start_unlinked().get(timeout=PATIENCE)


def get(future):
    return future.get(timeout=PATIENCE)


# --- state


def test_the_state_of_a_server_is_its_public_attributes(counter) -> None:
    assert get(get_state(counter)) == {"n": 0}
    get(counter.call("inc"))
    assert get(get_state(counter)) == {"n": 1}


def test_the_state_of_a_plain_actor_can_be_seen_too(node) -> None:
    class Plain(Actor):
        def __init__(self):
            super().__init__()
            self.colour = "red"

    assert get(get_state(Plain.start()))["colour"] == "red"


def test_a_server_says_what_its_state_shows(node) -> None:
    class Secret(Counts):
        def format_status(self):
            return {"n": self.n, "token": "***"}

    ref = get(Secret.start_unlinked())

    assert get(get_state(ref)) == {"n": 0, "token": "***"}


def test_a_busy_server_answers_when_it_is_done(node, counter) -> None:
    """[c_get_state_busy]"""
    gate: Future[str] = Future()
    busy = counter.call(gate)
    state = get_state(counter)
    with pytest.raises(pykka.Timeout):
        get_state(counter, timeout=0.02).get(timeout=PATIENCE)
    assert state.done() is False
    gate.set("done")

    assert (get(state), get(busy)) == ({"n": 0}, "done")


def test_the_state_is_a_copy(counter) -> None:
    get(get_state(counter))["n"] = 99

    assert get(get_state(counter)) == {"n": 0}


def test_replace_state_runs_in_the_server(counter) -> None:
    """[probe:sys_replace_state]"""
    threads: list[int] = []

    def change(state):
        threads.append(threading.get_ident())
        return state | {"n": 41}

    returned = get(replace_state(counter, change))
    assert returned["n"] == 41
    assert (get(counter.call("inc")), threads[0] != threading.get_ident()) == (42, True)


def test_a_change_that_fails_leaves_the_state_and_raises_in_the_caller(counter) -> None:
    """[probe:sys_replace_state]"""

    def change(state):
        state["n"] = 99
        raise ValueError("oops")

    with pytest.raises(ValueError, match="oops"):
        get(replace_state(counter, change))
    assert get(get_state(counter)) == {"n": 0}
    for rubbish in (None, 7, "text"):
        with pytest.raises(Exception) as raised:
            get(replace_state(counter, lambda _, rubbish=rubbish: rubbish))
        assert not isinstance(raised.value, pykka.Timeout)
    assert get(counter.call("inc")) == 1


def test_replace_state_may_add_and_take_attributes(counter) -> None:
    get(replace_state(counter, lambda _: {"n": 5, "more": 1}))
    assert get(get_state(counter)) == {"n": 5, "more": 1}
    get(replace_state(counter, lambda _: {"n": 6}))
    assert get(get_state(counter)) == {"n": 6}


def test_replace_state_does_not_write_back_what_format_status_shows(node) -> None:
    class Secret(Counts):
        def init(self):
            self.n, self.token = 0, "secret"

        def format_status(self):
            return {"n": self.n, "token": "***"}

        async def handle_call(self, request, caller):
            return self.n, self.token

    ref = get(Secret.start_unlinked())
    get(replace_state(ref, lambda state: state | {"n": 5}))

    assert get(ref.call("all")) == (5, "secret")


# --- suspend, resume


def test_a_suspended_server_takes_no_messages_until_it_is_resumed(counter) -> None:
    """[c_suspended] [probe:sys_suspend_timeout]"""
    get(suspend(counter))
    late, timed = counter.call("inc", timeout=None), counter.call("inc", timeout=0.02)
    counter.cast("x")
    counter.send("y")
    with pytest.raises(supervisors.CallTimeout):
        get(timed)
    assert (get(get_state(counter)), late.done()) == ({"n": 0}, False)
    assert info(counter).state == "suspended"
    get(resume(counter))

    assert get(late) == 1
    assert get(counter.call("inc")) == 3  # the one that timed out was handled as well
    assert get(get_state(counter)) == {"n": 3, "last": "x", "seen": "y"}


def test_a_suspended_server_can_be_killed(counter) -> None:
    """[probe:sys_suspend_timeout]"""
    down = when_down(counter)
    get(suspend(counter))
    exit(counter, KILL)

    assert (get(down), is_alive(counter)) == (KILLED, False)


def test_a_suspended_server_can_be_stopped(counter) -> None:
    """[probe:sys_terminate] the stop is a system message."""
    down = when_down(counter)
    get(suspend(counter))
    get(supervisors.stop(counter, ("shutdown", "x")))

    assert get(down) == Shutdown("x")


def test_suspend_and_resume_twice_are_as_once(counter) -> None:
    for deed in (suspend, suspend, resume, resume):
        get(deed(counter))

    assert get(counter.call("inc")) == 1


def test_a_plain_actor_is_suspended_too(node) -> None:
    class Plain(Actor):
        def on_receive(self, message):
            return message

    ref = Plain.start()
    get(suspend(ref))
    asked = ref.ask("x", block=False)
    with pytest.raises(pykka.Timeout):
        asked.get(timeout=0.02)
    get(resume(ref))

    assert get(asked) == "x"


def test_a_suspended_trapping_server_keeps_its_exits_for_later(node) -> None:
    class Trapping(Counts):
        trap_exit = True

        def handle_info(self, message):
            self.seen = message.reason

    ref = get(Trapping.start_unlinked())
    get(suspend(ref))
    exit(ref, "boom")
    inside(node, lambda: None)
    assert get(get_state(ref)) == {"n": 0}
    get(resume(ref))
    get(ref.call("x"))

    assert get(get_state(ref))["seen"] == Custom("boom")


def test_a_suspended_supervisor_does_not_restart_until_it_is_resumed(node) -> None:
    """[s_suspended_supervisor]"""

    async def body():
        sup = await Supervisor.start_link([Counts.child_spec(id="w")], strategy="one_for_one")
        (child,) = await sup.which_children()
        await suspend(sup)
        exit(child.ref, KILL)
        await when_down(child.ref)
        await anyio.sleep(0.01)
        suspended = tree_of(sup)
        await resume(sup)
        (again,) = await sup.which_children()
        return suspended, again.ref is not child.ref, is_alive(again.ref)

    def tree_of(sup):
        return info(sup).state

    assert inside(node, body) == ("suspended", True, True)


DEAD = [
    ("get_state", get_state),
    ("suspend", suspend),
    ("resume", resume),
    ("trace", lambda ref: trace(ref, print)),
    ("replace_state", lambda ref: replace_state(ref, dict)),
]


@pytest.mark.parametrize(("what", "deed"), DEAD, ids=[row[0] for row in DEAD])
def test_looking_into_an_ended_actor_fails_at_once(counter, what, deed) -> None:
    get(supervisors.stop(counter))
    with pytest.raises((ProcessDead, supervisors.NoProcess)):
        get(deed(counter))


@pytest.mark.parametrize(("what", "deed"), DEAD, ids=[row[0] for row in DEAD])
def test_looking_into_what_is_no_actor_says_so(node, what, deed) -> None:
    async def wait():
        await receive(lambda _: False)

    ref = spawn(wait)
    with pytest.raises(supervisors.SupervisorsError) as raised:
        get(deed(ref))
    assert not isinstance(raised.value, pykka.Timeout)


@pytest.mark.parametrize(("what", "deed"), DEAD, ids=[row[0] for row in DEAD])
def test_a_look_that_waits_ends_when_the_actor_is_killed(node, counter, what, deed) -> None:
    gate: Future[str] = Future()
    counter.call(gate)
    while info(counter).unread:
        pass
    looked = deed(counter)
    exit(counter, KILL)

    with pytest.raises((ProcessDead, supervisors.CallExit)) as raised:
        get(looked)
    assert not isinstance(raised.value, pykka.Timeout)


# --- trace


def test_a_tracer_sees_what_goes_in_and_out(counter) -> None:
    """[probe:sys_debug] in, out, noreply; get_state is not traced; done takes it off."""
    events: list[tuple[object, ...]] = []

    def tracer(event):
        events.append(event)

    get(trace(counter, tracer))
    get(counter.call("inc"))
    counter.cast("hi")
    counter.send("info")
    get(get_state(counter))
    get(trace(counter, None))
    get(counter.call("inc"))

    assert [event[:2] for event in events] == [
        ("in", "call"),
        ("out", 1),
        ("in", "cast"),
        ("noreply", {"n": 1, "last": "hi"}),
        ("in", "info"),
        ("noreply", {"n": 1, "last": "hi", "seen": "info"}),
    ]
    assert [event[2] for event in events if event[0] == "in"] == ["inc", "hi", "info"]
    assert events[1][2] == {"n": 1}


def test_a_tracer_keeps_the_last_events_and_counts_them(counter) -> None:
    """[probe:sys_log] what sys:log and sys:statistics do, a tracer does."""
    last: deque[tuple[object, ...]] = deque(maxlen=3)
    counts: Counter[object] = Counter()
    get(trace(counter, lambda event: (last.append(event), counts.update([event[0]]))[0]))
    for _ in range(5):
        get(counter.call("inc"))
    get(trace(counter, None))

    assert (len(last), last[-1][:2], counts) == (3, ("out", 5), {"in": 5, "out": 5})


def test_a_tracer_that_says_done_is_taken_off(counter) -> None:
    """[probe:sys_debug]"""
    events: list[object] = []
    get(trace(counter, lambda event: (events.append(event), "done")[1]))
    for _ in range(3):
        get(counter.call("inc"))

    assert len(events) == 1


def test_a_tracer_that_raises_is_taken_off_and_harms_nobody(counter) -> None:
    events: list[object] = []

    def tracer(event):
        events.append(event)
        raise ValueError("oops")

    get(trace(counter, tracer))

    assert [get(counter.call("inc")) for _ in range(3)] == [1, 2, 3]
    assert len(events) == 1


def test_a_tracer_sees_a_plain_actor_too(node) -> None:
    class Plain(Actor):
        def on_receive(self, message):
            return message

    events: list[tuple[object, ...]] = []
    ref = Plain.start()
    get(trace(ref, events.append))
    ref.ask("x", timeout=PATIENCE)
    ref.tell("y")
    ref.ask("z", timeout=PATIENCE)

    assert [event[2] for event in events if event[0] == "in"] == ["x", "y", "z"]


# --- info


def test_info_shows_a_process_from_outside(node, counter) -> None:
    gate: Future[str] = Future()
    register("svc", counter)
    busy = counter.call(gate)
    while info(counter).unread:
        pass
    counter.send(1)
    counter.send(2)
    found = info(counter)
    assert (found.ref, found.name, found.initial_call, found.trap_exit, found.unread) == (
        counter,
        "svc",
        "Counts",
        False,
        2,
    )
    assert found.state != "dead"
    assert info("svc") == found
    gate.set("x")
    get(busy)


def test_info_says_whether_a_server_runs_or_is_suspended_and_who_its_parent_is(node) -> None:
    """[probe:sys_status]"""

    async def body():
        ref = await Counts.start_link()
        running = info(ref).state
        await suspend(ref)
        return running, info(ref).state, info(ref).parent is supervisors.self_()

    running, suspended, parent_is_starter = inside(node, body)

    assert (running != suspended, suspended, parent_is_starter) == (True, "suspended", True)


def test_info_knows_links_watches_and_parents(node) -> None:
    async def body():
        ref = await Counts.start_link()
        supervisors.monitor(ref)
        supervisors.monitor(ref)
        found = info(ref)
        me = supervisors.self_()
        return found.links == (me,), found.monitored_by, found.parent is me

    assert inside(node, body) == (True, 2, True)


def test_info_of_nobody_is_nothing(node) -> None:
    assert info("nobody") is None


def test_info_never_waits_for_the_process(node) -> None:
    begun, go = threading.Event(), threading.Event()

    class Blocks(Actor):
        def on_receive(self, message):
            begun.set()
            go.wait(PATIENCE)

    ref = Blocks.start()
    ref.tell("x")
    assert begun.wait(PATIENCE)
    found = info(ref)
    go.set()

    assert found.ref is ref


# --- the tree


def test_the_tree_of_a_supervisor(node) -> None:
    async def body():
        inner = [Counts.child_spec(id="leaf")]
        sup = await Supervisor.start_link(
            [
                Counts.child_spec(id="first"),
                Supervisor.child_spec(inner, id="inner", strategy="one_for_one"),
                Counts.child_spec(id="last", name="last"),
            ],
            strategy="one_for_one",
        )
        return await tree(sup), sup

    found, sup = inside(node, body)

    assert (found.ref, found.type) == (sup, "supervisor")
    assert [(child.id, child.type) for child in found.children] == [
        ("first", "worker"),
        ("inner", "supervisor"),
        ("last", "worker"),
    ]
    assert [child.id for child in found.children[1].children] == ["leaf"]
    assert all(child.state for child in found.children)


def test_the_text_of_a_tree_is_a_picture_of_it(node) -> None:
    async def body():
        inner = [Counts.child_spec(id="leaf")]
        sup = await Supervisor.start_link(
            [
                Counts.child_spec(id="first"),
                Supervisor.child_spec(inner, id="inner", strategy="one_for_one"),
            ],
            strategy="one_for_one",
        )
        return str(await tree(sup))

    text = inside(node, body)
    lines = text.splitlines()

    assert len(lines) == 4
    assert [word in line for word, line in zip(("first", "inner", "leaf"), lines[1:], strict=True)]
    depth = [len(line) - len(line.lstrip(" │├└─")) for line in lines]
    assert depth[0] < depth[1] == depth[2] < depth[3]


def test_a_tree_shows_children_that_do_not_run(node) -> None:
    async def body():
        sup = await Supervisor.start_link([Counts.child_spec(id="w")], strategy="one_for_one")
        await sup.terminate_child("w")
        return await tree(sup)

    (child,) = inside(node, body).children

    assert (child.id, child.ref) == ("w", None)
    assert "w" in str(child)


def test_the_tree_of_a_node_shows_what_is_under_its_root(node) -> None:
    async def body():
        pool = await DynamicSupervisor.start_link()
        for _ in range(3):
            await pool.start_child(Counts.child_spec())
        return await tree(pool), await tree()

    pool, whole = inside(node, body)

    assert len(pool.children) == 3
    assert whole.type == "supervisor"


async def test_the_tree_is_awaited_in_the_loop_of_a_test(inner_node) -> None:
    found = await within(tree())

    assert found.children == ()


def test_a_tree_of_a_busy_supervisor_is_seen_all_the_same(node) -> None:
    """Out of band: a hung start_child must not hide the tree."""
    gate: Future[None] = Future()

    class Slow(Counts):
        async def init(self):
            await gate

    async def body():
        sup = await Supervisor.start_link([Counts.child_spec(id="w")], strategy="one_for_one")
        starting = sup.start_child(Slow.child_spec(id="slow"))
        await anyio.sleep(0.01)
        with anyio.fail_after(2.0):
            found = await tree(sup)
        gate.set(None)
        await starting
        return [child.id for child in found.children]

    assert inside(node, body)[:1] == ["w"]


def test_links_between_tree_and_others_do_not_matter(node) -> None:
    async def body():
        sup = await Supervisor.start_link([Counts.child_spec(id="w")], strategy="one_for_one")
        other = await Counts.start_unlinked()
        link(other)
        return [child.id for child in (await tree(sup)).children]

    assert inside(node, body) == ["w"]
