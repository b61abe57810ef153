"""What `supervisors.testing` gives to tests of actors, time that does not pass above all."""

from __future__ import annotations

import time as real

import pytest
from inside import PATIENCE, silenced, within

import supervisors
from supervisors import (
    KILLED,
    NOPROC,
    TIMEOUT,
    Backoff,
    CallTimeout,
    Custom,
    Future,
    GenServer,
    NodeStopped,
    Ok,
    Supervisor,
    exit,
    exit_self,
    receive,
    self_,
    send,
    send_after,
    spawn,
    when_down,
)
from supervisors.testing import (
    VirtualTime,
    assert_receive,
    exit_of,
    fresh_node,
    refute_receive,
    virtual_node,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


def get(future):
    return future.get(timeout=PATIENCE)


class Worker(GenServer):
    def handle_cast(self, request):
        exit_self(request)

    def handle_call(self, request, caller):
        return supervisors.NO_REPLY if request == "never" else request


async def wait_for_ever():
    await receive(lambda _: False)


def outcome_of(node, body):
    """The future of what *body* returns or raises in a process of *node*."""
    done: Future[object] = Future()

    async def run():
        try:
            done.set(await body())
        except BaseException as error:
            done.try_fail(error)

    spawn(run, node=node, trap_exit=True)
    return done


# --- nodes for tests


def test_a_fresh_node_is_entered_and_stopped(backend) -> None:
    with fresh_node(backend) as node:
        ref = get(Worker.start_unlinked())
        assert (ref.node, supervisors.current_node(), get(ref.call("hi"))) == (node, node, "hi")
    assert (node.running, supervisors.is_alive(ref)) == (False, False)


def test_a_fresh_node_takes_the_options_of_a_node(backend) -> None:
    with fresh_node(backend, name="paris", watchdog=None) as node:
        assert node.name == "paris"


def test_a_fresh_node_lets_the_error_of_a_test_pass(backend) -> None:
    with pytest.raises(ValueError, match="oops"), fresh_node(backend):
        raise ValueError("oops")


def test_unknown_options_are_refused(backend) -> None:
    with pytest.raises(TypeError), fresh_node(backend, colour="red"):
        pass
    with pytest.raises(supervisors.SpecError, match=r'"asyncio"'), fresh_node("twisted"):
        pass


# --- exit_of


@pytest.mark.parametrize("reason", ["boom", "kill", "normal"])
def test_exit_of_is_the_reason_of_an_end(backend, reason) -> None:
    with fresh_node(backend):
        ref = get(Worker.start_unlinked())
        ended = exit_of(ref)
        supervisors.stop(ref) if reason == "normal" else exit(ref, reason)

        assert (
            get(ended)
            == {
                "boom": Custom("boom"),
                "kill": KILLED,
                "normal": supervisors.NORMAL,
            }[reason]
        )


def test_exit_of_what_has_ended_is_noproc(backend) -> None:
    with fresh_node(backend):
        ref = spawn(lambda: None)
        get(when_down(ref))

        assert get(exit_of(ref)) == NOPROC
        assert get(exit_of("nobody")) == NOPROC


def test_exit_of_what_goes_on_fails_and_shows_it(backend) -> None:
    with fresh_node(backend):
        ref = spawn(wait_for_ever)
        with pytest.raises(AssertionError, match="wait_for_ever"):
            get(exit_of(ref, timeout=0.02))


async def test_exit_of_is_awaited_too(inner_node) -> None:
    ref = spawn(wait_for_ever)
    ended = exit_of(ref)
    exit(ref, "boom")

    assert await within(ended) == Custom("boom")


# --- assert_receive, refute_receive


def test_assert_receive_takes_the_first_message_that_matches(backend) -> None:
    with fresh_node(backend):
        for message in (1, "a", 2):
            send(self_(), message)

        assert get(assert_receive(str)) == "a"
        assert get(assert_receive(lambda m: m == 2)) == 2
        assert get(assert_receive()) == 1


def test_assert_receive_waits_for_a_message_to_come(backend) -> None:
    with fresh_node(backend):
        send_after(0.02, self_(), "late")

        assert get(assert_receive("late".__eq__, timeout=PATIENCE)) == "late"


def test_assert_receive_fails_and_shows_the_mailbox(backend) -> None:
    with fresh_node(backend):
        send(self_(), "other")
        with pytest.raises(AssertionError, match="'other'"):
            get(assert_receive(int, timeout=0.02))
        send(self_(), 1)

        assert get(assert_receive(int)) == 1  # not taken by the one that gave up
        assert get(assert_receive()) == "other"


def test_refute_receive_is_content_with_silence(backend) -> None:
    with fresh_node(backend):
        send(self_(), "other")

        assert get(refute_receive(int, timeout=0.02)) is None
        assert get(assert_receive()) == "other"


def test_refute_receive_fails_and_shows_the_message(backend) -> None:
    with fresh_node(backend):
        send(self_(), 7)
        with pytest.raises(AssertionError, match="7"):
            get(refute_receive(int, timeout=PATIENCE))


async def test_both_are_awaited_too(inner_node) -> None:
    send(self_(), "a")

    assert await within(assert_receive(str)) == "a"
    assert await within(refute_receive(timeout=0.01)) is None


def test_both_work_in_virtual_time(backend) -> None:
    with virtual_node(backend) as (_node, time):
        send_after(3600, self_(), "late")
        with pytest.raises(AssertionError):
            get(assert_receive(timeout=0.02))  # the test's own patience is in real seconds
        waits = assert_receive("late".__eq__)
        get(time.advance(3600))

        assert get(waits) == "late"


# --- virtual time


def test_time_passes_only_when_told(backend) -> None:
    with virtual_node(backend) as (node, time):
        begin = time()
        assert (node.now(), time()) == (begin, begin)
        real.sleep(0.01)
        assert time() == begin
        assert get(time.advance(5)) is None
        assert (node.now(), time()) == (begin + 5, begin + 5)
        get(time.advance(0))
        assert time() == begin + 5


def test_an_hour_takes_no_time(backend) -> None:
    with virtual_node(backend) as (_node, time):
        begin = real.monotonic()
        ticks: list[float] = []

        class Ticks(Worker):
            def init(self):
                self.ref.cast("tick")

            def handle_cast(self, request):
                ticks.append(time())
                send_after(1.0, self.ref, "tick")

            def handle_info(self, message):
                self.handle_cast(message)

        start = time()
        starting = Ticks.start_unlinked()
        get(time.advance(0))
        get(starting)
        get(time.advance(3600))

    assert [tick - start for tick in ticks] == list(range(3601))
    assert real.monotonic() - begin < 10


def test_timers_fire_at_their_moment_in_order(backend) -> None:
    with virtual_node(backend) as (node, time):
        seen: list[tuple[str, float]] = []
        begin = time()
        for name, delay in (("c", 3), ("a", 1), ("b", 2)):
            node.after(delay, lambda name=name: seen.append((name, time() - begin)))
        get(time.advance(2))
        assert seen == [("a", 1), ("b", 2)]
        get(time.advance(2))

    assert seen == [("a", 1), ("b", 2), ("c", 3)]


def test_what_a_timer_sets_off_is_done_before_the_next_fires(backend) -> None:
    with virtual_node(backend) as (node, time):
        seen: list[str] = []

        async def body():
            send_after(1, self_(), "one")
            send_after(2, self_(), "two")
            for _ in range(2):
                message = await receive()
                ref = spawn(lambda message=message: seen.append(message))
                await when_down(ref)
                seen.append(f"after {message}")

        done = outcome_of(node, body)
        get(time.advance(10))
        get(done)

    assert seen == ["one", "after one", "two", "after two"]


def test_advance_in_a_process_of_the_node(backend) -> None:
    with virtual_node(backend) as (node, time):

        async def body():
            send_after(60, self_(), "tick")
            await time.advance(59)
            early = supervisors.mailbox()
            await time.advance(1)
            return early, supervisors.mailbox()

        assert get(outcome_of(node, body)) == ([], ["tick"])


def test_call_timeouts_follow_virtual_time(backend) -> None:
    with virtual_node(backend) as (node, time):

        async def body():
            ref = await Worker.start_unlinked()
            begin = time()
            with pytest.raises(CallTimeout):
                await ref.call("never", timeout=600)
            return time() - begin

        done = outcome_of(node, body)
        get(time.advance(599))
        assert not done.done()
        get(time.advance(1))

        assert get(done) == 600


def test_idle_timeouts_follow_virtual_time(backend) -> None:
    with virtual_node(backend) as (_node, time):
        seen: list[object] = []

        class Idle(Worker):
            def init(self):
                return Ok(timeout=600)

            def handle_info(self, message):
                seen.append((message, time() - begin))

        begin = time()
        starting = Idle.start_unlinked()
        get(time.advance(599))
        get(starting)
        assert seen == []
        get(time.advance(2))

    assert seen == [(TIMEOUT, 600)]


def restarts_of(node, time, gap, crashes, **options):
    """How many starts a worker sees that crashes every *gap* seconds."""
    starts: list[float] = []

    class Counted(Worker):
        def init(self):
            starts.append(time())

    async def body():
        return await Supervisor.start_link([Counted.child_spec(id="w")], **options)

    done: Future[object] = Future()

    async def run():
        sup = await body()
        done.set([sup, when_down(sup)])
        await receive(lambda _: False)

    keeper = spawn(run, node=node, trap_exit=True)
    get(time.advance(0))
    sup, down = get(done)
    for _ in range(crashes):
        if down.done():
            break
        children = sup.which_children()
        get(time.advance(0))
        child = get(children)[0]
        if isinstance(child.ref, supervisors.Ref):
            child.ref.cast("boom")
        get(time.advance(gap))
    gave_up = down.done()
    exit(keeper, "kill")
    return len(starts), gave_up


def test_restart_windows_follow_virtual_time(backend) -> None:
    """SHEET 11: the window is inclusive; max_restarts within it are allowed, the next is not."""
    options = {"strategy": "one_for_one", "max_restarts": 3, "max_seconds": 60.0}
    for gap, found in ((20.0, (4, True)), (20.1, (11, False))):
        with virtual_node(backend) as (node, time):
            assert restarts_of(node, time, gap, 10, **options) == found


def test_back_off_follows_virtual_time(backend) -> None:
    starts: list[float] = []
    with virtual_node(backend) as (node, time):

        class Fails(Worker):
            def init(self):
                starts.append(time() - begin)
                if len(starts) == 1:
                    send_after(0, self.ref, "crash")
                elif len(starts) < 5:
                    raise ValueError("not yet")

            def handle_info(self, message):
                exit_self(message)

        begin = time()
        spec = Fails.child_spec(
            id="w", restart_delay=Backoff(10.0, 1_000.0, factor=2.0, jitter=0.0)
        )

        async def run():
            await Supervisor.start_link(
                [spec], strategy="one_for_one", max_restarts=100, max_seconds=1.0
            )
            await receive(lambda _: False)

        spawn(run, node=node, trap_exit=True)
        get(time.advance(0))
        get(time.advance(500))

    assert starts == [0, 10, 30, 70, 150]


def test_a_virtual_node_can_be_stopped_although_time_stands_still(backend) -> None:
    begin = real.monotonic()
    with virtual_node(backend) as (_node, time):
        starting = Worker.start_unlinked()
        get(time.advance(0))
        get(starting)
        spawn(wait_for_ever)
    assert real.monotonic() - begin < 4


def test_advance_backwards_or_by_no_number_is_refused(backend) -> None:
    with virtual_node(backend) as (_node, time):
        before = time()
        for seconds in (-1, float("nan"), "1", None):
            with pytest.raises((ValueError, TypeError)):
                get(time.advance(seconds))
        assert time() == before


def test_a_time_of_its_own_belongs_to_no_node() -> None:
    with pytest.raises(NodeStopped, match="virtual_node"):
        VirtualTime().advance(1)


async def test_advance_is_awaited_in_another_loop(anyio_backend, backend) -> None:
    with virtual_node(backend) as (node, time):
        done: Future[str] = Future()
        node.after(60, done.set, "done")
        await within(time.advance(60))

        assert await within(done) == "done"
