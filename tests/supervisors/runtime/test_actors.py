"""Actors as pykka has them: plain and async handlers, order, stop; a failing one fails alone."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref

import anyio
import anyio.lowlevel
import pykka
import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import Actor, Custom, Error, Future, ProcessDead, Shutdown


class Recorder(Actor):
    """Keeps what it gets; answers asks with the number of messages so far."""

    def __init__(self, log: list[object] | None = None) -> None:
        super().__init__()
        self.log: list[object] = [] if log is None else log

    def on_receive(self, message):
        self.log.append(message)
        return len(self.log)


class SlowRecorder(Recorder):
    async def on_receive(self, message):
        await anyio.lowlevel.checkpoint()
        self.log.append(message)
        return len(self.log)


class Gate(Actor):
    """Holds its handler until the future it was given is set."""

    async def on_receive(self, message):
        if isinstance(message, Future):
            return await message
        return message


class Raises(Actor):
    """Raises what it is told to."""

    failures: list[object]

    def on_receive(self, message):
        match message:
            case BaseException():
                raise message
            case "sys.exit":
                sys.exit(3)
            case _:
                return message


class AsyncRaises(Raises):
    async def on_receive(self, message):
        await anyio.lowlevel.checkpoint()
        return Raises.on_receive(self, message)


BOTH = pytest.mark.parametrize("kind", [Recorder, SlowRecorder], ids=["plain", "async"])
BOTH_RAISE = pytest.mark.parametrize("kind", [Raises, AsyncRaises], ids=["plain", "async"])


# --- handlers and order


@BOTH
def test_messages_are_handled_in_the_order_they_were_sent(node, kind) -> None:
    ref = kind.start()
    for n in range(500):
        ref.tell(n)

    assert ref.ask("last", timeout=PATIENCE) == 501
    assert ref.proxy().log.get(timeout=PATIENCE) == [*range(500), "last"]


@BOTH
def test_messages_of_each_thread_keep_their_order(node, kind) -> None:
    ref = kind.start()

    def send(thread):
        for n in range(200):
            ref.tell((thread, n))

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ref.ask("end", timeout=PATIENCE)
    log = ref.proxy().log.get(timeout=PATIENCE)

    assert {name: [n for who, n in log[:-1] if who == name] for name in "abcd"} == {
        name: list(range(200)) for name in "abcd"
    }


@BOTH
async def test_messages_from_the_loop_are_handled_in_order(inner_node, kind) -> None:
    ref = kind.start()
    for n in range(300):
        ref.tell(n)

    assert await ref.ask("last", block=False) == 301
    assert await ref.proxy().log == [*range(300), "last"]


def test_while_a_handler_awaits_the_actor_s_other_messages_wait(node) -> None:
    gate = Gate.start()
    held: Future[str] = Future()
    first, second = gate.ask(held, block=False), gate.ask("second", block=False)
    with pytest.raises(pykka.Timeout):
        second.get(timeout=0.02)
    held.set("first")

    assert (first.get(timeout=PATIENCE), second.get(timeout=PATIENCE)) == ("first", "second")


def test_while_a_handler_awaits_other_actors_go_on(node) -> None:
    gate, recorder = Gate.start(), Recorder.start()
    held: Future[str] = Future()
    waiting = gate.ask(held, block=False)

    assert recorder.ask("hi", timeout=PATIENCE) == 1
    held.set("done")
    assert waiting.get(timeout=PATIENCE) == "done"


def test_one_actor_asks_another_and_awaits_the_answer(node) -> None:
    class Relay(Actor):
        def __init__(self, to):
            super().__init__()
            self.to = to

        async def on_receive(self, message):
            return ("via", await self.to.ask(message, block=False))

    relay = Relay.start(Relay.start(Gate.start()))

    assert relay.ask("hi", timeout=PATIENCE) == ("via", ("via", "hi"))


def test_a_handler_that_returns_a_future_answers_with_it_as_pykka_does(node) -> None:
    class Promises(Actor):
        def on_receive(self, message):
            future = Future[int]()
            future.set(7)
            return future

    assert Promises.start().ask("x", timeout=PATIENCE).get() == 7


def test_hooks_run_in_order_and_may_be_async(node) -> None:
    for wait in (False, True):
        log: list[str] = []

        class Hooked(Actor):
            async def on_start(self, log=log, wait=wait):
                if wait:
                    await anyio.lowlevel.checkpoint()
                log.append("start")

            async def on_receive(self, message, log=log):
                log.append(message)

            async def on_stop(self, log=log, wait=wait):
                if wait:
                    await anyio.lowlevel.checkpoint()
                log.append("stop")

        ref = Hooked.start()
        ref.tell("a")
        assert ref.stop(timeout=PATIENCE) is True
        assert log == ["start", "a", "stop"]


def test_proxied_methods_and_attributes_work_plain_and_async(node) -> None:
    class Counter(Actor):
        def __init__(self):
            super().__init__()
            self.n = 0

        def add(self, by):
            self.n += by
            return self.n

        async def add_later(self, by):
            await anyio.lowlevel.checkpoint()
            return self.add(by)

    counter = Counter.start().proxy()
    counter.n = 5

    assert counter.add(2).get(timeout=PATIENCE) == 7
    assert counter.add_later(3).get(timeout=PATIENCE) == 10
    counter.add.defer(1)
    assert counter.n.get(timeout=PATIENCE) == 11


async def test_a_proxy_is_awaited_in_async_code(inner_node) -> None:
    proxy = Recorder.start().proxy()
    proxy.log = [1]

    assert await proxy.log == [1]
    assert await proxy.on_receive("x") == 2


def test_actors_can_be_used_from_async_code_of_any_loop(node) -> None:
    ref = Recorder.start()

    async def body():
        return [await ref.ask(n, block=False) for n in range(3)]

    assert asyncio.run(body()) == [1, 2, 3]


def test_a_thousand_actors_share_the_loop(node) -> None:
    threads = threading.active_count()
    refs = [Recorder.start() for _ in range(1_000)]
    answers = pykka.get_all([ref.ask("hi", block=False) for ref in refs], timeout=PATIENCE)
    used = threading.active_count() - threads
    pykka.ActorRegistry.stop_all(timeout=PATIENCE)

    assert (list(answers), used) == ([1] * 1_000, 0)


# --- the end


@BOTH
def test_stop_lets_the_actor_handle_what_was_sent_before(node, kind) -> None:
    log: list[object] = []
    ref = kind.start(log)
    for n in range(100):
        ref.tell(n)

    assert ref.stop(timeout=PATIENCE) is True
    assert (log, ref.is_alive(), ref.stop(timeout=PATIENCE)) == (list(range(100)), False, False)


def test_what_is_sent_behind_a_stop_is_refused(node) -> None:
    gate = Gate.start()
    held: Future[str] = Future()
    first = gate.ask(held, block=False)
    before = gate.ask("before", block=False)
    stopped = gate.stop(block=False)
    behind = [gate.ask(n, block=False) for n in range(3)]
    held.set("first")

    assert (first.get(timeout=PATIENCE), before.get(timeout=PATIENCE)) == ("first", "before")
    assert stopped.get(timeout=PATIENCE) is True
    for late in behind:
        with pytest.raises(ProcessDead):
            late.get(timeout=PATIENCE)


@BOTH
def test_an_actor_that_stops_itself_handles_what_was_sent_before(node, kind) -> None:
    class StopsItself(kind):
        def on_receive(self, message):
            if message == "stop":
                self.stop()
            return super().on_receive(message)

    log: list[object] = []
    ref = StopsItself.start(log)
    down = supervisors.when_down(ref)
    inside(node, lambda: [ref.tell(message) for message in ("stop", "sent before it was handled")])

    assert down.get(timeout=PATIENCE).is_normal
    assert log == ["stop", "sent before it was handled"]


def test_a_message_for_a_dead_actor_says_why_it_ended(node) -> None:
    ref = Recorder.start()
    supervisors.exit(ref, "boom")
    supervisors.when_down(ref).get(timeout=PATIENCE)

    with pytest.raises(ProcessDead) as told:
        ref.tell("late")
    with pytest.raises(ProcessDead) as asked:
        ref.ask("late", timeout=PATIENCE)
    assert (told.value.reason, asked.value.reason) == (Custom("boom"), Custom("boom"))
    ref.send("late")  # silent
    ref.cast("late")
    supervisors.send(ref, "late")
    with pytest.raises(ProcessDead):
        ref.proxy()


class Busy(Actor):
    """Awaits in its handler for ever, and says when it does."""

    def __init__(self, begun: threading.Event) -> None:
        super().__init__()
        self.begun = begun

    async def on_receive(self, message):
        self.begun.set()
        await anyio.sleep_forever()


HOWS = [
    ("kill", lambda ref, node: supervisors.exit(ref, "kill"), "killed"),
    ("exit", lambda ref, node: supervisors.exit(ref, "boom"), "boom"),
]


@pytest.mark.parametrize(("how", "end", "reason"), HOWS, ids=[row[0] for row in HOWS])
def test_every_ask_ends_when_the_actor_does_also_the_one_being_handled(
    backend, how, end, reason
) -> None:
    with supervisors.Node(backend=backend, kill_grace=0.05) as node, silenced():
        begun = threading.Event()
        ref = Busy.start(begun)
        asks = [ref.ask(n, block=False) for n in range(10)]
        assert begun.wait(PATIENCE)
        end(ref, node)
        outcomes = [outcome(ask) for ask in asks]

    assert [type(found) for found in outcomes] == [ProcessDead] * 10
    assert {found.reason for found in outcomes} == {supervisors.as_reason(reason)}


def test_every_ask_ends_when_the_actor_crashes(node) -> None:
    with silenced():
        ref = Raises.start()
        ref.tell(ValueError("oops"))
        outcomes = []
        for n in range(10):
            try:
                outcomes.append(outcome(ref.ask(n, block=False)))
            except ProcessDead as error:
                outcomes.append(error)

    assert [type(found) for found in outcomes] == [ProcessDead] * 10


def outcome(future):
    try:
        return future.get(timeout=PATIENCE)
    except Exception as error:
        return error


def test_asks_of_many_threads_all_end_while_the_actor_stops(node) -> None:
    for _ in range(20):
        ref = Recorder.start()
        line = threading.Barrier(5)
        outcomes: list[object] = []

        def ask(ref=ref, line=line, outcomes=outcomes):
            line.wait()
            for n in range(30):
                try:
                    future = ref.ask(n, block=False)
                except pykka.ActorDeadError as error:
                    outcomes.append(error)
                else:
                    outcomes.append(outcome(future))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        line.wait()
        ref.stop(timeout=PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)

        assert len(outcomes) == 120
        assert not [found for found in outcomes if isinstance(found, pykka.Timeout)]


@pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", 1), "boom"])
@BOTH
def test_stop_ends_a_plain_actor_in_its_turn_with_the_reason(node, kind, reason) -> None:
    log: list[object] = []
    ref = kind.start(log)
    ref.tell("before")
    down = supervisors.when_down(ref)
    with silenced():
        supervisors.stop(ref, reason).get(timeout=PATIENCE)

    assert (log, down.get(timeout=PATIENCE)) == (["before"], supervisors.as_reason(reason))


def test_an_ended_actor_is_let_go(node) -> None:
    ref = Recorder.start()
    actor = weakref.ref(ref.process.actor)
    ref.tell([0] * 10)
    ref.stop(timeout=PATIENCE)
    supervisors.when_down(ref).get(timeout=PATIENCE)
    gc.collect()

    assert actor() is None


def test_an_actor_is_kept_while_it_runs_also_without_a_ref(node) -> None:
    log: list[object] = []

    class Ticks(Recorder):
        def on_receive(self, message):
            super().on_receive(message)
            done.set()

    done = threading.Event()
    supervisors.send_after(0.05, Ticks.start(log), "tick")
    gc.collect()
    assert done.wait(PATIENCE)
    assert log == ["tick"]


# --- failures


WHATEVER = [
    ValueError("oops"),
    KeyboardInterrupt(),
    SystemExit(3),
    GeneratorExit(),
    asyncio.CancelledError(),
    StopIteration(1),
    StopAsyncIteration(1),
    BaseException("base"),
    BaseExceptionGroup("group", [KeyboardInterrupt()]),
    ExceptionGroup("group", [ValueError()]),
    MemoryError(),
    RecursionError(),
    "sys.exit",
]


@pytest.mark.parametrize("what", WHATEVER, ids=repr)
@BOTH_RAISE
def test_whatever_an_actor_raises_when_told_ends_it_alone(node, kind, what) -> None:
    other, bad = Recorder.start(), kind.start()
    down = supervisors.when_down(bad)
    with silenced():
        bad.tell(what)
        reason = down.get(timeout=PATIENCE)

    assert not reason.is_calm
    assert other.ask("still here", timeout=PATIENCE) == 1
    assert kind.start().ask("and new ones start", timeout=PATIENCE)


@pytest.mark.parametrize("what", WHATEVER, ids=repr)
@BOTH_RAISE
def test_whatever_an_actor_raises_when_asked_the_asker_gets_an_answer(node, kind, what) -> None:
    other, bad = Recorder.start(), kind.start()
    with silenced():
        found: object = None
        try:
            bad.ask(what, timeout=PATIENCE)
        except BaseException as error:
            found = error

    assert found is not None
    assert not isinstance(found, pykka.Timeout)
    assert other.ask("still here", timeout=PATIENCE) == 1


@BOTH_RAISE
def test_an_exception_in_an_ask_goes_to_the_asker_and_the_actor_lives(node, kind) -> None:
    """As pykka has it; a GenServer crashes instead."""
    ref = kind.start()
    with pytest.raises(ValueError, match="oops"):
        ref.ask(ValueError("oops"), timeout=PATIENCE)

    assert ref.ask("still here", timeout=PATIENCE) == "still here"


@BOTH_RAISE
def test_the_reason_of_a_crash_is_the_exception_with_its_traceback(node, kind) -> None:
    ref = kind.start()
    down = supervisors.when_down(ref)
    with silenced():
        ref.tell(error := ValueError("oops"))
        reason = down.get(timeout=PATIENCE)

    assert isinstance(reason, Error)
    assert (reason.exception, reason.exception.__traceback__ is not None) == (error, True)


@pytest.mark.parametrize("hook", ["on_start", "on_stop", "on_failure"])
@pytest.mark.parametrize("what", [ValueError("oops"), KeyboardInterrupt(), SystemExit(1)], ids=repr)
@pytest.mark.parametrize("wait", [False, True], ids=["plain", "async"])
def test_a_hook_that_raises_ends_its_actor_alone(node, hook, what, wait) -> None:
    async def later(*_args):
        await anyio.lowlevel.checkpoint()
        raise what

    def now(*_args):
        raise what

    bad_class = type("Bad", (Raises,), {hook: later if wait else now})
    other = Recorder.start()
    with silenced():
        bad = bad_class.start()
        down = supervisors.when_down(bad)
        if hook == "on_stop":
            bad.stop(block=False)
        elif hook == "on_failure":
            bad.tell(KeyError("first"))
        down.get(timeout=PATIENCE)

    assert (bad.is_alive(), other.ask("still here", timeout=PATIENCE)) == (False, 1)


def test_exit_self_ends_an_actor_with_its_reason(node) -> None:
    class Leaves(Actor):
        def on_receive(self, message):
            supervisors.exit_self(message)

    for reason in ("normal", ("shutdown", 1), "boom"):
        ref = Leaves.start()
        down = supervisors.when_down(ref)
        with silenced():
            ref.tell(reason)

            assert down.get(timeout=PATIENCE) == supervisors.as_reason(reason)


class Unspeakable(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


@BOTH_RAISE
def test_a_crash_that_cannot_be_shown_still_is_a_crash_of_one(node, kind) -> None:
    other, bad = Recorder.start(), kind.start()
    down = supervisors.when_down(bad)
    bad.tell(Unspeakable())

    assert isinstance(down.get(timeout=PATIENCE), Error)
    assert other.ask("still here", timeout=PATIENCE) == 1


def test_a_handler_that_suppresses_its_own_timeout_goes_on(node) -> None:
    class Patient(Actor):
        async def on_receive(self, message):
            with anyio.move_on_after(0.01):
                await anyio.sleep_forever()
            return "went on"

    ref = Patient.start()

    assert [ref.ask(n, timeout=PATIENCE) for n in range(2)] == ["went on", "went on"]


def test_a_handler_s_own_timeout_is_no_cancellation_of_the_actor(node) -> None:
    class Hasty(Actor):
        async def on_receive(self, message):
            with anyio.fail_after(0.01):
                await anyio.sleep_forever()

    ref = Hasty.start()
    with pytest.raises(TimeoutError):
        ref.ask("x", timeout=PATIENCE)

    assert ref.is_alive()


def test_a_handler_may_use_task_groups(node) -> None:
    class Groups(Actor):
        async def on_receive(self, message):
            got: list[int] = []

            async def one(n):
                await anyio.lowlevel.checkpoint()
                got.append(n)
                if n == message:
                    raise ValueError(n)

            async with anyio.create_task_group() as tasks:
                for n in range(3):
                    tasks.start_soon(one, n)
            return sorted(got)

    ref = Groups.start()

    assert ref.ask(None, timeout=PATIENCE) == [0, 1, 2]
    with pytest.raises(ExceptionGroup):
        ref.ask(1, timeout=PATIENCE)
    assert ref.ask(None, timeout=PATIENCE) == [0, 1, 2]


# --- take


def test_a_handler_takes_the_first_unread_message_that_matches(node) -> None:
    class Takes(Recorder):
        async def on_receive(self, message):
            if isinstance(message, Future):
                await message
                self.log += [
                    self.take(str),
                    self.take(lambda m: m == 2),
                    self.take(int),
                    self.take(str),
                ]
                return None
            return super().on_receive(message)

    ref = Takes.start()
    gate: Future[None] = Future()
    ref.tell(gate)
    for message in (1, "a", 2):
        ref.tell(message)
    gate.set(None)
    ref.ask("end", timeout=PATIENCE)

    assert ref.proxy().log.get(timeout=PATIENCE) == ["a", 2, 1, None, "end"]


def test_a_handler_takes_an_exit_that_came_meanwhile(node) -> None:
    class Takes(Recorder):
        trap_exit = True

        async def on_receive(self, message):
            if not isinstance(message, Future):
                return super().on_receive(message)
            await message
            first = self.take(lambda m: isinstance(m, supervisors.Exit) and m.reason != Custom("a"))
            self.log += [first.reason, self.take(supervisors.Exit).reason, self.take()]
            return None

    ref = Takes.start()
    gate: Future[None] = Future()
    taking = ref.ask(gate, block=False)
    ref.tell("message")
    inside(node, lambda: [supervisors.exit(ref, reason) for reason in ("a", "b")])
    gate.set(None)
    taking.get(timeout=PATIENCE)

    assert ref.proxy().log.get(timeout=PATIENCE) == [Custom("b"), Custom("a"), "message"]


def test_a_pending_answer_is_a_message_like_any_other(node) -> None:
    """A future of somebody else's answer may be handed on; it is not taken for a request."""

    class Server(supervisors.GenServer):
        def init(self):
            self.log = []

        def handle_call(self, request, caller):
            return supervisors.NO_REPLY if request == "later" else self.log

        def handle_info(self, message):
            self.log.append(message)

        def handle_cast(self, request):
            self.log.append(request)

    other = Server.start_unlinked().get(timeout=PATIENCE)
    pending, asked = other.call("later", timeout=None), Gate.start().ask(Future(), block=False)
    plain = Recorder.start()
    server = Server.start_unlinked().get(timeout=PATIENCE)
    for future in (pending, asked):
        plain.tell(future)
        server.send(future)
        server.cast(future)
        supervisors.send(server, future)
    plain.ask(pending, timeout=PATIENCE)

    assert plain.proxy().log.get(timeout=PATIENCE) == [pending, asked, pending]
    assert server.call("log").get(timeout=PATIENCE) == [pending] * 3 + [asked] * 3
    assert (pending.done(), asked.done()) == (False, False)


def test_a_kill_between_a_handler_s_first_step_and_its_task_ends_everything(node) -> None:
    """The handler has returned its coroutine, whose task has not begun to run."""
    log: list[str] = []

    class Starts(Actor):
        async def on_receive(self, message):
            log.append("ran")
            await anyio.sleep_forever()

    busy, echo = Starts.start(), Gate.start()
    downs = inside(node, lambda: [supervisors.when_down(busy)])

    async def body():
        asked = busy.ask("x", block=False)
        await echo.ask("y", block=False)
        supervisors.exit(busy, "kill")
        return [asked]

    (asked,) = inside(node, body)

    assert downs[0].get(timeout=PATIENCE) == supervisors.KILLED
    with pytest.raises(ProcessDead):
        asked.get(timeout=PATIENCE)


def test_a_kill_during_on_stop_ends_who_waits_for_the_stop(node) -> None:
    begun = threading.Event()

    class Slow(Actor):
        async def on_stop(self):
            begun.set()
            await anyio.sleep_forever()

    ref = Slow.start()
    stopped = ref.stop(block=False)
    assert begun.wait(PATIENCE)
    supervisors.exit(ref, "kill")

    assert stopped.get(timeout=PATIENCE) is True
    assert not supervisors.is_alive(ref)


def test_a_handler_whose_awaited_task_was_cancelled_fails_alone(node) -> None:
    """A CancelledError that comes from elsewhere is no cancellation of the actor."""

    class Awaits(Actor):
        async def on_receive(self, message):
            if message == "cancelled":
                task = asyncio.ensure_future(asyncio.sleep(PATIENCE))
                await asyncio.sleep(0)
                task.cancel()
                await task
            return message

    with supervisors.Node(backend="asyncio"), silenced():
        bad, other = Awaits.start(), Awaits.start()
        down = supervisors.when_down(bad)
        asked = bad.ask("cancelled", block=False)

        assert isinstance(outcome_of(asked), (asyncio.CancelledError, ProcessDead))
        assert not bad.is_alive() or bad.ask("still here", timeout=PATIENCE) == "still here"
        assert other.ask("unharmed", timeout=PATIENCE) == "unharmed"
        if not bad.is_alive():
            assert not down.get(timeout=PATIENCE).is_calm


def outcome_of(future):
    try:
        return future.get(timeout=PATIENCE)
    except BaseException as error:
        return error


# --- wrong uses


def test_an_actor_that_forgets_super_init_is_told_the_line_to_write(node) -> None:
    class Forgets(Actor):
        def __init__(self):
            self.n = 0

    with pytest.raises(supervisors.SpecError, match=r"super\(\).__init__\(\)"):
        Forgets.start()


def test_a_constructor_that_raises_leaves_nothing_behind(node) -> None:
    class Fails(Actor):
        def __init__(self):
            super().__init__()
            raise ValueError("oops")

    before = len(pykka.ActorRegistry.get_all())
    with pytest.raises(ValueError, match="oops"):
        Fails.start()

    assert len(pykka.ActorRegistry.get_all()) == before


def test_start_in_a_handler_starts_on_the_same_node(node) -> None:
    class Starts(Actor):
        def on_receive(self, message):
            return Recorder.start()

    with supervisors.Node():
        pass
    child = Starts.start().ask("x", timeout=PATIENCE)

    assert child.node is node
    assert child.ask("hi", timeout=PATIENCE) == 1


def test_an_actor_knows_itself_and_its_node(node) -> None:
    class Knows(Actor):
        def on_receive(self, message):
            return (self.ref, self.actor_ref, supervisors.self_(), self.node, self.parent)

    ref = Knows.start()

    assert ref.ask("x", timeout=PATIENCE) == (ref, ref, ref, node, None)


async def test_self_is_the_actor_also_after_an_await(inner_node) -> None:
    class Knows(Actor):
        async def on_receive(self, message):
            first = supervisors.self_()
            await anyio.lowlevel.checkpoint()
            return first, supervisors.self_()

    ref = Knows.start()

    assert await ref.ask("x", block=False) == (ref, ref)


def test_ended_actors_cost_nothing_to_find(node) -> None:
    """pykka's registry holds what a user started by hand, and lets it go at its end."""
    before = set(pykka.ActorRegistry.get_all())
    refs = [Recorder.start() for _ in range(5)]
    assert set(pykka.ActorRegistry.get_all()) - before == set(refs)
    for ref in refs:
        supervisors.exit(ref, "kill")
        supervisors.when_down(ref).get(timeout=PATIENCE)

    assert set(pykka.ActorRegistry.get_all()) == before


def test_a_busy_actor_does_not_starve_the_others(node) -> None:
    class Endless(Actor):
        def on_receive(self, message):
            self.actor_ref.tell(message)

    ref, other = Endless.start(), Recorder.start()
    ref.tell("go")

    assert other.ask("hi", timeout=PATIENCE) == 1
    down = supervisors.when_down(ref)
    supervisors.exit(ref, "kill")
    assert down.get(timeout=PATIENCE) == supervisors.KILLED


def test_an_actor_with_a_long_queue_does_not_starve_the_others(node) -> None:
    order: list[str] = []

    class Slow(Actor):
        def on_receive(self, message):
            time.sleep(0.0005)
            order.append("slow")

    class Quick(Actor):
        def on_receive(self, message):
            order.append("quick")

    slow, quick = Slow.start(), Quick.start()
    inside(node, lambda: [*(slow.tell(n) for n in range(400)), quick.tell("hi")])
    slow.stop(timeout=PATIENCE)

    assert order.index("quick") < 300


def test_shutdown_reason_is_calm_and_not_reported(node) -> None:
    class Leaves(Actor):
        def on_receive(self, message):
            supervisors.exit_self(Shutdown("done"))

    ref = Leaves.start()
    down = supervisors.when_down(ref)
    with silenced() as reports:
        ref.tell("go")
        assert down.get(timeout=PATIENCE) == Shutdown("done")
    assert reports == []
