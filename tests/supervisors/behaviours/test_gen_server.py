"""GenServer: its life, its calls and casts, and every way it ends, as in OTP."""

from __future__ import annotations

import threading

import anyio
import pykka
import pytest
from inside import PATIENCE, inside, silenced, within
from pykka.messages import ProxySetAttr

import supervisors
from supervisors import (
    KILL,
    KILLED,
    NO_REPLY,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    TIMEOUT,
    AlreadyStarted,
    BadReturn,
    CallExit,
    CallingSelf,
    CallTimeout,
    Custom,
    Error,
    Exit,
    ExitProcess,
    Future,
    GenServer,
    Ignore,
    NoProcess,
    NoReply,
    Ok,
    Reply,
    Shutdown,
    StartFailed,
    StartIgnored,
    Stop,
    as_reason,
    call,
    cast,
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
    stop,
    trap_exit,
    when_down,
)
from supervisors.testing import virtual_node
from supervisors.words.reasons import TimedOut

OOPS = ValueError("oops")
BOOM = Custom("boom")


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


def get(future):
    return future.get(timeout=PATIENCE)


def downs(node, *refs):
    """The futures of ends, entered before this returns."""
    return inside(node, lambda: [when_down(ref) for ref in refs])


class Plain(GenServer):
    """Does what a request says, in plain callbacks; notes what it sees in `log`."""

    def init(self, log=None, do=None):
        self.log = [] if log is None else log
        return self.obey(do)

    def handle_call(self, request, caller):
        return self.obey(request, caller)

    def handle_cast(self, request):
        return self.obey(request)

    def handle_info(self, message):
        if callable(message):
            return self.obey(message)
        self.log.append(message)
        return None

    def handle_continue(self, term):
        return self.obey(term)

    def terminate(self, reason):
        self.log.append(("terminate", reason))

    def obey(self, do, caller=None):
        if not callable(do):
            return do
        wants_caller = do.__code__.co_varnames[1:2] == ("caller",)
        return do(self, caller) if wants_caller else do(self)


class Async(Plain):
    """The same in async callbacks that do wait."""

    async def init(self, log=None, do=None):
        await anyio.lowlevel.checkpoint()
        return Plain.init(self, log, do)

    async def handle_call(self, request, caller):
        await anyio.lowlevel.checkpoint()
        return Plain.handle_call(self, request, caller)

    async def handle_cast(self, request):
        await anyio.lowlevel.checkpoint()
        return Plain.handle_cast(self, request)

    async def handle_info(self, message):
        await anyio.lowlevel.checkpoint()
        return Plain.handle_info(self, message)

    async def handle_continue(self, term):
        await anyio.lowlevel.checkpoint()
        return Plain.handle_continue(self, term)

    async def terminate(self, reason):
        await anyio.lowlevel.checkpoint()
        Plain.terminate(self, reason)


class PlainTrap(Plain):
    trap_exit = True


class AsyncTrap(Async):
    trap_exit = True


KINDS = pytest.mark.parametrize("kind", [Plain, Async], ids=["plain", "async"])
ALL_KINDS = pytest.mark.parametrize(
    "kind", [Plain, Async, PlainTrap, AsyncTrap], ids=["plain", "async", "plain trap", "async trap"]
)


def start(kind, log=None, do=None, **options):
    return get(kind.start_unlinked([] if log is None else log, do, **options))


def fail(error):
    def do(self):
        raise error

    return do


# --- start: what init says, and what start_link's caller gets   [g_start_link_*] [f_start_*]


def gives_up(self):
    exit_self("boom")


INITS = [
    ("nothing", None, None, NORMAL),
    ("Ok()", Ok(), None, NORMAL),
    ("Ignore()", Ignore(), StartIgnored(), NORMAL),
    ("Stop(boom)", Stop("boom"), StartFailed("boom"), BOOM),
    ("Stop(normal)", Stop("normal"), StartFailed("normal"), NORMAL),
    ("Stop(shutdown)", Stop(("shutdown", 1)), StartFailed(("shutdown", 1)), Shutdown(1)),
    ("raise", fail(OOPS), StartFailed(OOPS), Error(OOPS)),
    ("exit_self", gives_up, StartFailed("boom"), BOOM),
    ("rubbish", 7, StartFailed(BadReturn(7)), BadReturn(7)),
    ("Reply", Reply(7), StartFailed(BadReturn(Reply(7))), BadReturn(Reply(7))),
    ("NoReply", NoReply(), StartFailed(BadReturn(NoReply())), BadReturn(NoReply())),
]


@KINDS
@pytest.mark.parametrize("row", INITS, ids=[row[0] for row in INITS])
def test_what_init_says_and_what_its_starter_gets(node, kind, row) -> None:
    _, init, error, reason = row
    log: list[object] = []

    async def body():
        """A trapping starter: it sees the exit of a failed start as well."""
        try:
            ref = await kind.start_link(log, init)
        except supervisors.StartError as raised:
            end = await receive(Exit, timeout=PATIENCE)
            return type(raised), getattr(raised, "reason", None), end.reason, end.process
        return "started", is_alive(ref), ref.ask, ref

    kind_of, about, end, ref = inside(node, body, trap_exit=True)

    if error is None:
        assert (kind_of, about) == ("started", True)
    else:
        assert (kind_of, about) == (type(error), getattr(error, "reason", None))
        assert (end, is_alive(ref), log) == (reason, False, [])  # and no terminate


@KINDS
@pytest.mark.parametrize("row", INITS, ids=[row[0] for row in INITS])
def test_a_failed_start_ends_a_plain_starter_unless_it_was_normal(node, kind, row) -> None:
    """[g_start_link_*_plain_caller]"""
    _, init, error, reason = row

    async def body():
        await receive(lambda message: message == "go")
        try:
            await kind.start_link([], init)
        except supervisors.StartError:
            await anyio.sleep(0.01)
        await receive(lambda _: False)

    (down,) = downs(node, ref := spawn(body))
    ref.send("go")
    if error is None or reason.is_normal:
        inside(node, lambda: None)
        assert not down.done()
        exit(ref, KILL)
    else:
        assert get(down) == reason


@KINDS
def test_an_unlinked_start_harms_no_starter(node, kind) -> None:
    async def body():
        with pytest.raises(StartFailed, match="boom"):
            await kind.start_unlinked([], Stop("boom"))
        await anyio.sleep(0.01)
        return mailbox(), self_()

    left, _ = inside(node, body)

    assert left == []


def test_start_link_shows_the_exception_that_made_init_fail(node) -> None:
    with pytest.raises(StartFailed, match="ValueError: oops") as failed:
        start(Plain, do=fail(OOPS))

    assert failed.value.__cause__ is OOPS


def test_when_start_link_fails_the_process_is_gone(node) -> None:
    """OTP 26+: start_link waits until it is dead."""
    seen: list[object] = []

    class Fails(Plain):
        def init(self):
            seen.append(self.ref)
            raise OOPS

    async def body():
        with pytest.raises(StartFailed):
            await Fails.start_unlinked(name="svc")
        return is_alive(seen[0]), supervisors.whereis("svc")

    assert inside(node, body) == (False, None)


def test_start_link_waits_for_init(node) -> None:
    gate: Future[None] = Future()

    class Slow(Plain):
        async def init(self):
            await gate

    starting = Slow.start_unlinked()
    with pytest.raises(pykka.Timeout):
        starting.get(timeout=0.02)
    gate.set(None)

    assert is_alive(get(starting))


@KINDS
def test_an_init_that_takes_too_long_is_killed(kind) -> None:
    """[f_init_timeout] In virtual time."""
    for backend in ("asyncio", "trio"):
        with virtual_node(backend) as (node, time):

            class Slow(kind):
                async def init(self):
                    await anyio.sleep_forever()

            async def body(slow=Slow):
                try:
                    await slow.start_link(start_timeout=30.0)
                except StartFailed as error:
                    end = await receive(Exit)
                    return error.reason, end.reason

            done: Future[object] = Future()

            async def run(done=done, body=body):
                done.set(await body())

            spawn(run, trap_exit=True, node=node)
            get(time.advance(29.0))
            assert not done.done()
            get(time.advance(2.0))

            assert get(done) == (TimedOut(), KILLED)


def test_a_taken_name_says_who_has_it_and_init_does_not_run(node) -> None:
    """[g_start_link_*]"""
    log: list[object] = []
    first = start(Plain, name="svc")
    with pytest.raises(AlreadyStarted) as already:
        start(Plain, log, lambda self: log.append("init"), name="svc")

    assert (already.value.ref, log) == (first, [])


def test_a_server_knows_itself_its_parent_and_its_node(node) -> None:
    def about(self):
        return self.ref, self.actor_ref, self.parent, self.node, self_()

    async def body():
        ref = await Plain.start_link()
        return await ref.call(about) == (ref, ref, self_(), node, ref), await (
            await Plain.start_unlinked()
        ).call(lambda self: self.parent)

    assert inside(node, body) == (True, None)


def test_a_spec_starts_the_server(node) -> None:
    spec = Plain.child_spec([], None, id="w", restart="transient", shutdown=1.0, name="svc")

    async def body():
        return await spec.start(*spec.args)

    assert (spec.id, spec.restart, spec.shutdown, spec.type) == ("w", "transient", 1.0, "worker")
    ref = inside(node, body, trap_exit=True)
    assert ref.name in ("svc", None)
    assert (Plain.child_spec().id, Plain.child_spec(name="svc").id) == (Plain, "svc")


@KINDS
def test_start_as_pykka_does_returns_at_once(node, kind) -> None:
    ref = kind.start([], None)

    assert get(ref.call("hi")) == "hi"
    ref.stop(timeout=PATIENCE)
    assert not is_alive(ref)


# --- what callbacks return


@KINDS
@pytest.mark.parametrize("value", [None, 0, "", [], (), {"a": 1}, ValueError("a value"), TIMEOUT])
def test_any_value_of_handle_call_is_the_reply(node, kind, value) -> None:
    ref = start(kind)

    assert get(ref.call(value)) is value
    assert is_alive(ref)


@KINDS
def test_reply_and_no_reply(node, kind) -> None:
    """[c_deferred_reply]"""
    kept: list[supervisors.Caller] = []
    ref = start(kind)

    def later(self, caller):
        kept.append(caller)
        return NO_REPLY

    assert get(ref.call(lambda self: Reply(Stop("boom")))) == Stop("boom")
    waiting = ref.call(later)
    assert (get(ref.call("other")), waiting.done()) == ("other", False)
    assert (kept[0].reply(7), kept[0].reply(8), kept[0].fail(OOPS)) == (True, False, False)
    assert get(waiting) == 7


@KINDS
def test_a_caller_may_be_refused(node, kind) -> None:
    kept: list[supervisors.Caller] = []
    ref = start(kind)

    def refuse(self, caller):
        caller.fail(KeyError("no"))
        return NO_REPLY

    with pytest.raises(KeyError, match="no"):
        get(ref.call(refuse))
    waiting = ref.call(lambda self, caller: (kept.append(caller), NO_REPLY)[1])
    get(ref.call("sync"))
    threading.Thread(target=kept[0].fail, args=(OOPS,)).start()
    with pytest.raises(ValueError, match="oops"):
        get(waiting)
    assert is_alive(ref)


@KINDS
def test_a_reply_may_come_before_the_callback_returns(node, kind) -> None:
    def early(self, caller):
        caller.reply("early")
        return "too late"

    ref = start(kind)

    assert get(ref.call(early)) == "early"
    assert is_alive(ref)


BAD = [
    ("call", Ok(), BadReturn(Ok())),
    ("call", Ignore(), BadReturn(Ignore())),
    ("cast", 7, BadReturn(7)),
    ("cast", Reply(7), BadReturn(Reply(7))),
    ("cast", Ok(), BadReturn(Ok())),
    ("cast", Ignore(), BadReturn(Ignore())),
    ("info", "text", BadReturn("text")),
    ("info", False, BadReturn(False)),
    ("continue", 7, BadReturn(7)),
]


def reach(ref, callback, value):
    """Let a callback of *ref* return *value*."""
    match callback:
        case "call":
            return ref.call(lambda self: value)
        case "cast":
            ref.cast(lambda self: value)
        case "info":
            ref.send(lambda self: value)
        case "continue":
            ref.cast(lambda self: NoReply(then=lambda self: value))
    return None


@KINDS
@pytest.mark.parametrize(("callback", "value", "reason"), BAD)
def test_a_bad_return_ends_the_server(node, kind, callback, value, reason) -> None:
    """[g_throw_in_cast] [c_server_bad_return]"""
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    called = reach(ref, callback, value)

    assert (get(down), log) == (reason, [("terminate", reason)])
    if called is not None:
        with pytest.raises(CallExit) as ended:
            get(called)
        assert ended.value.reason == reason


GOOD = [
    ("cast", None),
    ("cast", NO_REPLY),
    ("info", None),
    ("info", NoReply()),
    ("continue", None),
    ("continue", NoReply()),
    ("call", Reply(1)),
]


@KINDS
@pytest.mark.parametrize(("callback", "value"), GOOD)
def test_a_good_return_goes_on(node, kind, callback, value) -> None:
    ref = start(kind)
    reach(ref, callback, value)

    assert get(ref.call("still here")) == "still here"


# --- how it ends


STOPS = [
    ("Stop", Stop),
    ("exit_self", lambda reason: lambda self: exit_self(reason)),
]


@ALL_KINDS
@pytest.mark.parametrize("callback", ["call", "cast", "info", "continue"])
@pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", 1), "boom", "kill"])
@pytest.mark.parametrize("how", STOPS, ids=[row[0] for row in STOPS])
def test_a_callback_ends_the_server_and_terminate_runs(node, kind, callback, reason, how) -> None:
    """[g_terminate_on_stop] [g_terminate_on_exit_call] also without trapping exits."""
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    word, make = how
    called = (reach if word == "Stop" else reach_do)(ref, callback, make(reason))
    read = as_reason(reason)

    assert (get(down), log) == (read, [("terminate", read)])
    if called is not None:
        with pytest.raises(CallExit) as ended:
            get(called)
        assert ended.value.reason == read


def reach_do(ref, callback, do):
    match callback:
        case "call":
            return ref.call(do)
        case "cast":
            ref.cast(do)
        case "info":
            ref.send(do)
        case "continue":
            ref.cast(lambda self: NoReply(then=do))
    return None


@ALL_KINDS
@pytest.mark.parametrize("callback", ["call", "cast", "info", "continue"])
@pytest.mark.parametrize("error", [OOPS, KeyboardInterrupt(), SystemExit(2)], ids=repr)
def test_an_exception_ends_the_server_and_terminate_runs(node, kind, callback, error) -> None:
    """[g_terminate_on_raise] [c_server_raise] with the state before that callback."""
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    called = reach_do(ref, callback, fail(error))

    assert (get(down), log) == (Error(error), [("terminate", Error(error))])
    if called is not None:
        with pytest.raises(CallExit) as ended:
            get(called)
        assert ended.value.reason == Error(error)


@KINDS
def test_stop_with_a_reply_answers_after_terminate_has_run(node, kind) -> None:
    """[c_server_stop_with_reply] The caller gets the reply, not the exit."""
    for reason in ("normal", "boom"):
        log: list[object] = []
        ref = start(kind, log)
        (down,) = downs(node, ref)
        called = ref.call(lambda self, reason=reason: Stop(reason, reply="bye"))
        seen: list[int] = []
        called.add_done_callback(lambda _, seen=seen, log=log: seen.append(len(log)))

        assert (get(called), get(down), seen) == ("bye", as_reason(reason), [1])


@ALL_KINDS
@pytest.mark.parametrize("reason", ["normal", "shutdown", "boom"])
def test_a_stop_from_outside_waits_its_turn_and_runs_terminate(node, kind, reason) -> None:
    """[g_gen_stop] [probe:sys_terminate] [probe:genserver_call_exits]"""
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    for n in range(3):
        ref.send(n)
    assert get(stop(ref, reason)) is None
    read = as_reason(reason)

    assert (get(down), log) == (read, [0, 1, 2, ("terminate", read)])


@ALL_KINDS
def test_terminate_that_raises_replaces_the_reason(node, kind) -> None:
    """[g_terminate_overrides_reason] [s_terminate_raises]"""

    class Raises(kind):
        def terminate(self, reason):
            raise KeyError("terminate")

    class Exits(kind):
        async def terminate(self, reason):
            await anyio.lowlevel.checkpoint()
            exit_self("other")

    for cls, reason in ((Raises, Error(KeyError("terminate"))), (Exits, Custom("other"))):
        ref = start(cls)
        (down,) = downs(node, ref)
        ref.cast(Stop("boom"))
        assert get(down) == reason
        ref = start(cls)
        with pytest.raises(CallExit) as ended:
            get(stop(ref))
        assert ended.value.reason == reason


@ALL_KINDS
def test_what_terminate_returns_is_ignored(node, kind) -> None:
    """[g_terminate_throw_swallowed]"""

    class Returns(kind):
        def terminate(self, reason):
            return Stop("other")

    ref = start(Returns)
    (down,) = downs(node, ref)
    ref.cast(Stop("boom"))

    assert get(down) == BOOM


@ALL_KINDS
def test_a_kill_runs_no_terminate(node, kind) -> None:
    """[g_kill]"""
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    exit(ref, KILL)

    assert (get(down), log) == (KILLED, [])


def test_a_kill_during_terminate_ends_the_caller_who_was_to_get_a_reply(node) -> None:
    begun = threading.Event()

    class Slow(Plain):
        async def terminate(self, reason):
            begun.set()
            await anyio.sleep_forever()

    ref = start(Slow)
    called = ref.call(lambda self: Stop("boom", reply="bye"))
    stopped = stop(ref)
    assert begun.wait(PATIENCE)
    exit(ref, KILL)

    for future in (called, stopped):
        with pytest.raises(CallExit) as ended:
            get(future)
        assert ended.value.reason == KILLED


def test_a_server_is_not_started_under_a_key_of_a_registry_that_ended(node) -> None:
    registry = get(supervisors.Registry.start_unlinked())
    name = registry.via("key")
    get(stop(registry))
    with pytest.raises((StartFailed, NoProcess)):
        start(Plain, name=name)


def test_a_call_gives_up_in_time_although_the_loop_is_held(node) -> None:
    go = threading.Event()

    class Holds(GenServer):
        def handle_cast(self, request):
            go.wait(PATIENCE)

        def handle_call(self, request, caller):
            return request

    ref = get(Holds.start_unlinked())
    ref.cast("hold")
    try:
        with pytest.raises(CallTimeout):
            ref.call("x", timeout=0.05).get()
    finally:
        go.set()
    assert get(ref.call("y")) == "y"


@KINDS
def test_a_signal_from_a_stranger_ends_a_plain_server_without_terminate(node, kind) -> None:
    """[g_stranger_exit_plain] [s_no_trap_no_terminate]"""
    for reason in ("shutdown", "boom"):
        log: list[object] = []
        ref = start(kind, log)
        (down,) = downs(node, ref)
        exit(ref, "normal")
        exit(ref, reason)

        assert (get(down), log) == (as_reason(reason), [])


@pytest.mark.parametrize("kind", [PlainTrap, AsyncTrap], ids=["plain", "async"])
@pytest.mark.parametrize("reason", ["normal", "shutdown", "boom", "killed"])
def test_a_signal_from_a_stranger_is_information_for_a_trapping_server(node, kind, reason) -> None:
    """[g_stranger_exit_trapping]"""
    log: list[object] = []
    ref = start(kind, log)
    sender = inside(node, lambda: (exit(ref, reason), self_())[1])
    get(ref.call("sync"))

    assert log == [Exit(sender, as_reason(reason))]


@pytest.mark.parametrize("kind", [PlainTrap, AsyncTrap], ids=["plain", "async"])
@pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", 1), "boom"])
@pytest.mark.parametrize("how", ["ends", "signals"])
def test_the_end_of_its_parent_ends_a_trapping_server_through_terminate(
    node, kind, reason, how
) -> None:
    """[g_parent_exits_*_trap] any reason, normal too."""
    log: list[object] = []
    found: Future[object] = Future()

    async def parent():
        ref = await kind.start_link(log)
        found.set([ref, when_down(ref)])
        if how == "signals":
            exit(ref, reason)
            await receive(lambda _: False)
        exit_self(reason)

    parent_ref = spawn(parent, trap_exit=True)
    _ref, down = get(found)
    read = as_reason(reason)

    assert (get(down), log) == (read, [("terminate", read)])
    exit(parent_ref, KILL)


@KINDS
@pytest.mark.parametrize(
    ("reason", "lives"), [("normal", True), ("shutdown", False), ("boom", False)]
)
def test_the_end_of_its_parent_ends_a_plain_server_unless_it_was_normal(
    node, kind, reason, lives
) -> None:
    """[g_parent_exits_*_plain] and without terminate."""
    log: list[object] = []
    found: Future[object] = Future()

    async def parent():
        ref = await kind.start_link(log)
        found.set([ref, when_down(ref)])
        exit_self(reason)

    (ended,) = downs(node, spawn(parent))
    ref, down = get(found)
    get(ended)
    if lives:
        assert get(ref.call("still here")) == "still here"
    else:
        assert (get(down), log) == (as_reason(reason), [])


@pytest.mark.parametrize("kind", [PlainTrap, AsyncTrap], ids=["plain", "async"])
def test_a_linked_stranger_s_end_never_ends_a_trapping_server(node, kind) -> None:
    """[g_linked_helper_crash_trapping_server]"""
    log: list[object] = []
    ref = start(kind, log)
    helpers: list[supervisors.Ref] = []

    def crash():
        exit_self("boom")

    get(ref.call(lambda self: helpers.append(spawn_link(crash))))
    while not log:
        get(ref.call("sync"))

    assert (log, is_alive(ref)) == ([Exit(helpers[0], BOOM)], True)


@KINDS
def test_a_linked_stranger_s_end_ends_a_plain_server(node, kind) -> None:
    """[g_linked_helper_crash_takes_server]"""
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    ref.cast(lambda self: spawn_link(exit_self, "boom") and None)

    assert (get(down), log) == (BOOM, [])


@pytest.mark.parametrize("kind", [PlainTrap, AsyncTrap], ids=["plain", "async"])
def test_an_exit_waits_its_turn_behind_earlier_messages(node, kind) -> None:
    """[g_shutdown_signal_overtakes_queue] the name is the question, the answer is no."""
    log: list[object] = []

    async def parent():
        ref = await kind.start_link(log)
        for n in range(3):
            ref.send(n)
        exit(ref, "shutdown")
        ref.send("too late")
        await when_down(ref)

    inside(node, parent, trap_exit=True)

    assert log == [0, 1, 2, ("terminate", SHUTDOWN)]


@ALL_KINDS
def test_the_queue_behind_a_stop_is_dropped_and_its_callers_told(node, kind) -> None:
    """[c_queued_calls_when_server_stops] [g_queued_messages_lost_at_stop]"""
    log: list[object] = []
    ref = start(kind, log)

    def body():
        first = ref.call(lambda self: Stop("boom", reply="bye"))
        ref.cast(lambda self: self.log.append("never"))
        ref.send("never")
        return [first, ref.call("never"), ref.call("never")]

    first, *queued = inside(node, body)

    assert get(first) == "bye"
    for one in queued:
        with pytest.raises(CallExit) as ended:
            get(one)
        assert ended.value.reason == BOOM
    assert log == [("terminate", BOOM)]


# --- continue, idle timeouts


@KINDS
def test_continue_comes_before_any_message(node, kind) -> None:
    """[g_continue_first]"""
    log: list[object] = []

    def note(word, then=None):
        def do(self):
            self.log.append(word)
            return None if then is None else NoReply(then=then)

        return do

    class Eager(kind):
        def init(self, log):
            self.log = log
            for n in range(3):
                send(self.ref, n)
            return Ok(then=note("first", then=note("second")))

    ref = get(Eager.start_unlinked(log))
    get(ref.call(lambda self: Reply(1, then=note("third"))))
    get(ref.call("sync"))

    assert log == ["first", "second", 0, 1, 2, "third"]


def test_continue_with_nothing_is_a_continue(node) -> None:
    """`then=None` is a term like any other."""
    log: list[object] = []

    class Nothing(Plain):
        def init(self, log):
            self.log = log
            return Ok(then=None)

        def handle_continue(self, term):
            self.log.append(("continue", term))

    get(Nothing.start_unlinked(log))

    assert log == [("continue", None)]


def run_virtual(backend, body, *steps):
    """Run *body* in a process of a virtual node; do the steps of time; return its outcome."""
    with virtual_node(backend) as (node, time):
        done: Future[object] = Future()

        async def run():
            try:
                done.set(await body(time))
            except BaseException as error:
                done.try_fail(error)

        spawn(run, node=node)
        for step in steps:
            get(time.advance(step))
        return get(done)


RETURNS = [
    ("init", lambda: None),
    ("call", lambda: Reply(1, timeout=5.0)),
    ("cast", lambda: NoReply(timeout=5.0)),
    ("info", lambda: NoReply(timeout=5.0)),
    ("continue", lambda: NoReply(timeout=5.0)),
]


@KINDS
@pytest.mark.parametrize(("callback", "make"), RETURNS, ids=[row[0] for row in RETURNS])
def test_an_idle_server_gets_a_timeout(backend, kind, callback, make) -> None:
    """[g_init_timeout_return] [g_call_timeout_return] In virtual time; and only once."""

    async def body(time):
        log: list[object] = []

        class Idle(kind):
            def init(self, log):
                self.log = log
                return Ok(timeout=5.0) if callback == "init" else None

            def handle_info(self, message):
                if callable(message):
                    return message(self)
                self.log.append((message, time()))
                return None

        ref = await Idle.start_unlinked(log)
        begin = time()
        if callback == "call":
            await ref.call(lambda self: make())
        elif callback != "init":
            reach_do(ref, callback, lambda self: make())
        await supervisors.receive(lambda m: m == "end")
        assert is_alive(ref)
        return [(message, at - begin) for message, at in log]

    with virtual_node(backend) as (node, time):
        done: Future[object] = Future()

        async def run():
            done.set(await body(time))

        ref = spawn(run, node=node)
        get(time.advance(4.0))
        get(time.advance(20.0))
        ref.send("end")

        assert get(done) == [(TIMEOUT, 5.0)]


@pytest.mark.parametrize("kind", [Plain, Async], ids=["plain", "async"])
def test_any_message_takes_an_idle_timeout_back(backend, kind) -> None:
    """SHEET 6: any message, also a system one, before it is due cancels it."""
    with virtual_node(backend) as (node, time):
        log: list[object] = []

        class Idle(kind):
            def init(self, log):
                self.log = log
                return Ok(timeout=5.0)

        done: Future[object] = Future()

        async def run():
            done.set(await Idle.start_unlinked(log))

        spawn(run, node=node)
        get(time.advance(4.0))
        get(done).send("hello")
        get(time.advance(20.0))

        assert log == ["hello"]


def test_an_idle_timeout_of_zero_comes_after_what_is_in_the_mailbox(node) -> None:
    log: list[object] = []

    class Idle(Plain):
        def init(self, log):
            self.log = log
            send(self.ref, "first")
            return Ok(timeout=0)

    ref = get(Idle.start_unlinked(log))
    get(ref.call("sync"))
    inside(node, lambda: None)

    assert log[:1] == ["first"]


# --- calls


def test_a_call_of_what_is_not_there(node) -> None:
    """[c_dead_pid] [c_unknown_name] [probe:genserver_call_exits] noproc, with the request."""
    ref = start(Plain)
    get(stop(ref))
    for dest in (ref, "nobody"):
        with pytest.raises(NoProcess) as ended:
            get(call(dest, "get"))
        assert (ended.value.reason, ended.value.request) == (NOPROC, "get")
        cast(dest, "get")
    assert "shutdown" in str(outcome(call(ref, "x"))) or "normal" in str(outcome(call(ref, "x")))


def outcome(future):
    try:
        return get(future)
    except Exception as error:
        return error


@KINDS
@pytest.mark.parametrize("reason", ["normal", "shutdown", "boom", "killed"])
def test_a_call_ends_when_its_server_does(node, kind, reason) -> None:
    """[c_server_*] [c_never_replied_then_stopped]"""
    ref = start(kind)
    waiting = ref.call(lambda self, caller: NO_REPLY)
    ref.cast(Stop(reason))
    found = outcome(waiting)

    assert isinstance(found, CallExit)
    assert (found.reason, found.server) == (as_reason(reason), ref)


def test_a_call_ends_when_its_server_is_killed_in_the_middle(node) -> None:
    """[c_killed_mid_call]"""
    begun = threading.Event()

    class Slow(GenServer):
        async def handle_call(self, request, caller):
            begun.set()
            await anyio.sleep_forever()

    ref = get(Slow.start_unlinked())
    waiting = [ref.call(n, timeout=None) for n in range(3)]
    assert begun.wait(PATIENCE)
    exit(ref, KILL)

    assert [outcome(one).reason for one in waiting] == [KILLED] * 3


def test_a_call_times_out_in_five_seconds_by_default(backend) -> None:
    """[probe:call_default_timeout] In virtual time."""
    with virtual_node(backend) as (node, time):
        done: Future[object] = Future()

        async def run():
            ref = await Plain.start_unlinked([], None)
            begin = time()
            try:
                await ref.call(lambda self, caller: NO_REPLY)
            except CallTimeout as error:
                done.set((time() - begin, error.reason, error.timeout, is_alive(ref)))

        spawn(run, node=node)
        get(time.advance(4.9))
        assert not done.done()
        get(time.advance(0.2))

        assert get(done) == (5.0, TimedOut(), 5.0, True)


def test_a_late_reply_vanishes(node) -> None:
    """[c_timeout_late_reply_dropped]"""
    kept: list[supervisors.Caller] = []
    ref = start(Plain)

    async def body():
        with pytest.raises(CallTimeout, match=r"0\.01 seconds"):
            await ref.call(lambda self, caller: (kept.append(caller), NO_REPLY)[1], timeout=0.01)
        said = kept[0].reply("late")
        return said, await ref.call("next"), mailbox()

    assert inside(node, body) == (False, "next", [])


def test_a_call_that_timed_out_is_handled_all_the_same(node) -> None:
    """[c_timeout_zero]"""
    log: list[object] = []
    ref = start(Plain, log)
    with pytest.raises(CallTimeout):
        get(ref.call(lambda self: self.log.append("handled"), timeout=0))
    get(ref.call("sync"))

    assert log == ["handled"]


def test_a_call_without_a_limit_waits(node) -> None:
    kept: list[supervisors.Caller] = []
    ref = start(Plain)
    waiting = ref.call(lambda self, caller: (kept.append(caller), NO_REPLY)[1], timeout=None)
    get(ref.call("sync"))
    kept[0].reply("at last")

    assert get(waiting) == "at last"


@KINDS
def test_calling_oneself_fails_at_once(node, kind) -> None:
    """[c_calling_self] [probe:genserver_call_exits]"""
    ref = start(kind, name="me")

    def call_self(self, dest):
        try:
            return outcome_now(call(dest, "x"))
        except CallingSelf as error:
            return error

    for dest in (ref, "me"):
        found = get(ref.call(lambda self, dest=dest: call_self(self, dest)))
        assert isinstance(found, CallingSelf)
        assert "self.ref.cast" in str(found)
    assert is_alive(ref)


def outcome_now(future):
    return future.exception() if future.done() else future


def test_two_servers_that_call_each_other_wait_for_the_timeout(node) -> None:
    class Calls(GenServer):
        async def handle_call(self, request, caller):
            if request is None:
                return "free"
            try:
                return await request.call(self.ref if request is not self.ref else None, 0.05)
            except CallTimeout:
                return "deadlock"

    one, two = get(Calls.start_unlinked()), get(Calls.start_unlinked())

    assert get(one.call(two)) == "deadlock"
    assert get(two.call(None)) == "free"


def test_the_end_of_a_caller_is_not_the_server_s_business(node) -> None:
    """[c_caller_dies_server_unaware]"""
    log: list[object] = []
    gate: Future[None] = Future()

    class Slow(Plain):
        async def handle_call(self, request, caller):
            if request == "wait":
                await gate
                self.log.append("finished")
            return request

    ref = get(Slow.start_unlinked(log))

    async def body():
        await ref.call("wait")

    (down,) = downs(node, caller := spawn(body))
    while supervisors.info(ref).unread or not is_alive(caller):
        pass
    exit(caller, KILL)
    get(down)
    gate.set(None)

    assert (get(ref.call("sync")), log) == ("sync", ["finished"])


def test_a_call_that_fails_uncaught_ends_the_caller_only(node) -> None:
    """[c_timeout_uncaught_kills_caller_only]"""
    ref = start(Plain)

    async def body():
        await ref.call(lambda self, caller: NO_REPLY, timeout=0.01)

    (down,) = downs(node, spawn(body))
    reason = get(down)

    assert isinstance(reason.exception, CallTimeout)
    assert is_alive(ref)


@KINDS
def test_casts_and_calls_of_one_sender_are_handled_in_order(node, kind) -> None:
    """[c_order_cast_before_call]"""
    log: list[object] = []
    ref = start(kind, log)
    for n in range(50):
        ref.cast(lambda self, n=n: self.log.append(n))
        if n % 10 == 9:
            assert get(ref.call(lambda self: len(self.log))) == n + 1
    assert log == list(range(50))


def test_calls_are_answered_in_any_order(node) -> None:
    """[probe:reqids]"""
    kept: list[supervisors.Caller] = []
    ref = start(Plain)
    calls = [ref.call(lambda self, caller: (kept.append(caller), NO_REPLY)[1]) for _ in range(3)]
    get(ref.call("sync"))
    for n in (2, 0, 1):
        kept[n].reply(n)

    assert [get(one) for one in (calls[1], calls[2], calls[0])] == [1, 2, 0]


async def test_a_call_is_cancelled_without_a_trace(inner_node) -> None:
    kept: list[supervisors.Caller] = []
    ref = await Plain.start_unlinked()
    with anyio.move_on_after(0.01) as scope:
        await ref.call(lambda self, caller: (kept.append(caller), NO_REPLY)[1], timeout=None)
    kept[0].reply("late")

    assert scope.cancelled_caught
    assert await within(ref.call("next")) == "next"
    assert mailbox() == []
    assert supervisors.info(ref).monitored_by == 0


def test_calls_from_threads_tasks_and_servers_alike(node) -> None:
    class Asks(GenServer):
        async def handle_call(self, request, caller):
            return await request.call("x")

    ref = start(Plain)
    asks = get(Asks.start_unlinked())

    async def body():
        return await ref.call("x")

    assert (get(ref.call("x")), inside(node, body), get(asks.call(ref))) == ("x", "x", "x")


def test_a_call_to_a_plain_actor_and_an_ask_to_a_server(node) -> None:
    """pykka's words work on servers, OTP's on plain actors."""

    class Echo(supervisors.Actor):
        def on_receive(self, message):
            return ("echo", message)

    echo, ref = Echo.start(), start(Plain)

    assert get(echo.call("x")) == ("echo", "x")
    assert ref.ask("x", timeout=PATIENCE) == "x"


# --- stop from outside


def test_stop_of_what_is_not_there(node) -> None:
    """[g_gen_stop_dead]"""
    ref = start(Plain)
    get(stop(ref))
    for dest in (ref, "nobody"):
        with pytest.raises(CallExit) as ended:
            get(stop(dest))
        assert ended.value.reason == NOPROC


def test_stop_times_out_and_goes_on(node) -> None:
    """[s_gen_stop_timeout]"""
    gate: Future[None] = Future()

    class Slow(Plain):
        async def terminate(self, reason):
            await gate

    ref = get(Slow.start_unlinked())
    (down,) = downs(node, ref)
    with pytest.raises(CallTimeout):
        get(stop(ref, timeout=0.02))
    assert is_alive(ref)
    gate.set(None)

    assert get(down) == NORMAL


def test_stop_of_itself_is_refused(node) -> None:
    ref = start(Plain)
    found = get(ref.call(lambda self: outcome_now(stop(self.ref))))

    assert isinstance(found, CallingSelf)


def test_several_stops_end_together(node) -> None:
    ref = start(Async)
    stops = inside(node, lambda: [stop(ref) for _ in range(5)])
    found = [outcome(one) for one in stops]

    assert found[0] is None
    assert {type(one) for one in found} <= {type(None), CallExit, NoProcess}


@KINDS
def test_pykka_s_stop_ends_a_server_in_its_turn(node, kind) -> None:
    log: list[object] = []
    ref = start(kind, log)
    ref.send("first")

    assert ref.stop(timeout=PATIENCE) is True
    assert log == ["first", ("terminate", NORMAL)]


# --- defaults


def test_an_unhandled_call_ends_the_server_and_says_what_to_write(node) -> None:
    """[probe:genserver_default_unhandled_call]"""

    class Bare(GenServer):
        pass

    ref = get(Bare.start_unlinked())
    with pytest.raises(CallExit, match="handle_call") as ended:
        get(ref.call("x"))
    assert isinstance(ended.value.reason, Error)
    assert not is_alive(ref)


def test_an_unhandled_cast_ends_the_server(node) -> None:
    class Bare(GenServer):
        pass

    ref = get(Bare.start_unlinked())
    (down,) = downs(node, ref)
    ref.cast("x")

    assert "handle_cast" in str(get(down))


def test_an_unhandled_message_is_only_logged(node, caplog) -> None:
    """[probe:genserver_default_unhandled_call]"""

    class Bare(GenServer):
        def handle_call(self, request, caller):
            return request

    ref = get(Bare.start_unlinked())
    with caplog.at_level("DEBUG"):
        ref.send("unexpected")
        assert get(ref.call("x")) == "x"

    assert "unexpected" in caplog.text


def test_an_update_that_fails_ends_the_server(node) -> None:
    """[probe:agent] an Agent is a server whose requests are functions."""
    ref = start(Plain)
    with pytest.raises(CallExit):
        get(ref.call(fail(OOPS)))

    assert not is_alive(ref)


def test_take_takes_an_unread_message_of_the_server(node) -> None:
    gate: Future[None] = Future()

    class Takes(Plain):
        async def handle_call(self, request, caller):
            await gate
            return [self.take(str), self.take(str), self.take(lambda m: m == 2)]

    log: list[object] = []
    ref = get(Takes.start_unlinked(log))
    waiting = ref.call("x")
    for message in (1, "a", 2):
        ref.send(message)
    gate.set(None)

    assert get(waiting) == ["a", None, 2]


def test_trap_exit_may_be_set_in_init(node) -> None:
    """process_flag(trap_exit, true) in init."""
    log: list[object] = []
    ref = start(Plain, log, lambda self: (trap_exit(), None)[1])
    exit(ref, "boom")
    get(ref.call("sync"))

    assert [message.reason for message in log] == [BOOM]


def test_a_restart_gets_a_new_ref_and_messages_at_the_old_one_are_lost(node) -> None:
    """[c_restart_new_pid]"""

    async def body():
        sup = await supervisors.Supervisor.start_link(
            [Plain.child_spec([], None, id="w")], strategy="one_for_one"
        )
        (old,) = await sup.which_children()
        await_down = when_down(old.ref)
        old.ref.cast(Stop("boom"))
        old.ref.send("lost")
        await await_down
        (new,) = await sup.which_children()
        return new.ref is old.ref, is_alive(new.ref), await new.ref.call(lambda self: self.log)

    assert inside(node, body)[:2] == (False, True)


def test_a_link_to_a_server_that_ends_normally_is_harmless(node) -> None:
    one, two = start(Plain), start(Plain)
    get(one.call(lambda self: link(two)))
    get(stop(two))

    assert get(one.call("still here")) == "still here"


def test_exit_process_may_be_raised_by_hand(node) -> None:
    ref = start(Plain)
    (down,) = downs(node, ref)
    ref.cast(fail(ExitProcess(("shutdown", "why"))))

    assert get(down) == Shutdown("why")


# --- what a server still is: a pykka actor


@KINDS
def test_a_server_has_a_proxy(node, kind) -> None:
    ref = start(kind)
    proxy = ref.proxy()
    setting = ProxySetAttr(attr_path=("colour",), value="red")  # `proxy.colour = "red"`, bounded
    assert ref.ask(setting, timeout=PATIENCE) is None

    assert get(proxy.colour) == "red"
    assert get(proxy.handle_info("hi")) is None
    assert get(proxy.log) == ["hi"]


@KINDS
def test_a_server_that_stops_itself_as_pykka_does_ends_in_its_turn(node, kind) -> None:
    log: list[object] = []
    ref = start(kind, log)
    (down,) = downs(node, ref)
    inside(node, lambda: [ref.cast(lambda self: self.stop()), ref.send("sent before")])

    assert (get(down), log) == (NORMAL, ["sent before", ("terminate", NORMAL)])


def test_a_server_is_started_on_a_given_node(backend) -> None:
    with supervisors.Node(), supervisors.Node(backend=backend) as other, supervisors.Node():
        ref = Plain.start_on(other, [], None)

        assert (ref.node, get(ref.call("hi"))) == (other, "hi")


def test_refs_have_numbers_of_their_own(node) -> None:
    refs = [start(Plain) for _ in range(10)]

    assert len({ref.id for ref in refs}) == 10
    assert all(str(ref.id) in str(ref) for ref in refs)
