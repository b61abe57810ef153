"""Selective receive: the first message that matches; the others stay, and none is lost."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pykka
import pytest
from inside import PATIENCE, inside, silenced, within

import supervisors
from supervisors import (
    NORMAL,
    Actor,
    Down,
    Future,
    ProcessDead,
    ReceiveTimeout,
    exit,
    mailbox,
    monitor,
    receive,
    self_,
    send,
    spawn,
    when_down,
)


@pytest.fixture(autouse=True)
def _silent():
    with silenced():
        yield


# what is in the mailbox, what is received in turn, what is left
TABLE = [
    ([1, "a", 2, "b"], [str, str], ["a", "b"], [1, 2]),
    ([1, "a", 2, "b"], [None, None], [1, "a"], [2, "b"]),
    ([1, "a", 2, "b"], [lambda m: m == 2, None], [2, 1], ["a", "b"]),
    ([1, "a", 2.5], [(float, str), int], ["a", 1], [2.5]),
    ([None, 0, "", []], [lambda m: m == 0, None, list, str], [0, None, [], ""], []),
    ([True, 1], [int, int], [True, 1], []),
]


@pytest.mark.parametrize(("sent", "matches", "got", "left"), TABLE)
def test_the_first_message_that_matches_is_taken(node, sent, matches, got, left) -> None:
    """[p_selective_receive]"""

    async def body():
        for message in sent:
            send(self_(), message)
        return [await receive(match, timeout=PATIENCE) for match in matches], mailbox()

    assert inside(node, body) == (got, left)


@pytest.mark.parametrize(("sent", "matches", "got", "left"), TABLE)
async def test_a_task_receives_in_the_same_way(inner_node, sent, matches, got, left) -> None:
    async def task():
        for message in sent:
            send(self_(), message)
        out.extend([[await receive(match, timeout=PATIENCE) for match in matches], mailbox()])

    out: list[object] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)

    assert out == [got, left]


def test_a_message_that_comes_later_is_received(node) -> None:
    async def body():
        me = self_()

        async def later():
            await anyio.lowlevel.checkpoint()
            for message in (1, "a", 2):
                send(me, message)

        spawn(later)
        return await receive(str, timeout=PATIENCE), mailbox()

    got, left = inside(node, body)

    assert (got, left[:1]) == ("a", [1])


def test_a_receive_looks_once_and_goes_on_with_a_timeout_of_zero(node) -> None:
    async def body():
        send(self_(), 1)
        found = []
        for match in (str, int, int):
            try:
                found.append(await receive(match, timeout=0))
            except ReceiveTimeout as error:
                found.append(error.timeout)
        return found

    assert inside(node, body) == [0, 1, 0]


def test_a_receive_gives_up_after_its_timeout(node) -> None:
    async def body():
        send(self_(), 1)
        with pytest.raises(ReceiveTimeout, match=r"0\.01 seconds"):
            await receive(str, timeout=0.01)
        send(self_(), "late")
        return mailbox()

    assert inside(node, body) == [1, "late"]


def test_a_receive_that_timed_out_is_a_timeout_of_pykka_s_too(node) -> None:
    with pytest.raises(pykka.Timeout):
        inside(node, lambda: receive(timeout=0.01))


def test_two_receives_wait_and_each_gets_its_own(node) -> None:
    async def body():
        first, second, third = receive(int), receive(str), receive(int)
        for message in ("a", 1, 2, "b"):
            send(self_(), message)
        return [await second, await first, await third], mailbox()

    assert inside(node, body) == (["a", 1, 2], ["b"])


def test_the_oldest_of_two_equal_receives_is_served_first(node) -> None:
    async def body():
        first, second = receive(int), receive(int)
        send(self_(), 1)
        got = await first
        before = second.done()
        send(self_(), 2)
        return got, before, await second

    assert inside(node, body) == (1, False, 2)


# --- withdrawn receives


@pytest.mark.parametrize("rounds", [1, 50])
def test_a_receive_that_was_cancelled_takes_no_message(node, rounds) -> None:
    async def body():
        for n in range(rounds):
            with anyio.move_on_after(0.001):
                await receive(lambda message, n=n: message == n)
            send(self_(), n)
            await anyio.lowlevel.checkpoint()
        return mailbox()

    assert inside(node, body) == list(range(rounds))


async def test_a_cancelled_receive_of_a_task_takes_no_message(inner_node) -> None:
    async def task(*, task_status):
        task_status.started(self_())
        with anyio.move_on_after(0.005):
            await receive()
        await gate.wait()
        left.append(mailbox())

    left: list[object] = []
    gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        ref = await tasks.start(task)
        await anyio.sleep(0.02)
        send(ref, "late")
        await anyio.sleep(0.01)
        gate.set()

    assert left == [["late"]]


async def test_a_message_that_comes_in_the_moment_of_a_cancellation_is_not_lost(
    inner_node,
) -> None:
    """Whatever comes first: either the receive has it, or the mailbox."""
    for spins in range(6):
        got: list[object] = []

        async def task(*, task_status, got=got):
            with anyio.CancelScope() as scope:
                task_status.started((self_(), scope))
                got.append(await receive(str))
            await anyio.sleep(0.001)
            got.extend(mailbox())

        async with anyio.create_task_group() as tasks:
            ref, scope = await tasks.start(task)
            send(ref, 0)
            send(ref, "it")
            for _ in range(spins):
                await anyio.lowlevel.checkpoint()
            scope.cancel()

        assert sorted(got, key=str) == [0, "it"]


async def test_a_message_put_back_keeps_its_place(inner_node) -> None:
    async def task(*, task_status):
        with anyio.CancelScope() as scope:
            task_status.started((self_(), scope))
            await receive(str)
        await anyio.lowlevel.checkpoint()
        left.append(mailbox())

    for first in ([], [1]):
        left: list[object] = []
        async with anyio.create_task_group() as tasks:
            ref, scope = await tasks.start(task)
            await anyio.wait_all_tasks_blocked()
            for message in (*first, "it", 2):
                send(ref, message)
            scope.cancel()

        assert left in ([[*first, "it", 2]], [[*first, 2]], [["it", *first, 2]])
        assert "it" in left[0]


async def test_messages_from_threads_are_not_lost_to_cancelled_receives(inner_node) -> None:
    total = 300

    async def task(*, task_status):
        task_status.started(self_())
        while len(got) < total:
            with anyio.move_on_after(0.0005):
                got.append(await receive(int))

    got: list[int] = []
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            ref = await tasks.start(task)

            def flood():
                for n in range(total):
                    ref.send(n)
                    if n % 20 == 0:
                        threading.Event().wait(0.0005)

            await anyio.to_thread.run_sync(flood)

    assert sorted(got) == list(range(total))
    assert got == list(range(total))


def test_a_get_that_timed_out_leaves_the_receive_waiting(node) -> None:
    """A future that somebody gave up getting can be got later."""
    wait = receive("it".__eq__)
    with pytest.raises(pykka.Timeout):
        wait.get(timeout=0.01)
    send(self_(), "it")

    assert (wait.get(timeout=PATIENCE), mailbox()) == ("it", [])


# --- matching


def test_a_predicate_that_raises_fails_its_own_receive_only(node) -> None:
    async def body():
        send(self_(), 1)
        with pytest.raises(ZeroDivisionError):
            await receive(lambda _: 1 / 0, timeout=PATIENCE)
        return await receive(timeout=PATIENCE)

    assert inside(node, body) == 1


def test_a_predicate_that_raises_later_fails_its_own_receive_only(node) -> None:
    async def body():
        bad, good = receive(lambda _: 1 / 0), receive(int)
        send(self_(), 1)
        with pytest.raises(ZeroDivisionError):
            await bad
        return await good

    assert inside(node, body) == 1


def test_a_predicate_is_asked_until_it_says_yes(node) -> None:
    asked: list[object] = []

    async def body():
        for n in range(100):
            send(self_(), n)
        wait = receive(lambda message: (asked.append(message), message == "it")[1])
        for n in range(100):
            send(self_(), n)
            await anyio.lowlevel.checkpoint()
        send(self_(), "it")
        return await wait

    assert inside(node, body) == "it"
    assert asked[-1] == "it"


def test_a_receive_in_a_predicate_s_own_process_sees_signals(node) -> None:
    async def body():
        ref = spawn(lambda: None)
        monitor(ref)
        send(self_(), "other")
        return (await receive(Down, timeout=PATIENCE)).reason, mailbox()

    reason, left = inside(node, body)

    assert (reason in (NORMAL, supervisors.NOPROC), left) == (True, ["other"])


# --- who receives


def test_an_async_handler_receives_what_is_behind_its_message(node) -> None:
    class Collects(Actor):
        async def on_receive(self, message):
            if message == "collect":
                return [await receive(int), await receive(int)], mailbox()
            return None

    ref = Collects.start()
    got = ref.ask("collect", block=False)
    for message in ("x", 1, 2):
        ref.tell(message)

    values, _left = got.get(timeout=PATIENCE)
    assert values == [1, 2]
    assert ref.ask("y", timeout=PATIENCE) is None


def test_a_server_s_handler_receives_messages_but_no_calls(node) -> None:
    class Server(supervisors.GenServer):
        async def handle_call(self, request, caller):
            if request == "wait":
                return await receive(lambda message: message == "go", timeout=PATIENCE)
            return request

    ref = Server.start_unlinked().get(timeout=PATIENCE)
    waiting, other = ref.call("wait"), ref.call("other")
    ref.send("go")

    assert (waiting.get(timeout=PATIENCE), other.get(timeout=PATIENCE)) == ("go", "other")


def test_receives_of_a_process_that_ends_are_told(node) -> None:
    waits: list[Future[object]] = []

    async def body():
        waits.append(receive("never".__eq__))

    ref = spawn(body)
    when_down(ref).get(timeout=PATIENCE)

    with pytest.raises(ProcessDead):
        waits[0].get(timeout=PATIENCE)


def test_a_plain_handler_cannot_wait_but_takes(node) -> None:
    class Plain(Actor):
        def on_receive(self, message):
            return receive(int).get()

    with pytest.raises(supervisors.WouldBlock, match="await"):
        Plain.start().ask("x", timeout=PATIENCE)


def test_a_plain_handler_may_take_what_is_there(node) -> None:
    class Plain(Actor):
        def on_receive(self, message):
            if message == "take":
                return receive(int, timeout=0).get()
            return message

    ref = Plain.start()

    def body():
        asked = ref.ask("take", block=False)
        ref.tell(7)
        return [asked]

    assert inside(node, body)[0].get(timeout=PATIENCE) == 7


def test_mailbox_is_a_copy(node) -> None:
    async def body():
        send(self_(), 1)
        mailbox().clear()
        return mailbox()

    assert inside(node, body) == [1]


def test_mailbox_shows_messages_as_they_would_be_received(node) -> None:
    """Also in an actor, where casts and calls are wrapped."""

    class Shows(Actor):
        async def on_receive(self, message):
            if isinstance(message, Future):
                await message
                return mailbox()
            return message

    ref = Shows.start()
    gate: Future[None] = Future()
    shown = ref.ask(gate, block=False)
    ref.tell("told")
    ref.send("sent")
    gate.set(None)

    assert shown.get(timeout=PATIENCE) == ["told", "sent"]


async def test_a_receive_can_be_awaited_by_another_task_than_its_process(inner_node) -> None:
    wait = receive("it".__eq__)
    got: list[object] = []

    async def other():
        got.append(await within(wait))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await anyio.wait_all_tasks_blocked()
        send(self_(), "it")

    assert got == ["it"]


def test_kill_ends_a_process_in_its_receive(node) -> None:
    ref = spawn(receive)
    down = inside(node, lambda: [when_down(ref)])[0]
    exit(ref, "kill")

    assert down.get(timeout=PATIENCE) == supervisors.KILLED
