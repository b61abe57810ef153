"""The supervisor of children that come and go, on real loops."""

from __future__ import annotations

import time

import anyio
import pykka
import pytest
from kids import IGNORE, NOPE, Kid, Nursery, until

import supervisors
from supervisors import (
    BRUTAL_KILL,
    KILLED,
    NORMAL,
    SHUTDOWN,
    AlreadyStarted,
    Backoff,
    ChildNotFound,
    ChildSpec,
    Count,
    Custom,
    DynamicSupervisor,
    Error,
    GenServer,
    MaxChildren,
    SpecError,
    StartFailed,
    StartIgnored,
    Supervisor,
    exit,
    stop,
    subscribe_reports,
    when_down,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("inner_node")]


@pytest.fixture
def reports():
    seen = []
    unsubscribe = subscribe_reports(seen.append)
    yield seen
    unsubscribe()


async def refs(supervisor) -> list[object]:
    return [child.ref for child in await supervisor.which_children()]


async def settled(supervisor, condition) -> None:
    with anyio.fail_after(5):
        while not condition(await refs(supervisor)):
            await anyio.lowlevel.checkpoint()


async def test_children_come_and_go() -> None:
    nursery = Nursery()
    supervisor = await DynamicSupervisor.start_link()
    a = await supervisor.start_child(nursery.kid("a"))
    b = await supervisor.start_child(nursery.kid("b"))
    again = await supervisor.start_child(nursery.kid("a"))
    assert await refs(supervisor) == [a, b, again]

    assert await supervisor.terminate_child(a) is None

    assert await refs(supervisor) == [b, again]
    assert [child.id for child in await supervisor.which_children()] == [None, None]
    assert await supervisor.count_children() == Count(2, 2, 0, 2)
    for stranger in (a, supervisor):
        with pytest.raises(ChildNotFound):
            await supervisor.terminate_child(stranger)
    with pytest.raises(SpecError, match="give its ref"):
        await supervisor.terminate_child("a")
    assert (await supervisor.get_childspec(b)).id == "b"
    for unknown in (a, "b", []):
        with pytest.raises(ChildNotFound):
            await supervisor.get_childspec(unknown)
    await stop(supervisor)


@pytest.mark.parametrize(
    ("restart", "reason", "comes_back"),
    [
        ("permanent", "normal", True),
        ("permanent", "boom", True),
        ("transient", "shutdown", False),
        ("transient", "boom", True),
        ("temporary", "boom", False),
    ],
)
async def test_ends(restart, reason, comes_back) -> None:
    nursery = Nursery()
    supervisor = await DynamicSupervisor.start_link()
    first = await supervisor.start_child(nursery.kid("a", restart=restart))

    await nursery.end("a", reason)

    await settled(supervisor, lambda refs: refs == [nursery.refs["a"]] if comes_back else not refs)
    assert (nursery.refs["a"] is not first) is comes_back
    await stop(supervisor)


async def test_start_failures_leave_nothing_behind() -> None:
    nursery = Nursery(i=[IGNORE], f=[NOPE], r=[ValueError("oops")])
    named = ChildSpec("n", lambda: Kid.start_link(nursery, "n", name="taken"))
    supervisor = await DynamicSupervisor.start_link()
    taken = await supervisor.start_child(named)

    with pytest.raises(StartIgnored):
        await supervisor.start_child(nursery.kid("i"))
    with pytest.raises(StartFailed) as failed:
        await supervisor.start_child(nursery.kid("f"))
    assert (failed.value.reason, failed.value.child) == (Custom("nope"), None)
    with pytest.raises(StartFailed) as raised:
        await supervisor.start_child(nursery.kid("r"))
    assert raised.value.reason == Error(ValueError("oops"))
    with pytest.raises(AlreadyStarted) as started:
        await supervisor.start_child(named)
    assert started.value.ref is taken
    for wrong in ((), (nursery.kid("a"), 5), (5,)):
        with pytest.raises(SpecError):
            await supervisor.start_child(*wrong)
    with pytest.raises(SpecError, match="never shuts itself down"):
        await supervisor.start_child(nursery.kid("s", restart="transient", significant=True))

    assert await refs(supervisor) == [taken]
    await stop(supervisor)


async def test_max_children() -> None:
    nursery = Nursery()
    supervisor = await DynamicSupervisor.start_link(max_children=1)
    a = await supervisor.start_child(nursery.kid("a"))

    with pytest.raises(MaxChildren, match="its 1 children already"):
        await supervisor.start_child(nursery.kid("b"))
    await supervisor.terminate_child(a)
    await supervisor.start_child(nursery.kid("b"))

    await stop(supervisor)


async def test_arguments() -> None:
    nursery = Nursery()
    supervisor = await DynamicSupervisor.start_link(extra_arguments=("extra", 1))
    await supervisor.start_child(nursery.kid("a"))
    await nursery.end("a")
    await settled(supervisor, lambda refs: refs == [nursery.refs["a"]])
    assert nursery.args["a"] == ("extra", 1)
    await stop(supervisor)


async def test_a_template(reports) -> None:
    nursery = Nursery()
    template = ChildSpec("kid", nursery.start, args=("before",))
    supervisor = await DynamicSupervisor.start_link(template=template, extra_arguments=("extra",))
    a = await supervisor.start_child("a")
    b = await supervisor.start_child("b")
    assert nursery.args == {"a": ("extra", "before"), "b": ("extra", "before")}
    await nursery.end("a")
    await settled(supervisor, lambda refs: refs == [b, nursery.refs["a"]])

    assert await supervisor.count_children() == Count(1, 2, 0, 2)
    assert [r.child_id for r in reports if r.event == "supervisor"] == ["kid"]
    assert await supervisor.get_childspec("kid") is template
    assert await supervisor.get_childspec(b) is template
    assert await supervisor.terminate_child(a) is None  # it is dead, as was asked for
    with pytest.raises(ChildNotFound):
        await supervisor.terminate_child(supervisor)
    with pytest.raises(SpecError) as refused:
        await supervisor.terminate_child("a")
    assert refused.value.term == "simple_one_for_one"
    await stop(supervisor)


async def test_a_child_of_a_template_may_choose_not_to_run() -> None:
    nursery = Nursery(i=[IGNORE])
    supervisor = await DynamicSupervisor.start_link(template={"id": "k", "start": nursery.start})

    assert await supervisor.start_child("i") is None
    assert await refs(supervisor) == []
    await stop(supervisor)


async def test_a_significant_template_shuts_the_supervisor_down() -> None:
    nursery = Nursery()
    template = ChildSpec("k", nursery.start, "transient", significant=True)
    supervisor = await DynamicSupervisor.start_link(
        template=[template], auto_shutdown="all_significant"
    )
    ended = when_down(supervisor)
    for name in "ab":
        await supervisor.start_child(name)
    await nursery.end("a", "normal")
    assert len(await refs(supervisor)) == 1

    await nursery.end("b", "normal")

    assert await ended == SHUTDOWN


WRONG = [
    ({"max_children": -1}, ("supervisor_data", ("invalid_max_children", -1))),
    ({"max_children": True}, ("supervisor_data", ("invalid_max_children", True))),
    ({"extra_arguments": 5}, ("supervisor_data", ("invalid_extra_arguments", 5))),
    ({"extra_arguments": "x"}, ("supervisor_data", ("invalid_extra_arguments", "x"))),
    ({"max_seconds": 0}, ("supervisor_data", ("invalid_period", 0))),
    ({"template": []}, ("bad_start_spec", [])),
    ({"template": [Kid, Kid]}, ("bad_start_spec", [Kid, Kid])),
    ({"template": 5}, ("start_spec", ("invalid_child_spec", 5))),
]


@pytest.mark.parametrize(("flags", "term"), WRONG)
async def test_wrong_flags(flags, term) -> None:
    with pytest.raises(StartFailed) as failed:
        await DynamicSupervisor.start_link(**flags)

    assert failed.value.reason == Custom(term)


async def test_too_many_restarts_end_the_supervisor(reports) -> None:
    nursery = Nursery(a=["ok", NOPE])
    supervisor = await DynamicSupervisor.start_link(max_restarts=2)
    ended = when_down(supervisor)
    first = await supervisor.start_child(nursery.kid("a"))
    await supervisor.start_child(nursery.kid("b"))

    await nursery.end("a")

    assert await ended == SHUTDOWN
    assert nursery.take()[-1] == "-b shutdown"
    assert [(r.context, r.child_ref) for r in reports if r.event == "supervisor"] == [
        ("child_terminated", first),
        ("start_error", ("restarting", first)),
        ("start_error", ("restarting", first)),
        ("shutdown", first),
    ]


async def test_children_stop_all_at_once_each_within_its_time(reports) -> None:
    nursery = Nursery()
    gate = anyio.Event()
    nursery.gates = dict.fromkeys("abc", gate) | {"slow": anyio.Event(), "brutal": anyio.Event()}
    supervisor = await DynamicSupervisor.start_link()
    for name in "abc":
        await supervisor.start_child(nursery.kid(name))
    await supervisor.start_child(nursery.kid("slow", shutdown=0.05))
    await supervisor.start_child(nursery.kid("brutal", shutdown=BRUTAL_KILL))
    ends = {name: when_down(ref) for name, ref in nursery.refs.items()}
    nursery.take()

    stopped = stop(supervisor)
    assert await ends["slow"] == KILLED
    assert sorted(nursery.take()) == ["~a", "~b", "~c", "~slow"]
    gate.set()
    await stopped

    assert sorted(nursery.take()) == ["-a shutdown", "-b shutdown", "-c shutdown"]
    assert [await ends[name] for name in ("a", "brutal")] == [SHUTDOWN, KILLED]
    [report] = [r for r in reports if r.event == "supervisor"]
    assert (report.context, report.child_ref, report.reason) == (
        "shutdown_error",
        nursery.refs["slow"],
        KILLED,
    )


async def test_children_of_a_template_are_reported_together(reports) -> None:
    nursery = Nursery()
    nursery.gates = {name: anyio.Event() for name in "abc"}
    template = ChildSpec("kid", nursery.start, shutdown=0.02)
    supervisor = await DynamicSupervisor.start_link(template=template)
    for name in "abcd":
        await supervisor.start_child(name)

    await stop(supervisor)

    [report] = [r for r in reports if r.event == "supervisor"]
    assert (report.context, report.child_id, report.child_ref, report.reason) == (
        "shutdown_error",
        "kid",
        None,
        KILLED,
    )


async def test_children_that_are_dead_already_are_looked_at_when_it_stops(reports) -> None:
    nursery = Nursery()
    supervisor = await DynamicSupervisor.start_link()
    for name in "ab":
        await supervisor.start_child(nursery.kid(name))
    await supervisors.suspend(supervisor)
    await nursery.end("a")
    await nursery.end("b", "normal")

    await stop(supervisor)

    assert [(r.context, str(r.reason)) for r in reports if r.event == "supervisor"] == [
        ("shutdown_error", "boom"),
        ("shutdown_error", "normal"),
    ]


async def test_restarted_by_its_parent_it_is_empty() -> None:
    nursery = Nursery()
    outer = await Supervisor.start_link([DynamicSupervisor.child_spec(id="d")])
    [child] = await outer.which_children()
    await child.ref.start_child(nursery.kid("a"))

    exit(child.ref, "kill")
    await until(outer, lambda children: children["d"] not in (child.ref, "restarting", None))

    [again] = await outer.which_children()
    assert await again.ref.which_children() == []
    await stop(outer)


async def test_a_subclass_and_its_state() -> None:
    class Pool(DynamicSupervisor):
        def init(self, size):
            return self.tree(max_children=size)

    supervisor = await Pool.start_link(1, name="pool")
    await supervisor.start_child(GenServer.child_spec())

    assert supervisors.whereis("pool") is supervisor
    assert [child.id for child in (await supervisors.tree(supervisor)).children] == [None]
    assert supervisor.process.actor.format_status() == {
        "children": await supervisor.which_children()
    }
    with pytest.raises(MaxChildren):
        await supervisor.start_child(GenServer.child_spec())
    await stop(supervisor)


async def test_a_child_waiting_for_its_restart_can_be_terminated() -> None:
    nursery = Nursery()
    supervisor = await DynamicSupervisor.start_link()
    spec = nursery.kid("a", restart_delay=Backoff(60.0, 60.0))
    first = await supervisor.start_child(spec)
    await nursery.end("a")
    assert await refs(supervisor) == ["restarting"]
    assert await supervisor.count_children() == Count(1, 0, 0, 1)

    await supervisor.terminate_child(first)

    assert await refs(supervisor) == []
    assert await stop(supervisor) is None


async def test_pykkas_own_actors_can_be_supervised() -> None:
    class Threaded(pykka.ThreadingActor):
        pass

    supervisor = await DynamicSupervisor.start_link()
    ref = await supervisor.start_child(ChildSpec("t", Threaded.start))
    assert await supervisor.count_children() == Count(1, 1, 0, 1)

    await supervisor.terminate_child(ref)

    assert ref.actor_stopped.wait(5)
    assert await refs(supervisor) == []
    await stop(supervisor)


async def test_ten_thousand_children_stop_within_a_second_of_work() -> None:
    class Quiet(GenServer):
        trap_exit = True

    supervisor = await DynamicSupervisor.start_link(template=Quiet)
    starts = [supervisor.start_child() for _ in range(10_000)]
    for start in starts:
        await start

    before = time.thread_time()
    await stop(supervisor)

    assert time.thread_time() - before < 1.0


async def test_its_end_is_told_to_its_parent() -> None:
    supervisor = await DynamicSupervisor.start_link()
    await stop(supervisor)

    message = await supervisors.receive(supervisors.Exit, timeout=5)

    assert (message.process, message.reason) == (supervisor, NORMAL)
