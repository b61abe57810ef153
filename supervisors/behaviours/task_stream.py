"""Many tasks over many inputs, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
)
from dataclasses import dataclass
from typing import Any, Literal

from supervisors.behaviours.task_channel import Channel
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.timers import TimerHandle
from supervisors.words.errors import CallTimeout, SpecError
from supervisors.words.reasons import TimedOut
from supervisors.words.tasks import Exited, Outcome

OnTimeout = Literal["exit", "kill_task"]


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a stream; see `TaskSupervisorRef.stream`."""

    max_concurrency: int
    ordered: bool
    timeout: float | None
    on_timeout: OnTimeout
    zip_input_on_exit: bool

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise SpecError(f"max_concurrency must be at least 1, not {self.max_concurrency!r}.")
        if self.on_timeout not in ("exit", "kill_task"):
            raise SpecError(f'on_timeout must be "exit" or "kill_task", not {self.on_timeout!r}.')


class _Item:
    """One input whose task runs, or whose outcome waits for its turn."""

    __slots__ = ("channel", "input", "outcome", "timer")

    def __init__(self, input: Any, channel: Channel) -> None:
        self.input = input
        self.channel = channel
        self.timer: TimerHandle | None = None
        self.outcome: Outcome | BaseException | None = None

    def drop(self) -> None:
        """Stop what still runs of it."""
        if self.timer is not None:
            self.timer.cancel()
        if not self.channel.done.done():
            self.channel.stop()


class _Window:
    """The items between the inputs and the caller."""

    def __init__(self, start: Callable[[Any], Channel], options: StreamOptions) -> None:
        self._start = start
        self._options = options
        self._owner = self_process()
        self._bell: Future[None] = Future()
        self._arrived: deque[_Item] = deque()
        self.items: dict[_Item, None] = {}
        """In the order of the inputs."""

    @property
    def has_room(self) -> bool:
        """Whether one more task may run; an outcome that waits for its turn counts too."""
        return len(self.items) < self._options.max_concurrency

    def begin(self, value: Any) -> None:
        """Start the task of one input."""
        item = _Item(value, self._start(value))
        self.items[item] = None
        if self._options.timeout is not None:
            node = item.channel.process.node
            item.timer = node.after(
                self._options.timeout, self._arrive, item, lambda: Exited(TimedOut())
            )
        item.channel.done.add_done_callback(lambda _done: self._arrive(item, item.channel.outcome))

    def _arrive(self, item: _Item, outcome: Callable[[], Outcome | BaseException]) -> None:
        if item.outcome is not None:
            return
        item.outcome = outcome()
        if item.timer is not None:
            item.timer.cancel()
        if self._owner.trapping:
            self._owner.unlink(item.channel.process)  # its outcome is an item; no Exit besides
        self._arrived.append(item)
        self._bell.try_set(None)

    async def next(self) -> Outcome:
        """The next outcome that is due."""
        while (item := self._due()) is None:
            self._bell = Future(self._owner.node)
            if not self._arrived:
                await self._bell
        del self.items[item]
        outcome = item.outcome
        if isinstance(outcome, Exited):
            if not item.channel.done.done():
                item.drop()
                if self._options.on_timeout == "exit":
                    seconds = self._options.timeout
                    raise CallTimeout(item.channel.ref, "an item of a stream", seconds)
            if self._options.zip_input_on_exit:
                return Exited(outcome.reason, item.input)
        if isinstance(outcome, BaseException):
            raise outcome
        assert outcome is not None
        return outcome

    def _due(self) -> _Item | None:
        if not self._options.ordered:
            return self._arrived.popleft() if self._arrived else None
        self._arrived.clear()
        first = next(iter(self.items))
        return first if first.outcome is not None else None


async def stream_outcomes(
    start: Callable[[Any], Channel],
    inputs: Iterable[Any] | AsyncIterable[Any],
    options: StreamOptions,
) -> AsyncGenerator[Outcome, None]:
    """Yield the outcome of the task that `start(input)` makes, for each input."""
    window = _Window(start, options)
    source = _Inputs(inputs)
    try:
        while True:
            while source.more and window.has_room:
                await source.begin_next(window.begin)
            if not window.items:
                return
            yield await window.next()
    finally:
        for item in window.items:
            item.drop()


class _Inputs:
    """What the inputs are taken from, one at a time."""

    def __init__(self, inputs: Iterable[Any] | AsyncIterable[Any]) -> None:
        self._iterator: Iterator[Any] | AsyncIterator[Any] = (
            aiter(inputs) if isinstance(inputs, AsyncIterable) else iter(inputs)
        )
        self.more = True

    async def begin_next(self, begin: Callable[[Any], None]) -> None:
        """Give the next input to *begin*, if there is one."""
        iterator = self._iterator
        try:
            if isinstance(iterator, AsyncIterator):
                value = await anext(iterator)
            else:
                value = next(iterator)
        except (StopIteration, StopAsyncIteration):
            self.more = False
        else:
            begin(value)
