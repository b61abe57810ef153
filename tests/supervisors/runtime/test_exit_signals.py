"""Exit signals: OTP's whole table, for actors, spawned functions, tasks and threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import anyio
import anyio.lowlevel
import pytest
import trio
import trio.lowlevel
import trio.testing
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    KILL,
    KILLED,
    NORMAL,
    SHUTDOWN,
    Actor,
    Custom,
    Error,
    Exit,
    ExitProcess,
    Future,
    Shutdown,
    exit,
    exit_self,
    is_alive,
    receive,
    self_,
    spawn,
    trap_exit,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


def downs(node, *refs):
    """The futures of ends, entered before this returns."""
    return inside(node, lambda: [when_down(ref) for ref in refs])


BOOM, WHY = Custom("boom"), Shutdown("why")
CRASH = Error(ValueError("oops"))

# [p_signal_*] [p_self_signal_*] The reason sent; what a plain process ends with (None: it lives);
# the message a trapping one gets (None: it ends with killed); the same when sent to itself.
TABLE = [
    (NORMAL, None, NORMAL, NORMAL, NORMAL),
    (SHUTDOWN, SHUTDOWN, SHUTDOWN, SHUTDOWN, SHUTDOWN),
    (WHY, WHY, WHY, WHY, WHY),
    (BOOM, BOOM, BOOM, BOOM, BOOM),
    (CRASH, CRASH, CRASH, CRASH, CRASH),
    (KILLED, KILLED, KILLED, KILLED, KILLED),
    (KILL, KILLED, None, KILLED, None),
]
ROWS = pytest.mark.parametrize("row", TABLE, ids=[str(row[0]) for row in TABLE])


class Plain(Actor):
    """Calls what it is sent, in its own process; keeps every other message."""

    def __init__(self, log: list[object]) -> None:
        super().__init__()
        self.log = log

    def on_receive(self, message):
        if callable(message):
            message()
        else:
            self.log.append(message)


class PlainAsync(Plain):
    async def on_receive(self, message):
        await anyio.lowlevel.checkpoint()
        super().on_receive(message)


class Server(supervisors.GenServer):
    def init(self, log):
        self.log = log

    def handle_info(self, message):
        if callable(message):
            message()
        else:
            self.log.append(message)


def actor(kind):
    def make(node, log, trapping):
        return type(kind.__name__, (kind,), {"trap_exit": trapping}).start(log)

    return make


def server(node, log, trapping):
    kind = type("Server", (Server,), {"trap_exit": trapping})
    return kind.start_unlinked(log).get(timeout=PATIENCE)


def spawned(node, log, trapping):
    async def obey():
        while True:
            message = await receive()
            if callable(message):
                message()
            elif message == Exit(None, SHUTDOWN):
                return  # the node stops
            else:
                log.append(message)

    return spawn(obey, trap_exit=trapping)


MAKERS = [actor(Plain), actor(PlainAsync), server, spawned]
KINDS = pytest.mark.parametrize("make", MAKERS, ids=["actor", "async actor", "server", "spawned"])


def through(ref):
    """Wait until *ref* has handled what was sent to it before."""
    done: Future[None] = Future()
    ref.send(lambda: done.try_set(None))
    done.get(timeout=PATIENCE)


@KINDS
@ROWS
def test_what_a_signal_does(node, make, row) -> None:
    reason, plain, trapped, *_ = row
    log: list[object] = []
    ref = make(node, log, trapping=False)
    (down,) = downs(node, ref)
    exit(ref, reason)
    if plain is None:
        through(ref)
        assert (is_alive(ref), log) == (True, [])
    else:
        assert (down.get(timeout=PATIENCE), log) == (plain, [])

    ref = make(node, log, trapping=True)
    (down,) = downs(node, ref)
    exit(ref, reason)
    if trapped is None:
        assert (down.get(timeout=PATIENCE), log) == (KILLED, [])
    else:
        through(ref)
        assert [(entry.reason, is_alive(ref)) for entry in log] == [(trapped, True)]


@KINDS
@ROWS
def test_what_a_signal_to_oneself_does(node, make, row) -> None:
    reason, _, _, plain_self, trapped_self = row
    log: list[object] = []
    after: list[object] = []
    ref = make(node, log, trapping=False)
    (down,) = downs(node, ref)
    ref.send(lambda: (exit(self_(), reason), after.append("went on")))
    assert (down.get(timeout=PATIENCE), log, after) == (plain_self, [], [])

    ref = make(node, log, trapping=True)
    (down,) = downs(node, ref)
    ref.send(lambda: (exit(self_(), reason), after.append("went on")))
    if trapped_self is None:
        assert (down.get(timeout=PATIENCE), log) == (KILLED, [])
    else:
        through(ref)
        assert (log, after) == ([Exit(ref, trapped_self)], ["went on"])


@KINDS
def test_an_exit_names_who_sent_the_signal(node, make) -> None:
    log: list[object] = []
    ref = make(node, log, trapping=True)
    sender = inside(node, lambda: (exit(ref, "boom"), self_())[1])
    through(ref)

    assert log == [Exit(sender, BOOM)]


@KINDS
def test_the_flag_is_looked_at_when_the_signal_arrives(node, make) -> None:
    """[p_trap_flag_late]"""
    log: list[object] = []
    flags: list[object] = []
    ref = make(node, log, trapping=False)
    ref.send(
        lambda: flags.extend([trap_exit(), trap_exit(True), trap_exit(False), trap_exit(True)])
    )
    through(ref)
    exit(ref, "boom")
    through(ref)
    assert flags == [False, True, True, False]
    assert [entry.reason for entry in log] == [BOOM]
    ref.send(lambda: trap_exit(False))
    through(ref)
    (down,) = downs(node, ref)
    exit(ref, "bang")

    assert down.get(timeout=PATIENCE) == Custom("bang")


@KINDS
def test_a_plain_process_dies_over_its_queue(node, make) -> None:
    """[g_plain_server_dies_over_queue]"""
    log: list[object] = []
    ref = make(node, log, trapping=False)
    (down,) = downs(node, ref)

    def flood():
        for n in range(100):
            ref.send(n)
        exit(ref, "boom")

    inside(node, flood)
    down.get(timeout=PATIENCE)

    assert log == []


def test_signals_to_the_dead_vanish(node) -> None:
    ref = spawn(lambda: None)
    when_down(ref).get(timeout=PATIENCE)
    for reason in ("boom", "kill", "normal"):
        exit(ref, reason)


def test_signals_to_an_unknown_name_vanish_or_say_so(node) -> None:
    """erlang:exit/2 takes no names; here one that nobody has is like a process that has ended."""
    exit("nobody", "boom")


# --- exit_self


@KINDS
@pytest.mark.parametrize("reason", [NORMAL, SHUTDOWN, WHY, BOOM, KILL, KILLED], ids=str)
def test_exit_self_ends_with_exactly_its_reason(node, make, reason) -> None:
    for trapping in (False, True):
        ref = make(node, [], trapping)
        (down,) = downs(node, ref)
        ref.send(lambda: exit_self(reason))

        assert down.get(timeout=PATIENCE) == reason


def test_exit_self_without_a_reason_is_normal(node) -> None:
    ref = spawn(exit_self)

    assert downs(node, ref)[0].get(timeout=PATIENCE).is_normal or not is_alive(ref)


def test_exit_self_unwinds_through_finally_and_context_managers(node) -> None:
    seen: list[str] = []

    async def body():
        try:
            async with anyio.create_task_group():
                exit_self("boom")
        finally:
            seen.append("cleaned up")

    ref, watch = inside(node, lambda: (spawn(body), None))
    down = when_down(ref).get(timeout=PATIENCE)

    assert seen == ["cleaned up"]
    assert down in (BOOM, supervisors.NOPROC) or isinstance(down, Error)
    assert watch is None


def test_an_exit_that_is_caught_does_not_end_the_process(node) -> None:
    """As `catch exit(boom)` in Erlang."""

    def body():
        try:
            exit_self("boom")
        except ExitProcess as error:
            return error.exit_reason

    assert inside(node, body) == BOOM


# --- kill in the middle of work


@pytest.mark.parametrize("trapping", [False, True])
def test_a_kill_reaches_a_handler_that_awaits(node, trapping) -> None:
    seen: list[str] = []
    begun = threading.Event()

    class Waits(Actor):
        async def on_receive(self, message):
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                seen.append("finally")

        def on_stop(self):
            seen.append("on_stop")

        def on_failure(self, *_):
            seen.append("on_failure")

    ref = type("Waits", (Waits,), {"trap_exit": trapping}).start()
    (down,) = downs(node, ref)
    ref.tell("go")
    ref.tell("never")
    assert begun.wait(PATIENCE)
    exit(ref, KILL)

    assert (down.get(timeout=PATIENCE), seen) == (KILLED, ["finally"])


def test_a_kill_reaches_a_handler_that_never_rests_but_lets_others_run(node) -> None:
    """[probe:dirty_exit] a tight loop dies at its next await."""
    begun = threading.Event()

    class Tight(Actor):
        async def on_receive(self, message):
            begun.set()
            while True:
                await anyio.lowlevel.checkpoint()

    ref = Tight.start()
    (down,) = downs(node, ref)
    ref.tell("go")
    assert begun.wait(PATIENCE)
    exit(ref, KILL)

    assert down.get(timeout=PATIENCE) == KILLED


def test_a_signal_reaches_a_plain_handler_that_awaits(node) -> None:
    """[s_busy_child_not_trapping_dies_at_once]"""
    begun = threading.Event()

    class Waits(Actor):
        async def on_receive(self, message):
            begun.set()
            await anyio.sleep_forever()

    ref = Waits.start()
    (down,) = downs(node, ref)
    ref.tell("go")
    assert begun.wait(PATIENCE)
    exit(ref, ("shutdown", "why"))

    assert down.get(timeout=PATIENCE) == WHY


def test_a_signal_waits_for_a_trapping_handler_that_awaits(node) -> None:
    begun = threading.Event()
    gate: Future[str] = Future()

    class Waits(Actor):
        trap_exit = True

        def __init__(self):
            super().__init__()
            self.log = []

        async def on_receive(self, message):
            if message is gate:
                begun.set()
                message = await gate
            self.log.append(message)

    ref = Waits.start()
    ref.tell(gate)
    assert begun.wait(PATIENCE)
    exit(ref, "boom")
    gate.set("finished")
    log = ref.proxy().log.get(timeout=PATIENCE)

    assert [getattr(entry, "reason", entry) for entry in log] == ["finished", BOOM]


def test_a_signal_to_a_handler_in_plain_code_works_when_it_returns(node) -> None:
    begun, go = threading.Event(), threading.Event()
    seen: list[str] = []

    class Works(Actor):
        def on_receive(self, message):
            begun.set()
            go.wait(PATIENCE)
            seen.append(message)

    ref = Works.start()
    (down,) = downs(node, ref)
    ref.tell("first")
    ref.tell("second")
    assert begun.wait(PATIENCE)
    exit(ref, KILL)
    assert down.done() is False
    go.set()

    assert (down.get(timeout=PATIENCE), seen) == (KILLED, ["first"])


def test_two_signals_the_first_decides_unless_the_second_kills(node) -> None:
    for second, expected in (("bang", {BOOM}), ("kill", {BOOM, KILLED})):
        ref = spawn(receive_for_ever)
        (down,) = downs(node, ref)
        inside(node, lambda ref=ref, second=second: (exit(ref, "boom"), exit(ref, second)))

        assert down.get(timeout=PATIENCE) in expected


async def receive_for_ever():
    await receive(lambda _: False)


def test_a_kill_ends_a_spawned_function_before_it_has_begun(node) -> None:
    ran: list[str] = []

    def body():
        ref = spawn(lambda: ran.append("ran"))
        down = when_down(ref)
        exit(ref, KILL)
        return [down]

    assert inside(node, body)[0].get(timeout=PATIENCE) == KILLED
    assert ran == []


def test_a_kill_ends_an_actor_before_it_has_begun(node) -> None:
    log: list[object] = []
    ref = Plain.start(log)
    exit(ref, KILL)
    ref.send("late")
    when_down(ref).get(timeout=PATIENCE)

    assert (is_alive(ref), log in ([], ["late"])) == (False, True)


# --- tasks of the user's: they trap exits until they say otherwise


async def test_a_signal_cancels_a_task_that_does_not_trap(inner_node) -> None:
    seen: list[object] = []

    async def task(*, task_status):
        assert trap_exit(False) is True
        task_status.started(self_())
        with anyio.CancelScope():  # trio cancels no task of a nursery alone, but its own scopes
            try:
                await anyio.Event().wait()
            except BaseException as error:
                seen.append(isinstance(error, anyio.get_cancelled_exc_class()))
                raise

    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        down = when_down(ref)
        exit(ref, "boom")

        assert await within(down) == BOOM
    assert seen == [True]


def test_a_signal_cancels_one_asyncio_task_and_not_its_siblings() -> None:
    async def main():
        async with supervisors.Node():
            gate, found = asyncio.Event(), Future[supervisors.Ref]()

            async def victim():
                trap_exit(False)
                found.set(self_())
                await asyncio.sleep(PATIENCE)

            async def sibling():
                await gate.wait()
                return "sibling"

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(victim())
                other = tasks.create_task(sibling())
                ref = await found
                down = when_down(ref)
                exit(ref, "boom")
                assert await within(down) == BOOM
                await asyncio.sleep(0.01)
                gate.set()
            return other.result()

    assert asyncio.run(main()) == "sibling"


def test_a_signal_to_a_trio_task_leaves_its_siblings_alone() -> None:
    """Trio ends no task of a nursery alone; so the task is told where it waits for a message."""

    async def main():
        async with supervisors.Node():
            gate, found, seen = trio.Event(), Future[supervisors.Ref](), []

            async def victim():
                trap_exit(False)
                found.set(self_())
                try:
                    await receive(lambda _: False)
                except supervisors.ProcessDead as error:
                    seen.append(error.reason)

            async def sibling():
                await gate.wait()
                seen.append("sibling")

            async with trio.open_nursery() as nursery:
                nursery.start_soon(victim)
                nursery.start_soon(sibling)
                ref = await found
                down = when_down(ref)
                exit(ref, "boom")
                assert await within(down) == BOOM
                await trio.testing.wait_all_tasks_blocked()
                gate.set()
                await trio.testing.wait_all_tasks_blocked()
                seen.append("parent")
            return seen

    assert trio.run(main) == [BOOM, "sibling", "parent"]


def test_a_signal_cancels_a_trio_task_up_to_the_scope_it_opened() -> None:
    async def main():
        async with supervisors.Node():
            found, seen = Future[supervisors.Ref](), []

            async def victim():
                with trio.CancelScope() as scope:
                    trap_exit(False)
                    found.set(self_())
                    await trio.sleep_forever()
                seen.append(scope.cancelled_caught)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(victim)
                exit(await found, "boom")
            return seen

    assert trio.run(main) == [True]


@pytest.mark.parametrize("own_scope", [True, False])
def test_a_signal_cuts_no_sleep_of_a_trio_task_short(own_scope) -> None:
    """`trio.sleep` has a scope of its own: to cancel that would only end the sleep too early."""

    async def main():
        async with supervisors.Node():
            found, seen = Future[supervisors.Ref](), []

            async def victim():
                trap_exit(False)
                found.set(self_())
                with trio.CancelScope() if own_scope else contextlib.nullcontext():
                    begin = trio.current_time()
                    await trio.sleep(0.2)
                    seen.append(trio.current_time() - begin >= 0.2)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(victim)
                exit(await found, "boom")
            return seen

    assert trio.run(main) == ([] if own_scope else [True])


async def test_a_kill_cancels_a_task_that_traps(inner_node) -> None:
    async def task(*, task_status):
        with anyio.CancelScope():
            task_status.started(self_())
            await anyio.Event().wait()

    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        down = when_down(ref)
        exit(ref, KILL)

        assert await within(down) == KILLED


async def test_a_task_traps_until_it_says_otherwise(inner_node) -> None:
    async def task(*, task_status):
        task_status.started(self_())
        log.append(await receive(Exit))

    log: list[object] = []
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        exit(ref, "boom")

    assert log == [Exit(self_(), BOOM)]


async def test_a_task_that_sends_itself_a_signal_unwinds(inner_node) -> None:
    reasons: list[object] = []

    async def task(*, task_status):
        trap_exit(False)
        task_status.started(self_())
        await anyio.lowlevel.checkpoint()
        try:
            exit(self_(), "boom")
        except ExitProcess as error:
            reasons.append(error.exit_reason)

    async with anyio.create_task_group() as tasks:
        await tasks.start(task)

    assert reasons == [BOOM]


def test_asyncio_tasks_are_cancelled_by_a_signal_from_a_thread() -> None:
    async def main():
        async with supervisors.Node():
            found: Future[supervisors.Ref] = Future()

            async def wait():
                found.set(self_())
                await anyio.sleep_forever()

            task = asyncio.ensure_future(wait())
            ref = await found
            await anyio.to_thread.run_sync(exit, ref, "kill")
            with pytest.raises(asyncio.CancelledError):
                await task
            return "went on"

    assert asyncio.run(main()) == "went on"


def test_trio_tasks_are_cancelled_by_a_signal_from_a_thread() -> None:
    async def main():
        async with supervisors.Node():
            found: Future[supervisors.Ref] = Future()

            async def wait():
                with trio.CancelScope():
                    found.set(self_())
                    await trio.sleep_forever()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                ref = await found
                down = when_down(ref)
                await trio.to_thread.run_sync(exit, ref, "kill")
                return await within(down)

    assert trio.run(main) == KILLED


# --- threads: they trap exits until they say otherwise


def in_thread(function):
    """Start a thread; returns it and the future of its ref, made inside it."""
    ready: Future[supervisors.Ref] = Future()
    out: list[object] = []

    def run():
        ready.set(self_())
        try:
            out.append(function())
        except BaseException as error:
            out.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ready.get(timeout=PATIENCE), out


def test_a_thread_that_waits_for_a_message_is_told_of_a_signal(node) -> None:
    """A thread cannot be stopped from outside; it is told where it waits."""
    for reason, ended in (("boom", BOOM), ("kill", KILLED)):
        begun = threading.Event()

        def wait(begun=begun):
            trap_exit(False)
            begun.set()
            return receive(lambda _: False).get(timeout=PATIENCE)

        thread, ref, out = in_thread(wait)
        assert begun.wait(PATIENCE)
        (down,) = downs(ref.node, ref)
        exit(ref, reason)
        thread.join(PATIENCE)

        assert down.get(timeout=PATIENCE) == ended
        assert isinstance(out[0], (supervisors.ProcessDead, ExitProcess))


def test_a_thread_traps_until_it_says_otherwise(node) -> None:
    thread, ref, out = in_thread(lambda: receive(Exit, PATIENCE).get(timeout=PATIENCE))
    exit(ref, "boom")
    thread.join(PATIENCE)

    assert [entry.reason for entry in out] == [BOOM]


def test_a_thread_that_sends_itself_a_signal_unwinds(node) -> None:
    thread, ref, out = in_thread(lambda: (trap_exit(False), exit(self_(), "boom")))
    thread.join(PATIENCE)

    assert [error.exit_reason for error in out] == [BOOM]
    assert when_down(ref).get(timeout=PATIENCE) in (BOOM, supervisors.NOPROC)
