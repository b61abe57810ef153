"""What a user gets who writes something wrong: an error at the call that says what was wrong."""

from __future__ import annotations

import math
import threading

import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    Actor,
    Future,
    GenServer,
    Node,
    NoProcess,
    NoReply,
    NotAProcess,
    Ok,
    Registry,
    Reply,
    SpecError,
    StartFailed,
    SupervisorsError,
    WouldBlock,
    groups,
    receive,
    self_,
    spawn,
    when_down,
)
from supervisors.testing import assert_receive, exit_of, refute_receive


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


class Echo(Actor):
    def on_receive(self, message):
        return message


class Server(GenServer):
    def handle_call(self, request, caller):
        return request


async def wait_for_ever():
    await receive(lambda _: False)


def get(future):
    return future.get(timeout=PATIENCE)


def error_of(use):
    """The error *use* raises, at the call or through its future."""
    try:
        result = use()
        if isinstance(result, Future):
            result.get(timeout=2.0)
    except Exception as error:
        return error
    return None


@pytest.fixture
def node():
    """Wrong arguments are found before any loop is: one backend is enough."""
    with Node() as node:
        yield node


# --- destinations


DESTINATIONS = [
    ("send", lambda d: supervisors.send(d, "x")),
    ("cast", lambda d: supervisors.cast(d, "x")),
    ("call", lambda d: supervisors.call(d, "x")),
    ("stop", supervisors.stop),
    ("exit", lambda d: supervisors.exit(d, "boom")),
    ("link", supervisors.link),
    ("unlink", supervisors.unlink),
    ("monitor", supervisors.monitor),
    ("when_down", when_down),
    ("is_alive", supervisors.is_alive),
    ("register", lambda d: supervisors.register("name", d)),
    ("send_after", lambda d: supervisors.send_after(0, d, "x")),
    ("start_timer", lambda d: supervisors.start_timer(0, d, "x")),
    ("get_state", supervisors.get_state),
    ("replace_state", lambda d: supervisors.replace_state(d, dict)),
    ("suspend", supervisors.suspend),
    ("resume", supervisors.resume),
    ("trace", lambda d: supervisors.trace(d, None)),
    ("info", supervisors.info),
    ("tree", supervisors.tree),
    ("exit_of", exit_of),
    ("groups.join", lambda d: groups.join("g", d)),
    ("groups.leave", lambda d: groups.leave("g", d)),
]


@pytest.mark.parametrize(("name", "use"), DESTINATIONS, ids=[row[0] for row in DESTINATIONS])
def test_what_is_no_process_is_refused_at_the_call(node, name, use) -> None:
    for dest in (7, b"name", ("svc", "node"), object, Server):
        with pytest.raises(NotAProcess, match=r"self_\(\)") as raised:
            use(dest)
        assert repr(dest) in str(raised.value)
    assert groups.which_groups() == []


DEFAULT = ("register", "tree", "groups.join", "groups.leave")  # there None is the caller, or all
NOT_DEFAULT = [row for row in DESTINATIONS if row[0] not in DEFAULT]


@pytest.mark.parametrize(("name", "use"), NOT_DEFAULT, ids=[row[0] for row in NOT_DEFAULT])
def test_none_is_no_process(node, name, use) -> None:
    """What a forgotten `return` gives."""
    with pytest.raises(NotAProcess, match="None"):
        use(None)


def test_an_actor_is_given_by_its_ref(node) -> None:
    """`self` instead of `self.ref`: the commonest slip inside an actor."""

    class Slips(Actor):
        def on_receive(self, message):
            supervisors.send(self, "x")

    with pytest.raises(NotAProcess, match="ref"):
        Slips.start().ask("x", timeout=PATIENCE)


UNKNOWN = [
    ("link", supervisors.link, NoProcess),
    ("call", lambda d: supervisors.call(d, "x"), NoProcess),
    ("stop", supervisors.stop, NoProcess),
    ("send", lambda d: supervisors.send(d, "x"), supervisors.NoSuchName),
    ("get_state", supervisors.get_state, NoProcess),
    ("suspend", supervisors.suspend, NoProcess),
]


@pytest.mark.parametrize(("name", "use", "error"), UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_an_unknown_name_is_named(node, name, use, error) -> None:
    def body():
        supervisors.trap_exit(False)
        return [error_of(lambda: use("nobody"))]

    found = inside_thread(body)[0]

    assert isinstance(found, error)
    assert "'nobody'" in str(found)


def inside_thread(function):
    out: list[object] = []
    thread = threading.Thread(target=lambda: out.append(function()))
    thread.start()
    thread.join(PATIENCE)
    return out[0]


# --- times


@pytest.fixture
def server(node):
    return get(Server.start_unlinked())


TIMES = [
    ("send_after", lambda ref, t: supervisors.send_after(t, ref, "x")),
    ("start_timer", lambda ref, t: supervisors.start_timer(t, ref, "x")),
    # node.after() takes a moment that has passed for now, so it is not in this table
    ("receive", lambda _, t: receive(timeout=t)),
    ("call", lambda ref, t: supervisors.call(ref, "x", t)),
    ("ref.call", lambda ref, t: ref.call("x", t)),
    ("stop", lambda ref, t: supervisors.stop(ref, timeout=t)),
    ("get_state", supervisors.get_state),
    ("replace_state", lambda ref, t: supervisors.replace_state(ref, dict, t)),
    ("suspend", supervisors.suspend),
    ("resume", supervisors.resume),
    ("trace", lambda ref, t: supervisors.trace(ref, None, t)),
    ("start_timeout", lambda _, t: Server.start_unlinked(start_timeout=t)),
    ("Ok", lambda _, t: Ok(timeout=t)),
    ("Reply", lambda _, t: Reply(1, timeout=t)),
    ("NoReply", lambda _, t: NoReply(timeout=t)),
    ("watchdog", lambda _, t: Node(watchdog=t)),
    ("kill_grace", lambda _, t: Node(kill_grace=t)),
    ("exit_of", exit_of),
    ("assert_receive", lambda _, t: assert_receive(timeout=t)),
    ("refute_receive", lambda _, t: refute_receive(timeout=t)),
]


@pytest.mark.parametrize("time", [-1, math.nan, "5", [1]], ids=repr)
@pytest.mark.parametrize(("name", "use"), TIMES, ids=[row[0] for row in TIMES])
def test_a_time_that_is_none_is_refused_at_the_call(server, name, use, time) -> None:
    """And does no harm to the node, which a NaN in a heap of timers would."""
    with pytest.raises(SupervisorsError, match="second") as raised:
        use(server, time)

    assert isinstance(raised.value, (ValueError, TypeError))
    assert repr(time) in str(raised.value)


@pytest.mark.parametrize("name", ["call", "receive", "start_timeout", "stop"])
@pytest.mark.parametrize("time", [math.inf, 1e12], ids=repr)
def test_a_very_long_time_is_as_good_as_for_ever(server, name, time) -> None:
    match name:
        case "call":
            assert get(supervisors.call(server, "x", time)) == "x"
        case "receive":
            wait = receive(timeout=time)
            supervisors.send(self_(), "x")
            assert get(wait) == "x"
        case "start_timeout":
            assert get(Server.start_unlinked(start_timeout=time))
        case "stop":
            get(supervisors.stop(server, timeout=time))


def test_a_timer_for_the_end_of_time_breaks_no_other(node) -> None:
    done: Future[str] = Future()
    for seconds in (1e9, 1e18, math.inf):
        supervisors.send_after(seconds, self_(), "never")
    node.after(0.01, done.set, "done")

    assert get(done) == "done"


# --- functions


FUNCTIONS = [
    ("spawn", spawn),
    ("spawn_link", supervisors.spawn_link),
    ("spawn_monitor", supervisors.spawn_monitor),
    ("subscribe_reports", supervisors.subscribe_reports),
    ("receive", receive),
]


@pytest.mark.parametrize(("name", "use"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
@pytest.mark.parametrize("function", [7, "text", [print]], ids=repr)
def test_what_is_no_function_is_refused_at_the_call(node, name, use, function) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        use(function)

    assert isinstance(raised.value, SupervisorsError)
    assert repr(function) in str(raised.value)


def test_spawn_of_a_coroutine_says_what_to_write(node) -> None:
    """`spawn(work(1))` instead of `spawn(work, 1)`."""

    async def work(n):
        return n

    with pytest.raises((ValueError, TypeError), match=r"spawn\(work") as raised:
        spawn(work(1))

    assert isinstance(raised.value, SupervisorsError)


def test_a_function_with_the_wrong_arguments_ends_with_the_error(node) -> None:
    def work(a, b):
        return a + b

    (down,) = inside(node, lambda: [when_down(spawn(work, 1))])

    assert isinstance(get(down).exception, TypeError)


TRACERS = [("trace", supervisors.trace), ("replace_state", supervisors.replace_state)]


@pytest.mark.parametrize(("name", "use"), TRACERS, ids=[row[0] for row in TRACERS])
def test_a_tracer_or_change_that_is_no_function_is_refused(server, name, use) -> None:
    error = error_of(lambda: use(server, 7))

    assert isinstance(error, (ValueError, TypeError))
    assert get(server.call("still here")) == "still here"


# --- names


@pytest.mark.parametrize("name", [7, None, b"svc", ("a",)], ids=repr)
def test_a_name_that_is_no_text_is_refused(node, name) -> None:
    for use in (
        lambda: supervisors.register(name),
        lambda: supervisors.whereis(name),
        lambda: supervisors.unregister(name),
    ):
        with pytest.raises((ValueError, TypeError)) as raised:
            use()
        assert repr(name) in str(raised.value)


@pytest.mark.parametrize("name", [7, b"svc", ["a"]], ids=repr)
def test_a_process_is_not_started_under_a_name_that_is_none(node, name) -> None:
    for use in (
        lambda: spawn(wait_for_ever, name=name),
        lambda: Server.start_unlinked(name=name),
        lambda: Server.child_spec(name=name),
    ):
        error = error_of(use)
        assert isinstance(error, (ValueError, TypeError))
        assert repr(name) in str(error)


# --- watches, aliases, timers


def test_a_watch_an_alias_and_a_timer_are_told_apart(node) -> None:
    ref = get(Server.start_unlinked())
    watch = supervisors.monitor(ref)
    alias = supervisors.alias()
    timer = supervisors.send_after(60, ref, "x")
    wrong = [
        (supervisors.demonitor, ref),
        (supervisors.demonitor, alias),
        (supervisors.demonitor, "name"),
        (supervisors.unalias, ref),
        (supervisors.unalias, None),
        (supervisors.cancel_timer, ref),
        (supervisors.cancel_timer, watch),
        (supervisors.cancel_timer, None),
        (groups.unwatch, watch),
    ]
    for use, what in wrong:
        with pytest.raises((ValueError, TypeError)) as raised:
            use(what)
        assert isinstance(raised.value, SupervisorsError), use
    assert supervisors.cancel_timer(timer) > 0
    assert supervisors.demonitor(watch) is True
    assert supervisors.unalias(alias) is True


@pytest.mark.parametrize("mode", ["", "forever", True, 7])
def test_an_unknown_kind_of_alias_is_refused_with_those_there_are(node, mode) -> None:
    ref = spawn(wait_for_ever)
    with pytest.raises(SpecError, match="reply_demonitor"):
        supervisors.monitor(ref, alias=mode)

    assert supervisors.info(ref).monitored_by == 0


# --- nodes


@pytest.mark.parametrize("backend", ["twisted", "", None, 7, "Asyncio"])
def test_an_unknown_backend_is_refused_with_those_there_are(backend) -> None:
    with pytest.raises(SpecError, match=r'Node\(backend="asyncio"\) or "trio"'):
        Node(backend=backend)


@pytest.mark.parametrize("clock", [7, "now"])
def test_a_clock_that_cannot_be_called_is_refused(clock) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        Node(clock=clock)

    assert isinstance(raised.value, SupervisorsError)


@pytest.mark.parametrize("what", ["node", 7, Node])
def test_a_process_is_spawned_on_a_node_only(node, what) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        spawn(wait_for_ever, node=what)

    assert isinstance(raised.value, SupervisorsError)


def test_async_with_on_a_thread_s_node_and_the_other_way_round() -> None:
    node = Node()
    node.start()
    with pytest.raises(supervisors.NodeStopped, match=r"`Node\(\)`"), node:
        pass
    node.stop()


# --- actors


@pytest.mark.parametrize("bound", [5, "reject", (5, "reject")])
def test_a_mailbox_bound_that_is_none_is_refused_at_the_start(node, bound) -> None:
    kind = type("Wrong", (Echo,), {"mailbox_bound": bound})
    with pytest.raises(SpecError, match=r"Bound\("):
        kind.start()
    server = type("Wrong", (Server,), {"mailbox_bound": bound})
    error = error_of(server.start_unlinked)

    assert isinstance(error, SpecError)


def test_a_server_that_overrides_init_of_python_is_told(node) -> None:
    class Wrong(Server):
        def __init__(self, n):
            self.n = n

    error = error_of(lambda: Wrong.start_unlinked(1))

    assert isinstance(error, SupervisorsError)
    assert "init" in str(error)


def test_wrong_arguments_for_init_fail_the_start(node) -> None:
    with pytest.raises(StartFailed, match="TypeError"):
        get(Strict.start_unlinked(1, 2))


class Strict(Server):
    def init(self):
        pass


def test_options_of_start_are_not_swallowed(node) -> None:
    with pytest.raises(StartFailed, match="colour"):
        get(Strict.start_unlinked(colour="red"))


def test_a_server_is_not_made_by_hand(node) -> None:
    """`Server()` instead of `Server.start_link()`: harmless, and nothing runs."""
    before = len(node.processes)
    error = error_of(Server)

    assert error is None or isinstance(error, SupervisorsError)
    assert len(node.processes) == before


def test_a_future_that_is_never_looked_at_warns_nobody(node) -> None:
    class Fails(Server):
        def handle_call(self, request, caller):
            caller.fail(ValueError("oops"))
            return supervisors.NO_REPLY

    server = get(Fails.start_unlinked())
    server.call("x")
    with pytest.raises(ValueError, match="oops"):
        get(server.call("y"))


# --- the loop


def test_a_blocking_wait_on_the_loop_says_what_to_write(node) -> None:
    server = get(Server.start_unlinked())
    echo = Echo.start()
    futures = [
        lambda: server.call("x"),
        lambda: echo.proxy().actor_urn,
        lambda: when_down(server),
        receive,
        lambda: supervisors.get_state(server),
        Server.start_unlinked,
        lambda: supervisors.stop(server),
        supervisors.tree,
    ]
    blocking = [lambda: echo.ask("x"), echo.stop]

    def wait(make):
        future = make()
        if not future.done():  # what is there at once does not block
            future.get()

    def body():
        found = [error_of(lambda make=make: wait(make)) for make in futures]
        return [error for error in [*found, *map(error_of, blocking)] if error is not None]

    found = inside(node, body)

    assert {type(error) for error in found} == {WouldBlock}
    assert all("await" in str(error) for error in found)
    assert len(found) >= 7


# --- registries


def test_registry_arguments(node) -> None:
    reg = get(Registry.start_unlinked())
    for use in (
        lambda: reg.match("k", 7),
        lambda: reg.dispatch("k", 7),
        lambda: reg.update_value("k", 7),
    ):
        reg.register("k", 1)
        try:
            with pytest.raises((ValueError, TypeError)):
                use()
        finally:
            reg.unregister("k")
    for ref in (7, None, "name"):
        with pytest.raises((ValueError, TypeError, SupervisorsError)):
            reg.keys(ref)


def test_registry_listeners_must_be_names(node) -> None:
    error = error_of(lambda: Registry.start_unlinked(listeners=7))
    assert isinstance(error, (SpecError, StartFailed))
    error = error_of(lambda: Registry.start_unlinked(listeners="listener"))
    assert error is None or "listener" in str(error)
