"""What the type checkers make of the face of `supervisors`, as its users meet it.

Read by mypy and pyright alone; nothing here runs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, assert_type

import pykka

import supervisors as otp


class Counter(otp.GenServer):
    def init(self, start: int = 0) -> otp.Ok:
        self.count = start
        return otp.Ok(timeout=1.0)

    async def handle_call(self, request: Any, caller: otp.Caller) -> otp.Reply | otp.NoReply:
        assert_type(caller.reply(1), bool)
        assert_type(caller.fail(ValueError()), bool)
        me: otp.ActorRef[Counter] = self.ref
        assert_type(me.node, otp.Node)
        assert_type(self.node, otp.Node)
        assert_type(self.parent, otp.Ref | None)
        return otp.Reply(self.count)

    def handle_cast(self, request: Any) -> None:
        self.count += request

    async def handle_info(self, message: Any) -> otp.Stop | None:
        match message:
            case otp.Exit(reason=reason) | otp.Down(reason=reason):
                assert_type(reason, otp.ExitReason)
                return otp.Stop(reason)
            case _:
                return None

    async def terminate(self, reason: otp.ExitReason) -> None:
        assert_type(reason.is_calm, bool)


class Echo(otp.Actor):
    mailbox_bound = otp.Bound(1_000, "drop_oldest")

    async def on_start(self) -> None:  # type: ignore[override]  # mypy looks at pykka's hook too
        me: otp.ActorRef[Echo] = self.actor_ref
        assert_type(me.node, otp.Node)

    def on_receive(self, message: Any) -> Any:
        return message

    def double(self, number: int) -> int:
        return 2 * number


class Tree(otp.Supervisor):
    def init(self, size: int) -> Any:
        return self.tree([Counter, (Counter, size)], strategy="one_for_all")


async def servers() -> None:
    assert_type(Counter.start_link(1), otp.Future[otp.ActorRef[Counter]])
    assert_type(Counter.start_unlinked(name="counter"), otp.Future[otp.ActorRef[Counter]])
    assert_type(Counter.start(), otp.ActorRef[Counter])
    assert_type(Counter.start_on(otp.default_node()), otp.ActorRef[Counter])
    assert_type(Counter.child_spec(1, restart="transient", shutdown=2.0), otp.ChildSpec)

    ref = await Counter.start_link(1)
    assert_type(ref, otp.ActorRef[Counter])
    assert_type(ref.call("get"), otp.Future[Any])
    assert_type(await ref.call("get", 1.0), Any)
    ref.cast(1)
    assert_type(ref.actor_class, type[Counter])
    assert_type(ref.is_alive(), bool)
    assert_type(ref.id, int)
    assert_type(ref.name, str | None)
    assert_type(ref.node, otp.Node)

    server: otp.ActorRef[otp.GenServer] = ref  # a handle on a server of whatever kind
    process: otp.Ref = ref
    foreign: pykka.ActorRef[Any] = ref
    del server, process, foreign


async def actors() -> None:
    ref = Echo.start()
    assert_type(ref, otp.ActorRef[Echo])
    ref.tell("hello")
    assert_type(ref.ask("hello", block=False), otp.Future[Any])
    assert_type(ref.ask("hello", block=True), Any)
    assert_type(ref.stop(block=True), bool)
    assert_type(ref.stop(block=False), otp.Future[bool])
    assert_type(ref.proxy(), pykka.ActorProxy[Echo])


async def futures(numbers: otp.Future[list[int]], plain: pykka.Future[str]) -> None:
    assert_type(await numbers, list[int])
    assert_type(numbers.get(timeout=1.0), list[int])
    assert_type(numbers.map(len), otp.Future[int])
    assert_type(numbers.filter(bool), otp.Future[Iterable[int]])
    assert_type(numbers.reduce(max), otp.Future[int])
    assert_type(numbers.join(plain), otp.Future[Iterable[Any]])
    assert_type(numbers.done(), bool)
    assert_type(numbers.exception(), BaseException | None)
    assert_type(pykka.get_all([numbers]), Iterable[list[int]])
    assert_type(otp.Future[int]().try_set(1), bool)


async def supervision() -> None:
    static = await otp.Supervisor.start_link([Counter], max_restarts=3)
    assert_type(static, otp.SupervisorRef)
    assert_type(await Tree.start_link(2, name="tree"), otp.SupervisorRef)
    assert_type(await otp.Supervisor.start_unlinked([]), otp.SupervisorRef)
    assert_type(static.start_child(Counter), otp.Future[Any])
    assert_type(static.terminate_child("id"), otp.Future[None])
    assert_type(static.restart_child("id"), otp.Future[Any])
    assert_type(static.delete_child("id"), otp.Future[None])
    assert_type(await static.get_childspec("id"), otp.ChildSpec)
    assert_type(await static.which_children(), list[otp.Child])
    assert_type(await static.count_children(), otp.Count)

    dynamic = await otp.DynamicSupervisor.start_link(max_children=10)
    assert_type(dynamic, otp.DynamicSupervisorRef)
    assert_type(await otp.DynamicSupervisor.start_unlinked(), otp.DynamicSupervisorRef)
    assert_type(dynamic.start_child((Counter, 1)), otp.Future[Any])

    partitioned = await otp.PartitionSupervisor.start_link(Counter, partitions=4)
    assert_type(partitioned, otp.PartitionSupervisorRef)
    unlinked = await otp.PartitionSupervisor.start_unlinked(Counter)
    assert_type(unlinked, otp.PartitionSupervisorRef)
    assert_type(partitioned.partition("key"), otp.Ref)
    assert_type(otp.call(partitioned.via("key"), "get"), otp.Future[Any])

    spec = otp.ChildSpec("counter", Counter.start_link, restart_delay=otp.Backoff(0.1, 5.0))
    assert_type(spec.restart, otp.RestartType)
    assert_type(spec.shutdown, otp.ShutdownTime)
    assert_type(spec.type, otp.ChildType)
    assert_type(spec.restart_delay, otp.Backoff | None)


async def length(text: str) -> int:
    return len(text)


async def tasks() -> None:
    supervisor = await otp.TaskSupervisor.start_link(max_children=10)
    assert_type(supervisor, otp.TaskSupervisorRef)
    assert_type(await otp.TaskSupervisor.start_unlinked(), otp.TaskSupervisorRef)
    assert_type(supervisor.start_child(print, "done"), otp.Future[otp.Ref])

    task = supervisor.async_(length, "hello")
    assert_type(task, otp.Task[int])
    assert_type(supervisor.async_nolink(len, "hello"), otp.Task[int])
    assert_type(await task, int)
    assert_type(task.result(), otp.Future[int])
    assert_type(await task.yield_(1.0), otp.Outcome | None)
    assert_type(await task.shutdown(otp.BRUTAL_KILL), otp.Outcome | None)
    assert_type(task.ref, otp.Ref)
    assert_type(task.owner, otp.Ref)
    assert_type(task.monitor, otp.Monitor | None)
    assert_type(await otp.yield_many([task]), list[tuple[otp.Task[Any], otp.Outcome | None]])

    stream = supervisor.stream(["a", "b"], length, ordered=False)
    assert_type(stream, AsyncGenerator[otp.Outcome, None])
    async for outcome in stream:
        match outcome:
            case otp.Done(value):
                assert_type(value, Any)
            case otp.Exited(reason):
                assert_type(reason, otp.ExitReason)


async def names() -> None:
    registry = await otp.Registry.start_link(name="sessions", keys="unique")
    assert_type(registry, otp.RegistryRef)
    assert_type(await otp.Registry.start_unlinked(), otp.RegistryRef)
    registry.register("key", 1)
    assert_type(registry.lookup("key"), list[tuple[otp.Ref, Any]])
    assert_type(registry.whereis("key"), otp.Ref | None)
    assert_type(registry.count(), int)
    assert_type(registry.via("key"), otp.Via)
    assert_type(await Counter.start_link(name=registry.via("a")), otp.ActorRef[Counter])
    assert_type(await otp.Supervisor.start_link([], name=registry.via("b")), otp.SupervisorRef)

    otp.register("me")
    otp.unregister("me")
    assert_type(otp.whereis("me"), otp.Ref | None)

    otp.groups.join("room")
    assert_type(otp.groups.members("room"), list[otp.Ref])
    assert_type(otp.groups.publish("room", "hello"), int)
    ticket, members = otp.groups.watch("room")
    assert_type(ticket, otp.groups.GroupWatch)
    assert_type(members, list[otp.Ref])


async def processes(ref: otp.Ref) -> None:
    assert_type(otp.self_(), otp.Ref)
    assert_type(otp.spawn(print, "hello", name="p"), otp.Ref)
    assert_type(otp.spawn_link(length, "hello"), otp.Ref)
    assert_type(otp.spawn_monitor(length, "hello"), tuple[otp.Ref, otp.Monitor])
    assert_type(otp.is_alive(ref), bool)
    assert_type(otp.trap_exit(), bool)
    assert_type(otp.monitor(ref, alias="explicit"), otp.Monitor)
    assert_type(otp.demonitor(otp.monitor(ref), flush=True), bool)
    assert_type(await otp.when_down(ref), otp.ExitReason)
    assert_type(await otp.stop(ref, "shutdown", 1.0), None)
    otp.link(ref)
    otp.unlink(ref)
    otp.exit(ref, otp.SHUTDOWN)

    otp.send(ref, "hello")
    otp.send(otp.alias(), "hello")
    otp.cast("counter", 1)
    assert_type(await otp.call("counter", "get", 1.0), Any)
    assert_type(await otp.receive(otp.Down, timeout=1.0), Any)
    assert_type(await otp.receive((otp.Down, otp.Exit)), Any)
    assert_type(await otp.receive(lambda message: message == "hello"), Any)
    assert_type(otp.mailbox(), list[Any])
    assert_type(otp.alias(reply=True), otp.Alias)
    assert_type(otp.unalias(otp.alias()), bool)

    timer = otp.send_after(1.0, ref, "tick")
    assert_type(timer, otp.SentLater)
    assert_type(otp.start_timer(1.0, "name", "tick"), otp.SentLater)
    assert_type(timer.left(), float | None)
    assert_type(otp.cancel_timer(timer), float | None)


async def nodes() -> None:
    async with otp.Node() as inside:
        assert_type(inside, otp.Node)
    with otp.Node("own", backend="trio") as node:
        assert_type(node, otp.Node)
        assert_type(node.after(1.0, print, "later"), otp.TimerHandle)
        assert_type(node.running, bool)
    assert_type(otp.Node().start(), otp.Node)
    assert_type(otp.current_node(), otp.Node)
    assert_type(otp.default_node(), otp.Node)


async def sight(ref: otp.Ref) -> None:
    assert_type(await otp.get_state(ref), Any)
    assert_type(await otp.suspend(ref), None)
    assert_type(await otp.resume(ref), None)
    assert_type(await otp.trace(ref, print), None)
    assert_type(otp.info(ref), otp.ProcessInfo | None)
    assert_type(await otp.tree(), otp.TreeNode)

    seen: list[otp.Report] = []
    assert_type(otp.subscribe_reports(seen.append), Callable[[], None])


def errors(dead: otp.ProcessDead, failed: otp.StartFailed, slow: otp.CallTimeout) -> None:
    assert_type(dead.reason, otp.ExitReason)
    assert_type(failed.reason, otp.ExitReason)
    assert_type(slow.timeout, float | None)
    assert_type(otp.as_reason("normal"), otp.ExitReason)
    late: pykka.Timeout = slow
    gone: pykka.ActorDeadError = dead
    base: list[otp.SupervisorsError] = [dead, failed, slow]
    del late, gone, base
