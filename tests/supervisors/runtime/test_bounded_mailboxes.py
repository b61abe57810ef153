"""A mailbox with a bound: what each policy does with one message too many."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pykka
import pytest
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import Actor, Bound, Future, GenServer, MailboxFull, ProcessDead


class Gate(Actor):
    """Holds its first message until the future in it is set; keeps the others."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[object] = []

    async def on_receive(self, message):
        if isinstance(message, Future):
            return await message
        if callable(message):
            return message(self)
        self.log.append(message)
        return message


def bounded(overflow: str, limit: int = 3) -> tuple[supervisors.ActorRef[Gate], Future[None]]:
    """An actor that is busy, with an empty mailbox of *limit*, and what lets it go on."""
    kind = type("Bounded", (Gate,), {"mailbox_bound": Bound(limit, overflow)})
    ref, held = kind.start(), Future[None]()
    begun: Future[None] = Future()

    class Begin(Future):
        def __await__(self):
            begun.try_set(None)
            return held.__await__()

    ref.ask(Begin(), block=False)
    begun.get(timeout=PATIENCE)
    return ref, held


def log_of(ref, held) -> list[object]:
    """What the actor got until now, seen at its end: a stop is never dropped."""
    actor = ref.process.actor
    held.try_set(None)
    supervisors.stop(ref).get(timeout=PATIENCE)
    return actor.log


def test_messages_up_to_the_limit_are_taken(node) -> None:
    for overflow in ("block", "reject", "drop_oldest", "drop_newest"):
        ref, held = bounded(overflow)
        for n in range(3):
            ref.tell(n)

        assert log_of(ref, held) == [0, 1, 2]


# --- reject


def test_a_mailbox_that_rejects_raises_for_tell_and_fails_an_ask(node) -> None:
    ref, held = bounded("reject")
    for n in range(3):
        ref.tell(n)

    with pytest.raises(MailboxFull, match="3"):
        ref.tell("one too many")
    with pytest.raises(MailboxFull):
        ref.ask("one too many", block=False).get(timeout=PATIENCE)
    assert log_of(ref, held) == [0, 1, 2]


def test_a_mailbox_that_rejects_has_room_again_once_a_message_is_handled(node) -> None:
    ref, held = bounded("reject", 1)
    ref.tell("a")
    with pytest.raises(MailboxFull):
        ref.tell("b")
    held.set(None)

    while supervisors.info(ref).unread:
        pass
    assert ref.ask("c", timeout=PATIENCE) == "c"


async def test_a_mailbox_that_rejects_raises_on_the_loop_too(inner_node) -> None:
    kind = type("Bounded", (Gate,), {"mailbox_bound": Bound(1, "reject")})
    ref, held = kind.start(), Future[None]()
    asked = ref.ask(held, block=False)
    await anyio.sleep(0.01)
    ref.tell("a")

    with pytest.raises(MailboxFull):
        ref.tell("b")
    with pytest.raises(MailboxFull):
        await ref.ask("b", block=False)
    held.set(None)
    await asked
    assert await ref.proxy().log == ["a"]


# --- drop


def test_a_mailbox_that_drops_the_oldest_keeps_the_newest_in_order(node) -> None:
    ref, held = bounded("drop_oldest")
    for n in range(10):
        ref.tell(n)

    assert log_of(ref, held) == [7, 8, 9]


def test_a_mailbox_that_drops_the_newest_keeps_the_oldest_in_order(node) -> None:
    ref, held = bounded("drop_newest")
    for n in range(10):
        ref.tell(n)

    assert log_of(ref, held) == [0, 1, 2]


def test_what_is_dropped_is_never_a_stop(node) -> None:
    ref, held = bounded("drop_oldest", 2)
    actor = ref.process.actor
    stopped = supervisors.stop(ref)
    for n in range(4):
        ref.tell(n)
    held.set(None)

    stopped.get(timeout=PATIENCE)
    assert actor.log == []


@pytest.mark.parametrize("overflow", ["drop_oldest", "drop_newest"])
def test_an_ask_that_is_dropped_ends_with_an_error(node, overflow) -> None:
    ref, held = bounded(overflow, 1)
    asks = [ref.ask(n, block=False) for n in range(3)]
    lost = asks[:2] if overflow == "drop_oldest" else asks[1:]
    kept = asks[2] if overflow == "drop_oldest" else asks[0]
    for ask in lost:
        with pytest.raises(MailboxFull):
            ask.get(timeout=PATIENCE)
    held.set(None)

    assert kept.get(timeout=PATIENCE) == (2 if overflow == "drop_oldest" else 0)


@pytest.mark.parametrize("overflow", ["drop_oldest", "drop_newest"])
def test_a_call_that_is_dropped_ends_with_an_error(node, overflow) -> None:
    class Server(GenServer):
        mailbox_bound = Bound(1, overflow)

        async def handle_call(self, request, caller):
            if isinstance(request, Future):
                await request
            return request

    ref = Server.start_unlinked().get(timeout=PATIENCE)
    held: Future[None] = Future()
    busy = ref.call(held)
    while supervisors.info(ref).unread:
        pass
    calls = [ref.call(n) for n in range(3)]
    kept = calls.pop(2 if overflow == "drop_oldest" else 0)
    for call in calls:
        with pytest.raises(MailboxFull):
            call.get(timeout=PATIENCE)
    held.set(None)
    busy.get(timeout=PATIENCE)

    assert kept.get(timeout=PATIENCE) in (0, 2)


# --- block


def test_a_thread_waits_for_room(node) -> None:
    ref, held = bounded("block", 2)
    sent: list[int] = []

    def send():
        for n in range(5):
            ref.tell(n)
            sent.append(n)

    thread = threading.Thread(target=send)
    thread.start()
    thread.join(0.05)
    assert (sent, thread.is_alive()) == ([0, 1], True)
    held.set(None)
    thread.join(PATIENCE)

    assert (sent, log_of(ref, held)) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])


def test_many_threads_wait_for_room_and_nothing_is_lost(node) -> None:
    ref, held = bounded("block", 2)

    def send(name):
        for n in range(20):
            ref.tell((name, n))

    with ThreadPoolExecutor(6) as threads:
        sends = [threads.submit(send, name) for name in range(6)]
        held.set(None)
        for each in sends:
            each.result(PATIENCE)
    log = log_of(ref, held)

    assert sorted(log) == [(name, n) for name in range(6) for n in range(20)]
    for name in range(6):
        assert [n for who, n in log if who == name] == list(range(20))


def test_a_thread_that_waits_for_room_is_told_when_the_actor_ends(node) -> None:
    ref, _held = bounded("block", 1)
    ref.tell("fills it")
    outcome: list[object] = []

    def send():
        try:
            ref.tell("waits")
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    thread.join(0.02)
    assert thread.is_alive()
    supervisors.exit(ref, "kill")
    thread.join(PATIENCE)

    assert [type(found) for found in outcome] == [ProcessDead]


def test_a_node_that_stops_lets_threads_go_that_wait_for_room(backend) -> None:
    outcome: list[object] = []
    with supervisors.Node(backend=backend, kill_grace=0.05):
        ref, held = bounded("block", 1)
        ref.tell("fills it")

        def send():
            try:
                ref.tell("waits")
            except Exception as error:
                outcome.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        thread.join(0.02)
        threading.Timer(0.05, held.try_set, (None,)).start()
    thread.join(PATIENCE)

    assert not thread.is_alive()


def test_an_ask_from_a_thread_waits_for_room_too(node) -> None:
    ref, held = bounded("block", 1)
    ref.tell("fills it")
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(lambda: ref.ask("hi", timeout=PATIENCE))
        threading.Timer(0.02, held.set, (None,)).start()

        assert asked.result(PATIENCE) == "hi"


async def test_on_the_loop_nobody_is_blocked_the_ask_waits_instead(inner_node) -> None:
    """A full mailbox that blocks may not stop the loop, on which its actor has to run."""
    kind = type("Bounded", (Gate,), {"mailbox_bound": Bound(1, "block")})
    ref, held = kind.start(), Future[None]()
    asked = ref.ask(held, block=False)
    await anyio.sleep(0.01)
    asks = []
    refused = 0
    for n in range(4):
        try:
            asks.append((n, ref.ask(n, block=False)))
        except (MailboxFull, supervisors.WouldBlock):
            refused += 1
    held.set(None)
    await asked
    answers = []
    for n, ask in asks:
        try:
            answers.append(await ask == n)
        except (MailboxFull, supervisors.WouldBlock):
            refused += 1

    assert all(answers)
    assert len(answers) + refused == 4


async def test_a_tell_on_the_loop_to_a_full_mailbox_that_blocks_says_what_to_write(
    inner_node,
) -> None:
    kind = type("Bounded", (Gate,), {"mailbox_bound": Bound(1, "block")})
    ref, held = kind.start(), Future[None]()
    asked = ref.ask(held, block=False)
    await anyio.sleep(0.01)
    ref.tell("fills it")
    with pytest.raises(supervisors.SupervisorsError, match=r"await|to_thread"):
        ref.tell("one too many")
    held.set(None)
    await asked

    assert await ref.proxy().log == ["fills it"]


# --- what never waits behind a full mailbox


@pytest.mark.parametrize("overflow", ["block", "reject", "drop_oldest", "drop_newest"])
def test_signals_reach_an_actor_whose_mailbox_is_full(node, overflow) -> None:
    class Trapping(Gate):
        trap_exit = True
        mailbox_bound = Bound(2, overflow)

    ref, held = Trapping.start(), Future[None]()
    asked = ref.ask(held, block=False)
    while supervisors.info(ref).unread:
        pass
    victim = Gate.start()
    with silenced():
        ready: Future[object] = Future()
        ref.tell(lambda actor: (supervisors.link(victim), ready.set(None)))
        held.set(None)
        asked.get(timeout=PATIENCE)
        ready.get(timeout=PATIENCE)
        hold: Future[None] = Future()
        again = ref.ask(hold, block=False)
        while supervisors.info(ref).unread:
            pass
        for n in range(2):
            ref.tell(n)
        supervisors.exit(victim, "boom")
        supervisors.when_down(victim).get(timeout=PATIENCE)
        hold.set(None)
        again.get(timeout=PATIENCE)
        log = log_of(ref, held)

    assert supervisors.Exit(victim, supervisors.Custom("boom")) in log


@pytest.mark.parametrize("overflow", ["block", "reject", "drop_oldest", "drop_newest"])
def test_a_kill_reaches_an_actor_whose_mailbox_is_full(node, overflow) -> None:
    ref, _ = bounded(overflow, 1)
    ref.tell("fills it")
    down = supervisors.when_down(ref)
    supervisors.exit(ref, "kill")

    assert down.get(timeout=PATIENCE) == supervisors.KILLED


@pytest.mark.parametrize("overflow", ["block", "reject", "drop_oldest", "drop_newest"])
def test_a_stop_is_never_dropped(node, overflow) -> None:
    ref, held = bounded(overflow, 1)
    ref.tell("fills it")
    stopped: list[object] = []
    thread = threading.Thread(target=lambda: stopped.append(ref.stop(timeout=PATIENCE)))
    thread.start()
    thread.join(0.02)
    held.set(None)
    thread.join(PATIENCE)

    assert (stopped, ref.is_alive()) == ([True], False)


@pytest.mark.parametrize("overflow", ["reject", "drop_oldest", "drop_newest"])
def test_a_full_mailbox_can_be_looked_at(node, overflow) -> None:
    ref, held = bounded(overflow, 1)
    ref.tell("fills it")
    state = supervisors.get_state(ref)
    held.set(None)

    assert "log" in state.get(timeout=PATIENCE)


def test_a_bound_may_be_inherited_and_taken_off(node) -> None:
    class Unbound(type("Bounded", (Gate,), {"mailbox_bound": Bound(1, "reject")})):
        mailbox_bound = None

    ref = Unbound.start()
    inside(node, lambda: [ref.tell(n) for n in range(100)])

    assert len(ref.proxy().log.get(timeout=PATIENCE)) == 100


def test_an_unbounded_mailbox_takes_everything(node) -> None:
    """[probe:process_info_mailbox] unbounded; its length can be seen from outside."""
    ref = Gate.start()
    held: Future[None] = Future()
    ref.tell(held)
    for n in range(3):
        ref.tell(n)
    while supervisors.info(ref).unread > 3:
        pass

    assert supervisors.info(ref).unread == 3
    held.set(None)
    assert ref.proxy().log.get(timeout=PATIENCE) == [0, 1, 2]


def test_pykka_stop_all_stops_bounded_actors_too(node) -> None:
    ref, held = bounded("reject", 1)
    held.set(None)
    stopped = pykka.ActorRegistry.stop_all(timeout=PATIENCE)

    assert (stopped, ref.is_alive()) == ([True], False)


# --- what is no message is no message either when one has to be dropped


def test_a_stop_is_not_dropped_by_later_messages(node) -> None:
    ref, held = bounded("drop_oldest", 2)
    stopped = ref.stop(block=False)
    for n in range(10):
        ref.tell(n)
    held.set(None)

    assert stopped.get(timeout=PATIENCE) is True


def test_a_look_is_not_dropped_by_later_messages(node) -> None:
    ref, held = bounded("drop_oldest", 2)
    looks = [supervisors.get_state(ref), supervisors.suspend(ref), supervisors.resume(ref)]
    for n in range(10):
        ref.tell(n)
    held.set(None)
    for look in looks:
        look.get(timeout=PATIENCE)

    assert log_of(ref, held) == [8, 9]


def test_an_exit_is_not_dropped_by_later_messages(node) -> None:
    class Server(GenServer):
        trap_exit = True
        mailbox_bound = Bound(2, "drop_oldest")

        def init(self, log):
            self.log = log

        async def handle_call(self, request, caller):
            return await request

        def handle_info(self, message):
            self.log.append(message)

    log: list[object] = []
    ref = Server.start_unlinked(log).get(timeout=PATIENCE)
    held: Future[str] = Future()
    busy = ref.call(held)
    while supervisors.info(ref).unread:
        pass
    sender = inside(node, lambda: (supervisors.exit(ref, "boom"), supervisors.self_())[1])
    for n in range(10):
        ref.send(n)
    held.set("done")
    assert busy.get(timeout=PATIENCE) == "done"
    supervisors.stop(ref).get(timeout=PATIENCE)

    assert log == [supervisors.Exit(sender, supervisors.Custom("boom")), 8, 9]


def test_a_continue_is_not_dropped_by_later_messages(node) -> None:
    """A stress: what a callback left to do comes before any message, also under a flood."""
    counts = {"casts": 0, "continues": 0}

    class Server(GenServer):
        mailbox_bound = Bound(1, "drop_oldest")

        def handle_cast(self, request):
            counts["casts"] += 1
            return supervisors.NoReply(then=request)

        def handle_continue(self, term):
            counts["continues"] += 1

        def handle_call(self, request, caller):
            return request

    ref = Server.start_unlinked().get(timeout=PATIENCE)

    def flood():
        for n in range(5_000):
            ref.cast(n)

    threads = [threading.Thread(target=flood) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    supervisors.stop(ref).get(timeout=PATIENCE)

    assert counts["casts"] == counts["continues"] > 0


def test_threads_that_waited_for_room_do_not_all_come_in_at_once(node) -> None:
    most: list[int] = []

    class Looks(Actor):
        mailbox_bound = Bound(2, "block")

        async def on_receive(self, message):
            await anyio.lowlevel.checkpoint()
            most.append(supervisors.info(self.ref).unread)

    ref = Looks.start()

    def send(name):
        for n in range(30):
            ref.tell((name, n))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(8)))
    supervisors.stop(ref).get(timeout=PATIENCE)

    assert (len(most), max(most) <= 2) == (240, True)
