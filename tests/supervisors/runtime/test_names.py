"""Names: one process has one name, free again before anybody is told of its end."""

from __future__ import annotations

import threading

import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    KILL,
    Actor,
    Down,
    NameTaken,
    NoProcess,
    NoSuchName,
    exit,
    is_alive,
    monitor,
    receive,
    register,
    self_,
    send,
    spawn,
    unregister,
    when_down,
    whereis,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


async def wait_for_ever():
    await receive(lambda _: False)


def named(name):
    """A process that has its name when this returns."""
    ref = spawn(wait_for_ever)
    register(name, ref)
    return ref


class Keeps(supervisors.GenServer):
    def init(self, value=None):
        self.value = value

    def handle_call(self, request, caller):
        return (self.value, request)

    def handle_cast(self, request):
        self.value = request


def test_a_registered_process_is_found_and_reached_by_name(node) -> None:
    ref = Keeps.start_unlinked(1, name="svc").get(timeout=PATIENCE)

    assert (whereis("svc"), ref.name, is_alive("svc")) == (ref, "svc", True)
    supervisors.cast("svc", 2)
    assert supervisors.call("svc", "get").get(timeout=PATIENCE) == (2, "get")
    supervisors.stop("svc").get(timeout=PATIENCE)
    assert (whereis("svc"), is_alive("svc")) == (None, False)


def test_an_unknown_name(node) -> None:
    """[p_send_to_dead] [c_unknown_name] [probe:genserver_call_exits] cast is silent."""
    assert (whereis("nobody"), is_alive("nobody")) == (None, False)
    with pytest.raises(NoSuchName, match="'nobody'"):
        send("nobody", "hi")
    supervisors.cast("nobody", "hi")
    with pytest.raises(NoProcess, match="'nobody'"):
        supervisors.call("nobody", "hi").get(timeout=PATIENCE)
    with pytest.raises(NoProcess):
        supervisors.stop("nobody").get(timeout=PATIENCE)
    unregister("nobody")


def test_a_name_belongs_to_one_living_process(node) -> None:
    """[probe:unregister_on_exit]"""
    first, second = named("svc"), spawn(wait_for_ever)
    with pytest.raises(NameTaken, match="'svc'") as taken:
        register("svc", second)
    assert (taken.value.name, taken.value.ref) == ("svc", first)
    with pytest.raises(NameTaken):
        register("svc", first)


def test_a_process_has_one_name(node) -> None:
    """[probe:unregister_on_exit]"""
    ref = named("svc")
    with pytest.raises(NameTaken):
        register("other", ref)

    assert (whereis("other"), ref.name) == (None, "svc")


def test_a_name_is_free_when_its_down_arrives(node) -> None:
    """[probe:unregister_on_exit]"""

    async def body():
        for _ in range(20):
            ref = spawn(wait_for_ever, name="svc")
            monitor(ref)
            exit(ref, KILL)
            await receive(Down, timeout=PATIENCE)
            assert whereis("svc") is None
            register("svc")
            unregister("svc")
        return "free"

    assert inside(node, body) == "free"


def test_a_name_that_was_given_back_is_free(node) -> None:
    first, second = named("svc"), spawn(wait_for_ever)
    unregister("svc")
    assert (whereis("svc"), first.name) == (None, None)
    register("svc", second)
    register("other", first)

    assert (whereis("svc"), whereis("other")) == (second, first)
    exit(first, KILL)
    when_down(first).get(timeout=PATIENCE)
    assert (whereis("svc"), whereis("other")) == (second, None)


def test_an_end_does_not_free_the_name_of_a_successor(node) -> None:
    async def body():
        old = spawn(wait_for_ever, name="svc")
        unregister("svc")
        new = spawn(wait_for_ever, name="svc")
        exit(old, KILL)
        await when_down(old)
        return whereis("svc") is new

    assert inside(node, body)


def test_an_ended_process_gets_no_name(node) -> None:
    ref = spawn(lambda: None)
    when_down(ref).get(timeout=PATIENCE)
    with pytest.raises(NoProcess):
        register("svc", ref)

    assert whereis("svc") is None


def test_the_calling_process_names_itself(node) -> None:
    def body():
        register("me")
        return whereis("me") is self_()

    assert inside(node, body)
    assert whereis("me") is None


def test_a_spawned_process_has_its_name_when_spawn_returns(node) -> None:
    for n in range(100):
        ref = spawn(wait_for_ever, name=f"svc{n}")

        assert whereis(f"svc{n}") is ref


def test_spawn_under_a_taken_name_fails_at_the_call(node) -> None:
    first = named("svc")
    with pytest.raises(NameTaken) as taken:
        spawn(wait_for_ever, name="svc")
    with pytest.raises(NameTaken):
        inside(node, lambda: spawn(wait_for_ever, name="svc") and None)

    assert (taken.value.ref, whereis("svc")) == (first, first)


def test_a_server_under_a_taken_name_says_who_has_it(node) -> None:
    """[g_start_link_*] already_started, init not run."""
    ran: list[str] = []

    class Second(Keeps):
        def init(self):
            ran.append("init")

    first = Keeps.start_unlinked(name="svc").get(timeout=PATIENCE)
    for start in (Second.start_unlinked, Second.start_link):
        with pytest.raises(supervisors.AlreadyStarted) as already:
            start(name="svc").get(timeout=PATIENCE)
        assert already.value.ref is first
    assert (ran, whereis("svc")) == ([], first)


def test_a_name_is_registered_before_init_runs(node) -> None:
    """[g_name_gone_while_restarting] a call by name during a slow init waits and is served."""
    begun, go = threading.Event(), supervisors.Future()

    class Slow(Keeps):
        async def init(self, value):
            begun.set()
            self.value = await go

    started = Slow.start_unlinked(None, name="slow")
    assert begun.wait(PATIENCE)
    call = supervisors.call("slow", "get")
    assert (whereis("slow") is not None, call.done()) == (True, False)
    go.set("ready")

    assert call.get(timeout=PATIENCE) == ("ready", "get")
    assert started.get(timeout=PATIENCE) is whereis("slow")


def test_the_name_of_a_failed_start_is_free_again(node) -> None:
    class Fails(Keeps):
        def init(self):
            raise ValueError("oops")

    for _ in range(5):
        with pytest.raises(supervisors.StartFailed):
            Fails.start_unlinked(name="svc").get(timeout=PATIENCE)
        assert whereis("svc") is None


def test_names_are_those_of_a_node(backend) -> None:
    with supervisors.Node(backend=backend) as one:
        first = named("svc")
        with supervisors.Node() as two:
            second = named("svc")
            assert (whereis("svc"), first.node, second.node) == (second, one, two)
        assert whereis("svc") is first


def test_a_node_that_stopped_has_no_names(backend) -> None:
    with supervisors.Node(backend=backend):
        ref = named("svc")
    assert (whereis("svc"), is_alive("svc"), is_alive(ref)) == (None, False, False)


def test_many_threads_race_for_a_name_and_one_gets_it(node) -> None:
    for _ in range(10):
        refs = [spawn(wait_for_ever) for _ in range(8)]
        line = threading.Barrier(8)
        got: list[object] = []

        def race(ref, line=line, got=got):
            line.wait()
            try:
                inside(node, register, "svc", ref)
            except NameTaken as error:
                got.append(error.ref)
            else:
                got.append(None)

        threads = [threading.Thread(target=race, args=(ref,)) for ref in refs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        owner = whereis("svc")
        assert (got.count(None), set(got) - {None}) == (1, {owner})
        unregister("svc")


def test_register_in_threads_is_safe_too(node) -> None:
    """From a thread that entered the node; other threads say whom they mean by ref."""
    ref = spawn(wait_for_ever)
    register("svc", ref)

    assert (whereis("svc"), ref.name) == (ref, "svc")
    unregister("svc")
    assert ref.name is None


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 1_000])
def test_any_text_is_a_name(node, name) -> None:
    ref = spawn(wait_for_ever)
    register(name, ref)

    assert (whereis(name), ref.name) == (ref, name)


def test_a_pykka_style_actor_may_be_named(node) -> None:
    class Echo(Actor):
        def on_receive(self, message):
            return message

    ref = Echo.start()
    register("echo", ref)
    assert whereis("echo") is ref
    ref.stop(timeout=PATIENCE)

    assert whereis("echo") is None
