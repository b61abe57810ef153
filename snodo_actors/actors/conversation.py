"""Several requests, and code of the user's between them, that make one call.

Each answer decides what comes next. What is the user's to run (progress functions, input handlers)
runs where the call is awaited, in the task or thread that waits for it; the rest goes on in the
thread where the answers come.
"""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from snodo_actors.actors.request import Profile, Request, given_up
from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject
from supervisors import Future, Node

MAX_PROGRESS = 10_000
"""Signs of progress kept until the call is awaited; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class UserCode:
    """Call the user's *function* where the call is awaited; the flow is sent what it returns."""

    function: Callable[[Any], Any]
    argument: Any


Step = Request | Pause | UserCode
Flow = Generator[Step, Any, Any]
"""Yields what is to be done, is sent what came of it, and returns the result of the call."""


class Conversation(Future[Any]):
    """Follows a flow to its end."""

    __slots__ = ("_bell", "_flow", "_request", "_send", "_work", "latest", "node", "profile", "who")

    def __init__(self, node: Node, who: str, send: Callable[[Request], object]) -> None:
        super().__init__(node)
        self.node = node
        self.who = who
        self._send = send
        self._request: Request | None = None
        self._work: deque[tuple[UserCode, Callable[[Any], object] | None]] = deque()
        self._bell: Future[None] | None = None
        self._flow: Flow | None = None
        self.profile: Profile | None = None
        """That of the connection which answered last."""
        self.latest: Request | None = None
        """The request that was made last, whoever answers it."""

    def follow(self, flow: Flow) -> Conversation:
        """Begin."""
        self._flow = flow
        self.add_done_callback(self._ring)
        self._advance(None)
        return self

    def progress(self, function: Callable[[JSONObject], Any], params: JSONObject) -> None:
        """Let *function* be called with a progress notification, where the call is awaited."""
        if not self.done():
            if len(self._work) >= MAX_PROGRESS:
                self._work.popleft()  # progress too: none comes while a handler's answer is due
            self._work.append((UserCode(function, params), None))
            self._ring()

    def serve(
        self, handler: Callable[[Any], Any], params: Any, then: Callable[[Any], object]
    ) -> None:
        """Let *handler* answer the server where the call is awaited; *then* takes the answer."""
        if not self.done():
            self._work.append((UserCode(handler, params), then))
            self._ring()

    # ---- from step to step

    def _advance(self, outcome: Any) -> None:
        flow = self._flow
        if flow is None or self.done():
            return
        try:
            step = flow.send(outcome)
        except StopIteration as done:
            self._let_go()
            self.try_set(done.value)
        except Exception as error:  # noqa: BLE001  # whatever the flow raises is the call's failure
            self._let_go()
            self.try_fail(error.named(self.who) if isinstance(error, Error) else error)
        else:
            self._begin(step)

    def _let_go(self) -> None:
        """Forget what also holds this: the garbage collector would find it late."""
        self._flow = self._request = self.latest = None

    def _begin(self, step: Step) -> None:
        if isinstance(step, Request):
            self._request = step
            step.add_done_callback(self._answered)
            self._send(step)
        elif isinstance(step, Pause):
            self.node.after(step.seconds, self._advance, None)
        else:
            self._work.append((step, self._advance))
            self._ring()

    def _answered(self, request: Any) -> None:
        error = request.exception()
        self.profile = request.profile
        if error is None:
            self._advance(request.get())
        elif isinstance(error, Error):
            self._advance(error)
        else:
            self.try_fail(error)

    # ---- the user's code

    def _ring(self, _future: Any = None) -> None:
        bell = self._bell
        if bell is not None:
            bell.try_set(None)

    def _new_bell(self) -> Future[None] | None:
        """What rings when there is work or the end; None if there is already."""
        bell = self._bell
        if bell is None or bell.done():
            bell = self._bell = Future(self.node)
        return None if self._work or self.done() else bell

    def _broke(self, error: BaseException) -> None:
        """The user's code raised: the call is over, and the server need not go on."""
        self.try_fail(error)
        self._cancel("the client's code failed")

    def _cancel(self, why: str) -> None:
        request, self._request = self._request, None
        if request is not None:
            request.cancel(why)

    def _withdrawn(self) -> None:
        self._cancel("the caller waits no longer")
        self.try_fail(given_up(self.who))

    def __await__(self) -> Generator[Any, Any, Any]:
        while True:
            while self._work:
                work, then = self._work.popleft()
                try:
                    value = work.function(work.argument)
                    if inspect.isawaitable(value):
                        value = yield from value.__await__()
                except Exception as error:
                    self._broke(error)
                    raise
                except BaseException:
                    self._withdrawn()
                    raise
                if then is not None:
                    then(value)
            if self.done():
                return self._result()
            bell = self._new_bell()
            if bell is not None:
                try:
                    yield from bell.__await__()
                except BaseException:
                    if not self.done():
                        self._withdrawn()
                    raise

    __iter__ = __await__

    def get(self, *, timeout: float | None = None) -> Any:
        """Wait in this thread for the result, at most *timeout* seconds; run the user's code here.

        Raises:
            RequestTimeout: It took longer than *timeout*; the server is told to stop. It is a
                `pykka.Timeout` too.
            WouldBlock: This thread is the event loop that has to produce the result.
            Error: The call failed.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            while self._work:
                work, then = self._work.popleft()
                try:
                    value = work.function(work.argument)
                    if inspect.isawaitable(value):
                        import anyio  # noqa: PLC0415  # few handlers that are async run here

                        value = anyio.run(_wait_for, value)
                except BaseException as error:
                    self._broke(error)
                    raise
                if then is not None:
                    then(value)
            if self.done():
                return self._result()
            bell = self._new_bell()
            if bell is not None:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                self._wait_for_bell(bell, left, timeout)

    def _wait_for_bell(self, bell: Future[None], left: float | None, timeout: float | None) -> None:
        import pykka  # noqa: PLC0415  # only to know its timeout

        try:
            bell.get(timeout=left)
        except pykka.Timeout:
            if not self._work and not self.done():
                self._cancel("the caller waits no longer")
                self.try_fail(given_up(self.who, timeout))


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable
