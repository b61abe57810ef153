"""A loop whose tasks begin at once, inside the call that makes them."""

from __future__ import annotations

import asyncio
import sys

import anyio
import pytest
from inside import silenced, within

import supervisors
from supervisors import (
    KILLED,
    NOPROC,
    NORMAL,
    Actor,
    Error,
    GenServer,
    Node,
    ProcessDead,
    exit,
    receive,
    self_,
    send,
    spawn,
    when_down,
)

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are new in 3.12")


class Waits(Actor):
    async def on_receive(self, message):
        if message == "wait":
            await anyio.Event().wait()
        await anyio.lowlevel.checkpoint()
        return message


class Server(GenServer):
    async def init(self):
        await anyio.lowlevel.checkpoint()

    async def handle_call(self, request, caller):
        await anyio.lowlevel.checkpoint()
        return request

    async def handle_cast(self, request):
        raise request


def run(body):
    """Run *body* in a loop with eager tasks, with a node in it."""

    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        with silenced():
            async with Node():
                return await body()

    return asyncio.run(main())


def test_actors_and_servers_answer() -> None:
    async def body():
        ref, server = Waits.start(), await Server.start_unlinked()
        answers = [await ref.ask(n, block=False) for n in range(3)]
        return answers, await server.call("hi")

    assert run(body) == ([0, 1, 2], "hi")


def test_a_handler_that_waits_is_killed_and_its_asker_told() -> None:
    async def body():
        ref = Waits.start()
        asked = ref.ask("wait", block=False)
        await anyio.lowlevel.checkpoint()
        down = when_down(ref)
        exit(ref, "kill")
        with pytest.raises(ProcessDead):
            await within(asked)
        return await within(down)

    assert run(body) == KILLED


def test_a_crash_is_told() -> None:
    async def body():
        server = await Server.start_unlinked()
        down = when_down(server)
        server.cast(ValueError("oops"))
        return await within(down)

    assert run(body) == Error(ValueError("oops"))


def test_a_spawned_function_is_itself_from_its_first_line() -> None:
    async def body():
        me, seen = self_(), []

        async def child():
            seen.extend([self_(), await receive(timeout=5)])

        ref = spawn(child)
        down = when_down(ref)
        send(ref, "hi")
        return await within(down), seen == [ref, "hi"], self_() is me, ref is not me

    assert run(body) == (NORMAL, True, True, True)


def test_a_function_that_is_through_when_spawn_returns_has_ended() -> None:
    async def body():
        return await within(when_down(spawn(lambda: None)))

    assert run(body) in (NORMAL, NOPROC)


def test_a_child_is_restarted() -> None:
    async def body():
        sup = await supervisors.Supervisor.start_link(
            [Server.child_spec(id="s")], strategy="one_for_one"
        )
        (before,) = await sup.which_children()
        down = when_down(before.ref)
        before.ref.cast(ValueError("oops"))
        await within(down)
        (after,) = await sup.which_children()
        return after.ref is not before.ref, await after.ref.call("hi")

    assert run(body) == (True, "hi")
