"""The least an actor on an event loop can be: a deque that `call_soon` drains.

No links, monitors, names, reports or failures: the floor that ours is measured against.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future as ThreadFuture
from typing import Any

BATCH = 64


class BareActor:
    """One mailbox and one handler."""

    __slots__ = ("count", "loop", "mail", "scheduled")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.mail: deque[Any] = deque()
        self.scheduled = False
        self.count = 0

    def on_receive(self, message: Any) -> Any:
        """Handle one message."""
        self.count += 1
        return message

    def tell(self, message: Any) -> None:
        """Put *message* into the mailbox, in the thread of the loop."""
        self.mail.append(message)
        if not self.scheduled:
            self.scheduled = True
            self.loop.call_soon(self._drain)

    def ask(self, message: Any) -> asyncio.Future[Any]:
        """Put a request into the mailbox; the future has the reply."""
        reply: asyncio.Future[Any] = self.loop.create_future()
        self.tell(Request(message, reply))
        return reply

    async def ask_within(self, message: Any, timeout: float) -> Any:
        """As `ask`, with a timer of its own."""
        reply = self.ask(message)
        timer = self.loop.call_later(timeout, _expire, reply)
        try:
            return await reply
        finally:
            timer.cancel()

    def tell_from_thread(self, message: Any) -> None:
        """Put *message* into the mailbox, from another thread: one wake-up for a burst."""
        self.mail.append(message)
        if not self.scheduled:
            self.scheduled = True
            self.loop.call_soon_threadsafe(self._drain)

    def ask_from_thread(self, message: Any) -> ThreadFuture[Any]:
        """As `ask`, from another thread."""
        reply: ThreadFuture[Any] = ThreadFuture()
        self.tell_from_thread(Request(message, reply))
        return reply

    def _drain(self) -> None:
        self.scheduled = False
        mail = self.mail
        for _ in range(BATCH):
            if not mail:
                return
            item = mail.popleft()
            if item.__class__ is Request:
                value = self.on_receive(item.message)
                if not item.reply.done():
                    item.reply.set_result(value)
            else:
                self.on_receive(item)
        if mail and not self.scheduled:
            self.scheduled = True
            self.loop.call_soon(self._drain)


class Request:
    """A message that somebody waits for."""

    __slots__ = ("message", "reply")

    def __init__(self, message: Any, reply: Any) -> None:
        self.message = message
        self.reply = reply


def _expire(reply: asyncio.Future[Any]) -> None:
    if not reply.done():
        reply.set_exception(TimeoutError())


class LoopThread:
    """A loop that runs in a thread of its own, with one actor."""

    def __init__(self, kind: str) -> None:
        self._ready = threading.Event()
        self._kind = kind
        self._thread = threading.Thread(target=self._main, daemon=True)

    def __enter__(self) -> BareActor:
        self._thread.start()
        self._ready.wait()
        return self.actor

    def __exit__(self, *_: object) -> None:
        self.actor.loop.call_soon_threadsafe(self.actor.loop.stop)
        self._thread.join()

    def _main(self) -> None:
        if self._kind == "uvloop":
            import uvloop  # noqa: PLC0415  # it may not be installed

            loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        else:
            loop = asyncio.new_event_loop()
        self.actor = BareActor(loop)
        loop.call_soon(self._ready.set)
        loop.run_forever()
        loop.close()
