"""Groups: processes that come and go together, watched and published to; as OTP's pg."""

from __future__ import annotations

import threading

import anyio
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    KILL,
    Down,
    NoProcess,
    exit,
    groups,
    mailbox,
    monitor,
    receive,
    self_,
    spawn,
    when_down,
)
from supervisors.behaviours.groups import GroupEvent, NotJoined


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield
    assert groups.which_groups() == []


async def wait_for_ever():
    await receive(lambda _: False)


def get(future):
    return future.get(timeout=PATIENCE)


def end(*refs):
    for ref in refs:
        down = when_down(ref)
        exit(ref, KILL)
        get(down)


def test_members_come_as_often_as_they_joined_and_leave_as_often(node) -> None:
    """[probe:pg]"""
    a, b = spawn(wait_for_ever), spawn(wait_for_ever)
    for ref in (a, b, a, a):
        groups.join("g", ref)
    assert groups.members("g") == [a, b, a, a]
    groups.leave("g", a)
    assert sorted(groups.members("g"), key=id) == sorted([a, b, a], key=id)
    groups.leave("g", a)
    groups.leave("g", a)
    with pytest.raises(NotJoined):
        groups.leave("g", a)

    assert groups.members("g") == [b]
    end(a, b)


def test_death_ends_all_memberships_and_an_empty_group_vanishes(node) -> None:
    """[probe:pg] members_after_death, groups_left"""
    a, b = spawn(wait_for_ever), spawn(wait_for_ever)
    for group, ref in (("g", a), ("g", a), ("h", a), ("g", b)):
        groups.join(group, ref)
    assert sorted(groups.which_groups()) == ["g", "h"]
    end(a)
    assert (groups.members("g"), groups.which_groups()) == ([b], ["g"])
    end(b)
    assert (groups.members("g"), groups.which_groups()) == ([], [])


def test_memberships_are_gone_before_anybody_is_told_of_the_end(node) -> None:
    async def body():
        for _ in range(20):
            ref = spawn(wait_for_ever)
            groups.join("g", ref)
            monitor(ref)
            exit(ref, KILL)
            await receive(Down, timeout=PATIENCE)
            assert groups.members("g") == []
        return "gone"

    assert inside(node, body) == "gone"


@pytest.mark.parametrize("group", ["?", None, 0, ("a", 1)])
def test_leaving_a_group_one_is_not_in_is_an_error(node, group) -> None:
    """[probe:pg] leave_again, leave_unknown_group: not_joined"""
    a = spawn(wait_for_ever)
    with pytest.raises(NotJoined) as raised:
        groups.leave(group, a)

    assert repr(group) in str(raised.value)
    end(a)


def test_a_watcher_is_told_who_joins_and_leaves(node) -> None:
    """[probe:pg] monitor gives {Ref, join|leave, Group, Pids}"""

    async def body():
        a, b = spawn(wait_for_ever), spawn(wait_for_ever)
        groups.join("g", a)
        ticket, there = groups.watch("g")
        groups.join("g", b)
        groups.join("g", b)
        groups.leave("g", b)
        groups.join("other", a)
        exit(a, KILL)
        await when_down(a)
        exit(b, KILL)
        await when_down(b)
        groups.unwatch(ticket)
        groups.unwatch(ticket)
        groups.join("g")
        groups.leave("g")
        return there == [a], mailbox() == [
            GroupEvent(ticket, "join", "g", (b,)),
            GroupEvent(ticket, "join", "g", (b,)),
            GroupEvent(ticket, "leave", "g", (b,)),
            GroupEvent(ticket, "leave", "g", (a,)),
            GroupEvent(ticket, "leave", "g", (b,)),
        ]

    assert inside(node, body) == (True, True)


def test_a_death_with_two_memberships_is_one_leave_of_both(node) -> None:
    """[probe:pg] leave_msg_at_death: one message; Pids has it as often as it had joined."""

    async def body():
        a = spawn(wait_for_ever)
        ticket, _ = groups.watch("g")
        groups.join("g", a)
        groups.join("g", a)
        exit(a, KILL)
        await when_down(a)
        leaves = [m for m in mailbox() if m.what == "leave"]
        groups.unwatch(ticket)
        return [m.members for m in leaves] in ([(a, a)], [(a,)])

    assert inside(node, body)


def test_two_watches_are_told_each(node) -> None:
    async def body():
        first, _ = groups.watch("g")
        second, there = groups.watch("g")
        groups.join("g")
        groups.leave("g")
        found = [(m.watch, m.what) for m in mailbox()]
        return there, sorted(found, key=str) == sorted(
            [(first, "join"), (second, "join"), (first, "leave"), (second, "leave")], key=str
        )

    assert inside(node, body) == ([], True)


def test_the_watches_of_a_process_end_with_it(node) -> None:
    async def watch():
        groups.watch("g")

    get(when_down(spawn(watch)))
    a = spawn(wait_for_ever)
    groups.join("g", a)

    assert groups.members("g") == [a]
    end(a)


def test_publish_sends_to_every_member_once(node) -> None:
    async def body():
        got: list[object] = []
        ready: supervisors.Future[None] = supervisors.Future()

        async def member(n):
            groups.join("g")
            groups.join("g")
            if n == 2:
                ready.set(None)
            got.append((n, await receive()))
            got.append((n, mailbox()))

        refs = [spawn(member, n) for n in range(3)]
        await ready
        said = groups.publish("g", "news")
        for ref in refs:
            await when_down(ref)
        return said, sorted(got, key=str), groups.publish("g", "nobody hears")

    said, got, nobody = inside(node, body)

    assert (said, nobody) == (3, 0)
    assert got == sorted([(n, what) for n in range(3) for what in ("news", [])], key=str)


def test_the_calling_process_joins_by_default(node) -> None:
    def body():
        groups.join("g")
        found = groups.members("g") == [self_()]
        groups.leave("g")
        return found, groups.members("g")

    assert inside(node, body) == (True, [])


def test_an_ended_process_cannot_join(node) -> None:
    a = spawn(lambda: None)
    get(when_down(a))
    with pytest.raises(NoProcess):
        groups.join("g", a)

    assert groups.which_groups() == []


def test_groups_are_of_the_program_not_of_a_node(backend) -> None:
    with supervisors.Node() as one, supervisors.Node(backend=backend) as two:
        a, b = spawn(wait_for_ever, node=one), spawn(wait_for_ever, node=two)
        groups.join("g", a)
        groups.join("g", b)
        assert groups.members("g") == [a, b]
        assert groups.publish("g", "x") == 2
        two.stop()
        assert groups.members("g") == [a]
    assert groups.members("g") == []


def test_a_watcher_hears_of_members_on_another_node(backend) -> None:
    with supervisors.Node() as one, supervisors.Node(backend=backend) as two:

        async def body():
            ticket, _ = groups.watch("g")
            ref = spawn(wait_for_ever, node=two)
            groups.join("g", ref)
            exit(ref, KILL)
            got = [await receive(GroupEvent, timeout=PATIENCE) for _ in range(2)]
            groups.unwatch(ticket)
            return [(m.what, m.members) for m in got] == [("join", (ref,)), ("leave", (ref,))]

        assert inside(one, body)


def test_tasks_and_threads_are_members(node) -> None:
    def run():
        groups.join("g")
        ends.append(when_down(self_()))
        joined.set()

    ends: list[supervisors.Future[object]] = []
    joined = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    assert joined.wait(PATIENCE)
    thread.join()
    get(ends[0])

    assert groups.members("g") == []


async def test_a_task_of_a_loop_is_a_member_until_its_end(inner_node) -> None:
    async def task(*, task_status):
        groups.join("g")
        task_status.started(self_())
        got.append(await receive())

    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        assert groups.members("g") == [ref]
        down = when_down(ref)
        groups.publish("g", "hi")
        await within(down)

    assert (got, groups.members("g")) == (["hi"], [])


def test_many_join_and_leave_at_once(node) -> None:
    line = threading.Barrier(5)

    def run():
        refs = [spawn(wait_for_ever) for _ in range(10)]
        line.wait()
        for ref in refs:
            groups.join("g", ref)
        for ref in refs[::2]:
            groups.leave("g", ref)
        kept.append(refs)

    kept: list[list[supervisors.Ref]] = []
    with supervisors.Node():
        threads = [threading.Thread(target=run) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(groups.members("g")) == 25
        end(*(ref for refs in kept for ref in refs))
    assert groups.members("g") == []


@pytest.mark.parametrize("group", [[], {}])
def test_a_group_that_cannot_be_hashed_is_refused(node, group) -> None:
    a = spawn(wait_for_ever)
    for use in (
        lambda: groups.join(group, a),
        lambda: groups.leave(group, a),
        lambda: groups.watch(group),
    ):
        with pytest.raises(TypeError):
            use()
    end(a)
