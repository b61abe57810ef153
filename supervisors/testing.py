"""What tests of actors need: fresh nodes, ends and messages to wait for, time that does not pass.

Everything returns futures or is a context manager, so it works in plain and in async tests, with
any test framework.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from supervisors.runtime.actor import Match, matcher
from supervisors.runtime.backends import Backend
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.lookup import find_process
from supervisors.runtime.node import Node
from supervisors.runtime.processes import when_down
from supervisors.words import checks
from supervisors.words.errors import NodeStopped
from supervisors.words.reasons import ExitReason

__all__ = [
    "VirtualTime",
    "assert_receive",
    "exit_of",
    "fresh_node",
    "refute_receive",
    "virtual_node",
]


@contextmanager
def fresh_node(backend: Backend = "asyncio", **options: Any) -> Generator[Node]:
    """A node of its own for one test, stopped afterwards; fails if processes are left then.

    *options* are those of `Node`.
    """
    with Node(backend=backend, **options) as node:
        yield node
    left = [process for process in node.processes.values() if process.owned_by_node]
    assert not left, f"{len(left)} processes outlived {node.name}: {left[:5]}"


def exit_of(dest: Any, timeout: float | None = 5.0) -> Future[ExitReason]:
    """The future of the reason a process ends with; fails after *timeout* seconds.

    The future fails with an AssertionError that shows the process if it still runs then.
    """
    checks.seconds("timeout", timeout)
    down = when_down(dest)
    process = find_process(dest)
    if process is None:
        return down
    ended: Future[ExitReason] = Future(process.node)
    down.add_done_callback(lambda done: ended.try_set(done.get()))
    if timeout is not None:
        _expire(process.node, ended, timeout, lambda: f"{process!r} still runs")
    return ended


def assert_receive(match: Match = None, timeout: float = 1.0) -> Future[Any]:
    """The first message of the calling process that matches, as in `receive`.

    The future fails with an AssertionError that shows the mailbox after *timeout* seconds.
    """
    checks.seconds("timeout", timeout)
    process = self_process()
    wait = process.receive(matcher(match), None)
    _expire(
        process.node,
        wait,
        timeout,
        lambda: f"no message matched within {timeout} seconds; unread: {list(process.normal)!r}",
        lambda: process.forget_receiver(wait),  # type: ignore[arg-type]  # receive() made it
    )
    return wait


def refute_receive(match: Match = None, timeout: float = 0.1) -> Future[None]:
    """Done after *timeout* seconds if no message matched until then.

    The future fails with an AssertionError that shows the message otherwise.
    """
    checks.seconds("timeout", timeout)
    process = self_process()
    wait = process.receive(matcher(match), timeout)
    nothing: Future[None] = Future(process.node)

    def tell(done: Future[Any]) -> None:
        if done.exception() is None:
            nothing.try_fail(AssertionError(f"a message came that should not: {done.get()!r}"))
        else:
            nothing.try_set(None)

    wait.add_done_callback(tell)
    return nothing


def _expire(node: Node, future: Future[Any], timeout: float, says: Any, also: Any = None) -> None:
    def give_up() -> None:
        if future.try_fail(AssertionError(says())) and also is not None:
            also()

    timer = threading.Timer(timeout, give_up) if node.virtual else None
    if timer is None:
        handle = node.after(timeout, give_up)
        future.add_done_callback(lambda _future: handle.cancel())
    else:  # the test's own patience is in real seconds
        timer.daemon = True
        timer.start()
        future.add_done_callback(lambda _future: timer.cancel())


class VirtualTime:
    """The clock of a node on which time only passes when a test says so.

    Restart windows, back-off, call timeouts, `send_after` and every other timer of the node follow
    it. What waits for sockets, children or `anyio.sleep` does not.
    """

    _QUIET = 8
    """Rounds of the loop without anything happening that count as quiet."""

    def __init__(self, start: float = 1_000.0) -> None:
        self._now = start
        self._node: Node | None = None

    def __call__(self) -> float:
        """The time it is."""
        return self._now

    def attach(self, node: Node) -> None:
        """Say which node the time is for; `virtual_node` does it."""
        self._node = node

    def advance(self, seconds: float) -> Future[None]:
        """Let *seconds* pass: every timer due until then fires at its moment, in order.

        The future is done when all that followed is done as well.
        """
        checks.some_seconds("seconds", seconds)
        node = self._node
        if node is None:
            raise NodeStopped(
                "this time belongs to no node; use `with virtual_node() as (node, time):`"
            )
        done: Future[None] = Future(node)

        async def run() -> None:
            try:
                await self._advance(node, self._now + seconds)
            except BaseException as error:  # the edge of the task: the test has to hear of it
                done.try_fail(error)
                raise
            done.try_set(None)

        if node.thread_id == threading.get_ident():
            node.spawn_task(run(), "virtual time")
        else:
            node.post(lambda: node.spawn_task(run(), "virtual time"))
        return done

    async def _advance(self, node: Node, until: float) -> None:
        await self._settle(node)
        while (due := node.next_due()) is not None and due <= until:
            self._now = max(self._now, due)
            node.ring()
            await self._settle(node)
        self._now = until

    async def _settle(self, node: Node) -> None:
        from anyio.lowlevel import checkpoint  # noqa: PLC0415  # imported with the node's loop

        quiet, turns = 0, node.turns
        while quiet < self._QUIET:
            await checkpoint()
            quiet = quiet + 1 if node.turns == turns else 0
            turns = node.turns


@contextmanager
def virtual_node(
    backend: Backend = "asyncio", **options: Any
) -> Generator[tuple[Node, VirtualTime]]:
    """Make a fresh node whose time only passes when told.

    `with virtual_node() as (node, time):`, and then `time.advance(seconds)`.
    """
    time = VirtualTime()
    with fresh_node(backend, clock=time, watchdog=None, **options) as node:
        time.attach(node)
        yield node, time
