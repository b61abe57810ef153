"""The static supervisor, on real loops."""

from __future__ import annotations

import anyio
import pykka
import pytest
from kids import IGNORE, NOPE, Kid, Nursery, names_of, until

import supervisors
from supervisors import (
    BRUTAL_KILL,
    KILLED,
    SHUTDOWN,
    AlreadyPresent,
    AlreadyStarted,
    Backoff,
    BadReturn,
    CallExit,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    ChildSpec,
    Count,
    Custom,
    Error,
    FailedToStartChild,
    GenServer,
    Ignore,
    Node,
    NoProcess,
    Ok,
    Shutdown,
    SpecError,
    StartFailed,
    StartIgnored,
    Supervisor,
    exit,
    receive,
    spawn,
    stop,
    subscribe_reports,
    when_down,
    whereis,
)
from supervisors.testing import virtual_node

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("inner_node")]

BOOM = Custom("boom")


@pytest.fixture
def reports():
    seen = []
    unsubscribe = subscribe_reports(seen.append)
    yield seen
    unsubscribe()


def of_supervisors(reports) -> list[tuple[str, object, str]]:
    return [(r.context, r.child_id, str(r.reason)) for r in reports if r.event == "supervisor"]


async def test_children_start_in_order_and_stop_in_reverse() -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(nursery.kids("abc"))
    assert nursery.take() == ["+a", "+b", "+c"]

    await stop(supervisor)

    assert nursery.take() == ["-c shutdown", "-b shutdown", "-a shutdown"]
    assert not supervisor.is_alive()


async def test_a_child_that_ends_is_restarted_in_its_place() -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(nursery.kids("abc"))
    old = nursery.refs["b"]

    await nursery.end("b")

    children = await names_of(supervisor)
    assert list(children) == ["c", "b", "a"]
    assert children["b"] is nursery.refs["b"] is not old
    await stop(supervisor)


async def test_reports_tell_what_happened(reports) -> None:
    nursery = Nursery(b=["ok", NOPE, "ok"])
    supervisor = await Supervisor.start_link(nursery.kids("ab"), name="boss")
    await nursery.end("b")
    await until(supervisor, lambda children: children["b"] is nursery.refs["b"])
    await nursery.end("a", "shutdown")
    await until(supervisor, lambda children: children["a"] is nursery.refs["a"])

    assert of_supervisors(reports) == [
        ("child_terminated", "b", "boom"),
        ("start_error", "b", "nope"),
        ("child_terminated", "a", "shutdown"),
    ]
    first = next(r for r in reports if r.event == "supervisor")
    assert (first.supervisor, first.restart, first.shutdown, first.type, first.significant) == (
        supervisor,
        "permanent",
        5.0,
        "worker",
        False,
    )
    await stop(supervisor)


@pytest.mark.parametrize(
    ("strategy", "log"),
    [
        ("one_for_one", ["-b boom", "+b"]),
        ("one_for_all", ["-b boom", "-c shutdown", "-a shutdown", "+a", "+b", "+c"]),
        ("rest_for_one", ["-b boom", "-c shutdown", "+b", "+c"]),
    ],
)
async def test_strategies(strategy, log) -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(nursery.kids("abc"), strategy)
    nursery.take()

    await nursery.end("b")
    await until(supervisor, lambda children: all(ref.is_alive() for ref in children.values()))

    assert nursery.take() == log
    await stop(supervisor)


async def test_too_many_restarts_end_the_supervisor(reports) -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(nursery.kids("ab"), max_restarts=1, max_seconds=60.0)
    ended = when_down(supervisor)
    await nursery.end("b")
    await until(supervisor, lambda children: children["b"] is nursery.refs["b"])
    nursery.take()

    await nursery.end("b")

    assert await ended == SHUTDOWN
    assert nursery.take() == ["-b boom", "-a shutdown"]
    assert of_supervisors(reports)[-1] == ("shutdown", "b", "reached_max_restart_intensity")
    exit_message = await receive(supervisors.Exit)
    assert (exit_message.process, exit_message.reason) == (supervisor, SHUTDOWN)


async def test_a_restart_that_fails_is_tried_again_until_it_is_too_often(reports) -> None:
    nursery = Nursery(b=["ok", NOPE])
    supervisor = await Supervisor.start_link(nursery.kids("ab"), max_restarts=2)
    ended = when_down(supervisor)

    await nursery.end("b")

    assert await ended == SHUTDOWN
    assert nursery.take() == ["+a", "+b", "-b boom", "+b", "?b", "+b", "?b", "-a shutdown"]
    places = [r.child_ref for r in reports if r.event == "supervisor"]
    first = nursery.refs["b"]
    assert places == [first, first, ("restarting", first), ("restarting", first)]


async def test_requests_are_served_between_two_tries() -> None:
    nursery = Nursery(b=["ok", NOPE])
    supervisor = await Supervisor.start_link(nursery.kids("ab"), max_restarts=10_000)
    await nursery.end("b")

    assert (await names_of(supervisor))["b"] == "restarting"
    for refused, error in (
        (supervisor.restart_child("b"), ChildRestarting),
        (supervisor.delete_child("b"), ChildRestarting),
        (supervisor.start_child(nursery.kid("b")), AlreadyPresent),
    ):
        with pytest.raises(error):
            await refused
    assert await supervisor.count_children() == Count(2, 1, 0, 2)
    await supervisor.terminate_child("b")
    assert (await names_of(supervisor))["b"] is None
    await supervisor.delete_child("b")
    assert list(await names_of(supervisor)) == ["a"]
    await stop(supervisor)


async def test_a_child_that_does_not_start_stops_those_before_it() -> None:
    nursery = Nursery(c=[ValueError("oops")])

    with pytest.raises(StartFailed) as failed:
        await Supervisor.start_link(nursery.kids("abcd"))

    assert failed.value.reason == Shutdown(FailedToStartChild("c", Error(ValueError("oops"))))
    assert nursery.take() == ["+a", "+b", "+c", "-b shutdown", "-a shutdown"]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (lambda: {}["x"], Error(KeyError("x"))),
        (lambda: 5, BadReturn(5)),
        (lambda: supervisors.exit_self("bye"), Custom("bye")),
    ],
)
async def test_a_start_function_that_goes_wrong(start, reason) -> None:
    with pytest.raises(StartFailed) as failed:
        await Supervisor.start_link([ChildSpec("a", start)])

    assert failed.value.reason.term == FailedToStartChild("a", reason)


async def test_a_name_that_is_taken_is_a_failed_start() -> None:
    taken = await Kid.start_link(Nursery(), "x", name="the-name")
    spec = ChildSpec("a", lambda: Kid.start_link(Nursery(), "y", name="the-name"))

    with pytest.raises(StartFailed) as failed:
        await Supervisor.start_link([spec])

    assert failed.value.reason.term.reason == Custom(("already_started", taken))
    supervisor = await Supervisor.start_link([])
    with pytest.raises(AlreadyStarted) as refused:
        await supervisor.start_child(spec)
    assert refused.value.ref is taken
    await stop(supervisor)
    await stop(taken)


async def test_nested_supervisors_stop_depth_first_and_fail_with_nested_reasons() -> None:
    nursery = Nursery(z=["ok", NOPE])
    inner = Supervisor.child_spec(nursery.kids("xyz"), id="inner")
    outer = await Supervisor.start_link([nursery.kid("a"), inner, nursery.kid("b")])
    nursery.take()
    await stop(outer)
    assert nursery.take() == [f"-{name} shutdown" for name in "bzyxa"]

    with pytest.raises(StartFailed) as failed:
        await Supervisor.start_link([inner])

    innermost = Shutdown(FailedToStartChild("z", Custom("nope")))
    assert failed.value.reason == Shutdown(FailedToStartChild("inner", innermost))


async def test_children_may_be_written_in_many_ways() -> None:
    class Counter(GenServer):
        def init(self, start: int = 0) -> None:
            self.start_value = start

        def handle_call(self, request, caller):
            return self.start_value

    supervisor = await Supervisor.start_link(
        [
            Counter,
            {"id": "dict", "start": lambda: Counter.start_link(1)},
            Counter.child_spec(2, id="spec", name="counter"),
        ]
    )

    children = await names_of(supervisor)
    assert [await children[id].call(None) for id in (Counter, "dict", "spec")] == [0, 1, 2]
    assert whereis("counter") is children["spec"]
    await stop(supervisor)


async def test_start_child() -> None:
    nursery = Nursery(ignoring=[IGNORE], failing=[NOPE])
    supervisor = await Supervisor.start_link(nursery.kids("ab"))

    c = await supervisor.start_child(nursery.kid("c"))

    assert c is nursery.refs["c"]
    assert list(await names_of(supervisor)) == ["c", "b", "a"]
    with pytest.raises(AlreadyStarted) as started:
        await supervisor.start_child(nursery.kid("c"))
    assert started.value.ref is c
    assert await supervisor.start_child(nursery.kid("ignoring")) is None
    with pytest.raises(AlreadyPresent):
        await supervisor.start_child(nursery.kid("ignoring"))
    spec = nursery.kid("failing")
    with pytest.raises(StartFailed) as failed:
        await supervisor.start_child(spec)
    assert (failed.value.reason, failed.value.child) == (Custom("nope"), spec)
    with pytest.raises(SpecError):
        await supervisor.start_child({"id": "x"})
    with pytest.raises(SpecError, match="never shuts itself down"):
        await supervisor.start_child(nursery.kid("s", restart="transient", significant=True))
    assert list(await names_of(supervisor)) == ["ignoring", "c", "b", "a"]
    await stop(supervisor)


async def test_a_start_function_may_hand_something_to_the_caller() -> None:
    nursery = Nursery()

    async def start():
        return await Kid.start_link(nursery, "i"), "info"

    supervisor = await Supervisor.start_link([])

    assert await supervisor.start_child(ChildSpec("i", start)) == (nursery.refs["i"], "info")
    assert (await names_of(supervisor))["i"] is nursery.refs["i"]
    await stop(supervisor)


async def test_terminate_restart_delete() -> None:
    nursery = Nursery(f=["ok", NOPE, IGNORE, "ok"])
    supervisor = await Supervisor.start_link(
        [*nursery.kids("abf"), nursery.kid("t", restart="temporary")]
    )
    for request in (supervisor.restart_child, supervisor.delete_child):
        with pytest.raises(ChildRunning):
            await request("a")
        with pytest.raises(ChildNotFound):
            await request("zz")
    with pytest.raises(ChildNotFound):
        await supervisor.terminate_child("zz")

    assert await supervisor.terminate_child("a") is None
    assert await supervisor.terminate_child("a") is None
    assert await supervisor.restart_child("a") is nursery.refs["a"]
    await supervisor.terminate_child("t")
    await supervisor.terminate_child("f")
    with pytest.raises(StartFailed) as failed:
        await supervisor.restart_child("f")
    assert failed.value.reason == Custom("nope")
    assert await supervisor.restart_child("f") is None
    assert await names_of(supervisor) == {
        "f": None,
        "b": nursery.refs["b"],
        "a": nursery.refs["a"],
    }
    assert await supervisor.restart_child("f") is nursery.refs["f"]
    await stop(supervisor)


async def test_get_childspec_and_counts() -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(
        [nursery.kid("a"), Supervisor.child_spec([], id="s", restart="transient")]
    )

    assert (await supervisor.get_childspec("a")).shutdown == 5.0
    spec = await supervisor.get_childspec("s")
    assert (spec.restart, spec.shutdown, spec.type) == ("transient", None, "supervisor")
    with pytest.raises(ChildNotFound):
        await supervisor.get_childspec("zz")
    assert await supervisor.count_children() == Count(2, 2, 1, 1)
    await stop(supervisor)


async def test_a_slow_init_blocks_the_supervisor_but_not_the_loop() -> None:
    gate = anyio.Event()
    nursery = Nursery(slow=[gate])
    supervisor = await Supervisor.start_link(nursery.kids("a"))
    started = supervisor.start_child(nursery.kid("slow"))
    asked = supervisor.which_children()
    assert await nursery.refs["a"].call(1) == ("a", 1)
    assert not asked.done()

    gate.set()

    assert await started is nursery.refs["slow"]
    assert [child.id for child in await asked] == ["slow", "a"]
    await stop(supervisor)


async def test_shutdown_times(reports) -> None:
    nursery = Nursery()
    nursery.gates = {name: anyio.Event() for name in ("slow", "zero", "brutal")}
    supervisor = await Supervisor.start_link(
        [
            nursery.kid("a"),
            nursery.kid("slow", shutdown=0.05),
            nursery.kid("zero", shutdown=0),
            nursery.kid("brutal", shutdown=BRUTAL_KILL),
        ]
    )
    ends = {name: when_down(ref) for name, ref in nursery.refs.items()}

    await stop(supervisor)

    assert {name: await end for name, end in ends.items()} == {
        "a": SHUTDOWN,
        "slow": KILLED,
        "zero": KILLED,
        "brutal": KILLED,
    }
    assert [(context, id) for context, id, _ in of_supervisors(reports)] == [
        ("shutdown_error", "zero"),
        ("shutdown_error", "slow"),
    ]


async def test_a_child_without_limit_is_waited_for() -> None:
    nursery = Nursery()
    gate = nursery.gates["a"] = anyio.Event()
    supervisor = await Supervisor.start_link([nursery.kid("a", shutdown=None)])
    stopped = stop(supervisor)
    await until_logged(nursery, "~a")
    assert not stopped.done()

    gate.set()

    await stopped
    assert nursery.take() == ["+a", "~a", "-a shutdown"]


async def until_logged(nursery: Nursery, entry: str) -> None:
    with anyio.fail_after(5):
        while entry not in nursery.log:
            await anyio.lowlevel.checkpoint()


async def test_a_child_that_crashes_while_others_are_stopped_is_not_restarted(reports) -> None:
    nursery = Nursery()
    gate = nursery.gates["b"] = anyio.Event()
    supervisor = await Supervisor.start_link(nursery.kids("ab"))
    stopped = stop(supervisor)
    await until_logged(nursery, "~b")

    await nursery.end("a")
    gate.set()
    await stopped

    assert nursery.take() == ["+a", "+b", "~b", "-a boom", "-b shutdown"]
    assert of_supervisors(reports) == [("shutdown_error", "a", "boom")]


@pytest.mark.parametrize("reason", ["normal", "shutdown", "boom"])
async def test_the_end_of_the_parent_ends_the_supervisor_with_its_reason(reason) -> None:
    nursery = Nursery()
    box = []

    async def parent() -> None:
        box.append(await Supervisor.start_link(nursery.kids("ab")))
        await receive("go".__eq__)
        supervisors.exit_self(reason)

    process = spawn(parent)
    with anyio.fail_after(5):
        while not box:
            await anyio.lowlevel.checkpoint()
    ended = when_down(box[0])
    process.send("go")

    assert await ended == supervisors.as_reason(reason)
    assert nursery.take() == ["+a", "+b", "-b shutdown", "-a shutdown"]


async def test_a_stranger_cannot_end_a_supervisor_but_with_kill() -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(nursery.kids("a"))

    async def stranger() -> None:
        exit(supervisor, "shutdown")
        exit(supervisor, "boom")

    await when_down(spawn(stranger))
    assert list(await names_of(supervisor)) == ["a"]
    a = when_down(nursery.refs["a"])

    exit(supervisor, "kill")

    assert await a == KILLED
    assert nursery.take()[-1] == "-a killed"


async def test_auto_shutdown() -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(
        [nursery.kid("a"), *nursery.kids("st", restart="transient", significant=True)],
        auto_shutdown="all_significant",
    )
    ended = when_down(supervisor)
    await nursery.end("s", "normal")
    assert (await names_of(supervisor))["s"] is None

    await nursery.end("t", "shutdown")

    assert await ended == SHUTDOWN
    assert nursery.take()[-1] == "-a shutdown"


async def test_a_subclass_says_what_it_supervises() -> None:
    nursery = Nursery()

    class Tree(Supervisor):
        async def init(self, names):
            return self.tree(nursery.kids(names), "rest_for_one")

    class Plain(Supervisor):
        def init(self):
            return self.tree([Tree.child_spec("xy")])

    class Not(Supervisor):
        def init(self):
            return Ignore()

    supervisor = await Plain.start_link()
    assert nursery.take() == ["+x", "+y"]
    await stop(supervisor)
    with pytest.raises(StartIgnored):
        await Not.start_link()


@pytest.mark.parametrize("answer", [None, Ok()])
async def test_a_subclass_that_forgets_its_tree_is_told(answer) -> None:
    class Forgetful(Supervisor):
        def init(self):
            return answer

    with pytest.raises(StartFailed, match=r"Write `return self.tree\(...\)`"):
        await Forgetful.start_link()


WRONG = [
    (([5],), {}, ("start_spec", ("invalid_child_spec", 5))),
    (([Kid, Kid],), {}, ("start_spec", ("duplicate_child_name", Kid))),
    (([],), {"strategy": "all"}, ("supervisor_data", ("invalid_strategy", "all"))),
    (([],), {"max_restarts": -1}, ("supervisor_data", ("invalid_intensity", -1))),
]


@pytest.mark.parametrize(("args", "flags", "term"), WRONG)
async def test_a_wrong_list_or_flag_ends_the_start_with_otps_term(args, flags, term) -> None:
    with pytest.raises(StartFailed) as failed:
        await Supervisor.start_link(*args, **flags)

    assert failed.value.reason == Custom(term)
    assert not isinstance(failed.value.reason, Error)


def test_specs_can_be_checked_without_a_supervisor() -> None:
    Supervisor.check_childspecs([Kid.child_spec(id="a"), Kid.child_spec(id="b")])

    with pytest.raises(SpecError, match="two children have the id"):
        Supervisor.check_childspecs([Kid, Kid])


async def test_unknown_requests_and_messages() -> None:
    supervisor = await Supervisor.start_link([])
    supervisor.tell("hello")
    assert await supervisor.which_children() == []

    with pytest.raises(CallExit) as ended:
        await supervisor.call("hello")

    assert isinstance(ended.value.reason.exception, NotImplementedError)
    with pytest.raises(NoProcess):
        await supervisor.which_children()
    other = await Supervisor.start_link([])
    ended = when_down(other)
    other.cast("hello")
    assert isinstance((await ended).exception, NotImplementedError)


async def test_its_state_is_its_children() -> None:
    nursery = Nursery()
    supervisor = await Supervisor.start_link(nursery.kids("ab"))

    tree = supervisors.tree(supervisor)

    assert [child.id for child in (await tree).children] == ["a", "b"]
    assert supervisor.process.actor.format_status() == {
        "children": await supervisor.which_children()
    }
    await stop(supervisor)


async def test_pykkas_own_actors_can_be_supervised() -> None:
    started = []

    class Threaded(pykka.ThreadingActor):
        def on_start(self) -> None:
            started.append(self.actor_ref)

    supervisor = await Supervisor.start_link([ChildSpec("t", Threaded.start)])
    first = started[0]

    first.stop(block=False)
    await until(supervisor, lambda _children: len(started) == 2)
    await stop(supervisor)

    assert started[1].actor_stopped.wait(5)
    pykka.ActorRegistry.stop_all()


async def test_an_actor_started_without_a_link_is_linked_by_its_supervisor() -> None:
    class Plain(supervisors.Actor):
        def on_receive(self, message):
            raise ValueError(message)

    supervisor = await Supervisor.start_link([ChildSpec("p", Plain.start)])
    first = (await names_of(supervisor))["p"]
    ended = when_down(first)

    first.tell("boom")

    await ended
    await until(supervisor, lambda children: children["p"] not in (first, "restarting"))
    await stop(supervisor)


@pytest.fixture
def far():
    node = Node("far").start()
    yield node
    node.stop(10.0)


async def test_a_child_on_another_node(reports, far) -> None:
    class Far(GenServer):
        def handle_call(self, request, caller):
            return self.node.name

        def handle_cast(self, request):
            raise ValueError(request)

    supervisor = await Supervisor.start_link(
        [
            ChildSpec("far", lambda: Far.start_on(far), "transient"),
            ChildSpec("slow", lambda: Far.start_on(far), shutdown=BRUTAL_KILL),
        ]
    )
    first = (await names_of(supervisor))["far"]
    assert await first.call("name") == "far"

    first.cast("boom")

    await when_down(first)
    await until(supervisor, lambda children: children["far"] not in (first, "restarting"))
    second = (await names_of(supervisor))["far"]
    assert await second.call("name") == "far"
    exit(second, "shutdown")
    await when_down(second)
    await until(supervisor, lambda children: children["far"] is None)
    await supervisor.restart_child("far")
    await stop(supervisor)

    assert of_supervisors(reports) == [("child_terminated", "far", "ValueError: boom")]


# ---- delays


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_restart_can_be_delayed(backend) -> None:
    nursery = Nursery(b=["ok", NOPE, "ok"])
    delay = Backoff(1.0, 8.0, jitter=0.0)
    with virtual_node(backend) as (node, time):

        def in_node(function):
            future = supervisors.Future()

            async def run() -> None:
                future.set(await function())

            supervisors.spawn(run, node=node)
            return future.get(timeout=5)

        async def start():
            return await Supervisor.start_unlinked(
                [nursery.kid("a"), nursery.kid("b", restart_delay=delay), nursery.kid("c")],
                "rest_for_one",
            )

        async def look():
            children = await names_of(supervisor)
            return [ref if ref in ("restarting", None) else "up" for ref in children.values()]

        supervisor = in_node(start)
        in_node(lambda: nursery.end("b"))
        assert in_node(look) == [None, "restarting", "up"]  # c waits with b; requests are served
        time.advance(0.9).get()
        assert in_node(look) == [None, "restarting", "up"]
        time.advance(0.2).get()
        assert in_node(look) == [None, "restarting", "up"]  # it failed; now two seconds
        time.advance(2.1).get()
        assert in_node(look) == ["up", "up", "up"]
        in_node(lambda: nursery.end("b"))

        async def terminate() -> None:
            await supervisor.terminate_child("b")

        in_node(terminate)
        before = list(nursery.log)
        time.advance(100.0).get()
        assert in_node(look) == [None, None, "up"]
        assert nursery.log == before
        in_node(lambda: stop(supervisor).join())
