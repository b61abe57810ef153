"""Registry: keys of processes, unique or not, cleaned up before their end is told; as in Elixir."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    KILL,
    KILLED,
    AlreadyStarted,
    Down,
    GenServer,
    NameTaken,
    NoProcess,
    NoSuchName,
    Registry,
    SpecError,
    call,
    cast,
    exit,
    info,
    is_alive,
    mailbox,
    monitor,
    receive,
    register,
    self_,
    send,
    spawn,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


def get(future):
    return future.get(timeout=PATIENCE)


def registry(keys="unique", **options):
    return get(Registry.start_unlinked(keys=keys, **options))


def owner_of(reg, *entries):
    """A process that registered (key, value) entries and lives on."""
    ready: supervisors.Future[None] = supervisors.Future()

    async def own():
        for key, value in entries:
            reg.register(key, value)
        ready.set(None)
        while True:
            (await receive(callable))()

    ref = spawn(own)
    get(ready)
    return ref


def do(ref, deed):
    """Let an owner do a deed; returns or raises what it does."""
    done: supervisors.Future[object] = supervisors.Future()

    def run():
        try:
            done.set(deed())
        except Exception as error:
            done.set_exception(error)

    ref.send(run)
    return get(done)


class Server(GenServer):
    def init(self, value=None):
        self.value = value

    def handle_call(self, request, caller):
        return (self.value, request)

    def handle_cast(self, request):
        self.value = request


# --- unique keys


def test_a_unique_key_has_one_owner(node) -> None:
    """[probe:reg_unique]"""
    reg = registry()
    one, two = owner_of(reg), owner_of(reg)
    do(one, lambda: reg.register("k", 1))
    with pytest.raises(NameTaken) as other:
        do(two, lambda: reg.register("k", 2))
    with pytest.raises(NameTaken) as again:
        do(one, lambda: reg.register("k", 3))
    do(one, lambda: reg.register("k2", None))

    assert (other.value.ref, again.value.ref) == (one, one)
    assert (reg.lookup("k"), reg.keys(one), reg.count()) == ([(one, 1)], ["k", "k2"], 2)
    assert (reg.whereis("k"), reg.whereis("?"), reg.lookup("?")) == (one, None, [])


def test_the_keys_of_a_dead_owner_are_free_at_once(node) -> None:
    """[probe:reg_cleanup_on_death] stronger than Elixir: gone before anybody is told."""
    reg = registry()

    async def body():
        for n in range(20):
            ref = spawn(own, n)
            await receive("ready".__eq__, timeout=PATIENCE)
            monitor(ref)
            exit(ref, KILL)
            await receive(Down, timeout=PATIENCE)
            assert (reg.lookup("k"), reg.whereis("k")) == ([], None)
            assert (reg.keys(ref), reg.count()) == ([], 0)
        return "free"

    async def own(n):
        reg.register("k", n)
        send(me[0], "ready")
        await receive(lambda _: False)

    me: list[supervisors.Ref] = []

    async def run():
        me.append(self_())
        return await body()

    assert inside(node, run) == "free"


def test_a_new_owner_s_entry_survives_the_cleanup_of_the_old_one_s(node) -> None:
    """[probe:reg_cleanup_on_death] new_owner_kept_after_cleanup"""
    reg = registry()
    old = owner_of(reg, ("k", 1))
    new = owner_of(reg)
    exit(old, KILL)
    get(when_down(old))
    do(new, lambda: reg.register("k", 2))
    get(supervisors.get_state(reg))

    assert reg.lookup("k") == [(new, 2)]


# --- via


def test_a_server_is_started_under_a_key(node) -> None:
    """[probe:reg_via]"""
    reg = registry()
    svc = reg.via("svc")
    ref = get(Server.start_unlinked("x", name=svc))
    with pytest.raises(AlreadyStarted) as already:
        get(Server.start_unlinked(name=svc))

    assert already.value.ref is ref
    assert (get(call(svc, "get")), reg.whereis("svc")) == (("x", "get"), ref)
    cast(svc, "y")
    assert get(call(svc, "get")) == ("y", "get")
    assert (is_alive(svc), info(svc).ref) == (True, ref)
    get(supervisors.stop(svc))
    assert (reg.whereis("svc"), is_alive(svc)) == (None, False)


def test_an_unknown_key(node) -> None:
    """[probe:reg_via]"""
    reg = registry()
    with pytest.raises(NoProcess):
        get(call(reg.via("?"), "get"))
    with pytest.raises(NoSuchName):
        send(reg.via("?"), "x")
    with pytest.raises(NoSuchName):
        reg.send_to("?", "x")
    cast(reg.via("?"), "x")


def test_a_message_to_a_key(node) -> None:
    reg = registry()
    got: supervisors.Future[object] = supervisors.Future()

    async def own():
        reg.register("k")
        ready.set(None)
        got.set([await receive(), await receive()])

    ready: supervisors.Future[None] = supervisors.Future()
    spawn(own)
    get(ready)
    reg.send_to("k", 1)
    send(reg.via("k"), 2)

    assert get(got) == [1, 2]


def test_a_key_may_be_watched_linked_and_ended(node) -> None:
    reg = registry()
    ref = owner_of(reg, ("k", None))

    async def body():
        watch = monitor(reg.via("k"))
        unknown = monitor(reg.via("?"))
        first = await receive(Down, timeout=PATIENCE)
        exit(reg.via("k"), "boom")
        second = await receive(Down, timeout=PATIENCE)
        return first.monitor is unknown, first.reason, second.monitor is watch, str(second.reason)

    assert inside(node, body) == (True, supervisors.NOPROC, True, "boom")
    assert not is_alive(ref)


def test_the_key_of_a_server_that_failed_to_start_is_free(node) -> None:
    reg = registry()

    class Fails(Server):
        def init(self):
            raise ValueError("oops")

    for _ in range(3):
        with pytest.raises(supervisors.StartFailed):
            get(Fails.start_unlinked(name=reg.via("svc")))
        assert reg.whereis("svc") is None


def test_a_restarted_child_is_never_kept_from_its_key(node) -> None:
    """[probe:reg_restart_race] killed and restarted 100 times."""
    reg = registry()
    starts: list[int] = []

    class Named(Server):
        def init(self):
            starts.append(1)

    async def body():
        sup = await supervisors.Supervisor.start_link(
            [Named.child_spec(id="svc", name=reg.via("svc"))],
            strategy="one_for_one",
            max_restarts=1_000,
        )
        for _ in range(100):
            ref = reg.whereis("svc")
            monitor(ref)
            exit(ref, KILL)
            await receive(Down, timeout=PATIENCE)
            assert len(await sup.which_children()) == 1
            assert reg.whereis("svc") not in (None, ref)
        return len(starts)

    assert inside(node, body, trap_exit=True) == 101


# --- duplicate keys


def test_a_duplicate_key_has_many_entries(node) -> None:
    """[probe:reg_duplicate]"""
    reg = registry("duplicate")
    one = owner_of(reg, ("k", 1), ("k", 2))
    two = owner_of(reg, ("k", 3))
    entries: list[object] = []
    empty: list[object] = []
    assert reg.dispatch("k", entries.extend) is None
    assert reg.dispatch("?", empty.append) is None

    assert [value for _, value in reg.lookup("k")] == [1, 2, 3]
    assert (entries, empty) == ([(one, 1), (one, 2), (two, 3)], [])
    do(one, lambda: reg.unregister("k"))
    assert reg.lookup("k") == [(two, 3)]
    exit(two, KILL)
    get(when_down(two))
    assert (reg.lookup("k"), reg.keys(two)) == ([], [])


def test_dispatch_runs_in_the_caller_and_raises_there(node) -> None:
    """[probe:reg_dispatch_raises]"""
    reg = registry("duplicate")
    owner_of(reg, ("k", 1))
    where: list[object] = []

    def function(_entries):
        where.append((self_(), threading.get_ident()))
        raise RuntimeError("x")

    with pytest.raises(RuntimeError, match="x"):
        reg.dispatch("k", function)
    assert where == [(self_(), threading.get_ident())]
    assert is_alive(reg)


def test_a_dispatch_may_change_the_registry(node) -> None:
    reg = registry("duplicate")
    owner_of(reg, ("k", 1), ("k", 2))
    reg.dispatch("k", lambda entries: [reg.register("k", value) for _, value in entries])

    assert len(reg.lookup("k")) == 4
    reg.unregister("k")


# --- values


def test_the_owner_alone_updates_its_value(node) -> None:
    """[probe:reg_update_match]"""
    reg = registry()
    one, two = owner_of(reg, ("k", 1)), owner_of(reg)

    assert do(one, lambda: reg.update_value("k", lambda value: value + 1)) == (2, 1)
    assert do(two, lambda: reg.update_value("k", lambda value: value + 1)) is None
    assert do(one, lambda: reg.update_value("?", lambda value: value)) is None
    assert reg.lookup("k") == [(one, 2)]
    with pytest.raises(ZeroDivisionError):
        do(one, lambda: reg.update_value("k", lambda _: 1 / 0))
    assert reg.lookup("k") == [(one, 2)]


def test_a_duplicate_key_has_no_value_to_update(node) -> None:
    """[probe:reg_update_match] duplicate_update"""
    reg = registry("duplicate")
    with pytest.raises(SpecError, match="unique"):
        reg.update_value("k", lambda value: value)


def test_entries_are_taken_out_by_value(node) -> None:
    """[probe:reg_update_match]"""
    reg = registry()
    one = owner_of(reg, ("k", 1))
    do(one, lambda: reg.unregister_match("k", 2))
    assert reg.count() == 1
    do(one, lambda: reg.unregister_match("k", 1))
    assert reg.count() == 0


def test_entries_are_found_by_what_their_value_matches(node) -> None:
    """[probe:reg_update_match] match, count_match, select"""
    reg = registry("duplicate")
    one = owner_of(reg, ("k", 1), ("k", 5), ("j", 9))

    assert reg.match("k", lambda value: value > 2) == [(one, 5)]
    assert reg.match("?", lambda _: True) == []
    assert sorted(reg.select(), key=str) == sorted(
        [("k", one, 1), ("k", one, 5), ("j", one, 9)], key=str
    )


def test_unregister_takes_out_one_s_own_entries_only(node) -> None:
    """[probe:reg_unlink_after_unregister] an unknown key is no error"""
    reg = registry()
    one = owner_of(reg, ("k", 1))
    reg.unregister("k")
    reg.unregister("?")
    reg.unregister_match("k", 1)

    assert reg.lookup("k") == [(one, 1)]


def test_meta_is_kept_with_the_registry(node) -> None:
    """[probe:reg_update_match] meta, no_meta"""
    reg = registry()
    reg.put_meta("a", 7)

    assert (reg.meta("a"), reg.meta("?"), reg.meta("?", 1)) == (7, None, 1)


# --- listeners


def test_listeners_hear_of_entries_but_of_no_death(node) -> None:
    """[probe:reg_listeners]"""

    async def body():
        register("listener")
        reg = await Registry.start_link(name="reg", keys="unique", listeners=["listener", "nobody"])
        reg.register("k", 1)
        reg.unregister("k")
        me = self_()
        other = spawn(reg_register, reg)
        await when_down(other)
        return mailbox(), me, other, reg

    def reg_register(reg):
        reg.register("k2", 1)

    found, me, other, reg = inside(node, body)
    flat = [tuple(message) for message in found]

    assert flat == [
        ("register", flat[0][1], "k", me, 1),
        ("unregister", flat[0][1], "k", me),
        ("register", flat[0][1], "k2", other, 1),
    ]
    assert flat[0][1] in ("reg", reg)


# --- links and ends


def test_a_registry_that_crashes_takes_its_plain_owners_down_and_comes_back_empty(node) -> None:
    """[probe:reg_links_owner]"""

    async def body():
        sup = await supervisors.Supervisor.start_link(
            [Registry.child_spec(name="reg")], strategy="one_for_one"
        )
        reg = supervisors.whereis("reg")
        gate: supervisors.Future[None] = supervisors.Future()

        async def own():
            reg.register("k", 1)
            gate.set(None)
            await receive(lambda _: False)

        owner = spawn(own)
        await gate
        down = when_down(owner)
        exit(reg, KILL)
        reason = await down
        (child,) = await sup.which_children()
        found = supervisors.whereis("reg")
        return reason, child.ref is not reg, child.ref.count(), found is child.ref

    assert inside(node, body, trap_exit=True) == (KILLED, True, 0, True)


def test_an_owner_is_linked_until_its_last_entry_is_gone(node) -> None:
    """[probe:reg_unlink_after_unregister]"""
    reg = registry()
    one = owner_of(reg, ("k", 1), ("j", 2))
    do(one, lambda: None)
    linked = reg in info(one).links
    do(one, lambda: reg.unregister("k"))
    inside(node, lambda: None)
    still = reg in info(one).links
    do(one, lambda: reg.unregister("j"))
    inside(node, lambda: None)

    assert (linked, still, reg in info(one).links) == (True, True, False)


def test_an_owner_that_ends_does_not_end_the_registry(node) -> None:
    reg = registry()
    for reason in ("boom", "kill", "normal"):
        one = owner_of(reg, ("k", 1))
        exit(one, KILL if reason == "normal" else reason)
        get(when_down(one))

    assert (is_alive(reg), reg.count()) == (True, 0)


def test_a_registry_that_ended_says_so(node) -> None:
    """[probe:reg_unknown]"""
    reg = registry()
    via = reg.via("k")
    get(supervisors.stop(reg))
    for use in (
        lambda: reg.register("k"),
        lambda: reg.lookup("k"),
        lambda: reg.whereis("k"),
        lambda: reg.keys(self_()),
        reg.count,
        reg.select,
        lambda: reg.dispatch("k", print),
    ):
        with pytest.raises(NoProcess):
            use()
    with pytest.raises(NoProcess):
        get(call(via, "x"))


def test_its_state_is_a_number_not_whose(node) -> None:
    reg = registry()
    owner_of(reg, ("secret", 1))
    state = str(get(supervisors.get_state(reg)))

    assert "secret" not in state
    assert "1" in state


@pytest.mark.parametrize("keys", ["both", None, 7, ["unique"]])
def test_unknown_kinds_of_keys_are_refused_with_those_there_are(node, keys) -> None:
    with pytest.raises((SpecError, supervisors.StartFailed), match=r"unique.*duplicate"):
        get(Registry.start_unlinked(keys=keys))


@pytest.mark.parametrize("key", [[], {}, set()])
def test_a_key_that_cannot_be_hashed_is_refused(node, key) -> None:
    reg = registry()
    with pytest.raises(TypeError):
        reg.register(key)

    assert (reg.count(), reg in info(self_()).links) == (0, False)


@pytest.mark.parametrize("key", [None, 0, "", ("a", 1), frozenset(), object()])
def test_any_hashable_value_is_a_key(node, key) -> None:
    reg = registry()
    one = owner_of(reg, (key, "v"))

    assert (reg.lookup(key), reg.keys(one)) == ([(one, "v")], [key])


# --- threads, nodes, loops


def test_many_threads_race_for_a_key_and_one_gets_it(node) -> None:
    reg = registry()
    for _ in range(10):
        owners = [owner_of(reg) for _ in range(6)]

        def race(owner):
            try:
                return do(owner, lambda: reg.register("k"))
            except NameTaken as error:
                return error.ref

        with ThreadPoolExecutor(6) as threads:
            got = list(threads.map(race, owners))
        owner = reg.whereis("k")
        assert (got.count(None), set(got) - {None}) == (1, {owner})
        exit(owner, KILL)
        get(when_down(owner))
    assert reg.count() == 0


def test_owners_of_another_node_are_cleaned_up_too(backend) -> None:
    with supervisors.Node() as one, supervisors.Node(backend=backend) as two:
        reg = inside(one, Registry.start_unlinked)
        ready: supervisors.Future[None] = supervisors.Future()

        async def own():
            reg.register("k", 1)
            ready.set(None)
            await receive(lambda _: False)

        owner = spawn(own, node=two)
        get(ready)
        assert reg.lookup("k") == [(owner, 1)]
        down = when_down(owner)
        exit(owner, KILL)
        get(down)
        assert reg.lookup("k") == []


async def test_a_task_registers_itself(inner_node) -> None:
    reg = await Registry.start_link()
    reg.register("me", 1)

    assert reg.whereis("me") is self_()
    send(reg.via("me"), "hi")
    assert await within(receive()) == "hi"
    reg.unregister("me")


def test_a_thread_registers_itself_and_its_end_frees_the_key(node) -> None:
    reg = registry()
    ends: list[supervisors.Future[object]] = []

    def run():
        reg.register("me", 1)
        ends.append(when_down(self_()))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    get(ends[0])

    assert (reg.lookup("me"), reg.count()) == ([], 0)
