"""What a supervisor is told about its children, and what it tells about them.

Checks every field where it is written and says what to write instead; starts nothing.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from supervisors.words.directives import UNSET
from supervisors.words.errors import SpecError

RestartType = Literal["permanent", "transient", "temporary"]
"""permanent: started again whenever it ends; transient: only after an abnormal end; temporary:
never."""
ChildType = Literal["worker", "supervisor"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
"""Who is restarted when a child ends: it alone, all children, or it and those started after it."""
AutoShutdown = Literal["never", "any_significant", "all_significant"]
"""When a supervisor shuts itself down: never, or once one or all significant children ended."""
_RESTART_TYPES: Final = get_args(RestartType)
_CHILD_TYPES: Final = get_args(ChildType)

BRUTAL_KILL: Final = "brutal_kill"
"""A shutdown time: kill the child at once, without letting it clean up."""
ShutdownTime: TypeAlias = float | Literal["brutal_kill"] | None
"""Seconds a child gets to end, None to wait for ever, or `BRUTAL_KILL`."""
WORKER_SHUTDOWN: Final = 5.0
"""Seconds a worker gets to end, unless its spec says otherwise."""

ONE_LINE: Final = 'ChildSpec(id="counter", start=lambda: Counter.start_link(0))'


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a child is restarted; an addition to OTP.

    The first delay is *initial* seconds, each further one *factor* times longer, up to *maximum*.
    Each is varied at random by up to the share *jitter* in both directions, so that many children
    do not come back at the same moment. A child that then stays up for *maximum* seconds starts
    from *initial* again.

    Raises:
        SpecError: A number is out of its range.
    """

    initial: float
    maximum: float
    factor: float = 2.0
    jitter: float = 0.1

    def __post_init__(self) -> None:
        for name, low, high in (
            ("initial", 0.0, math.inf),
            ("maximum", self.initial, math.inf),
            ("factor", 1.0, math.inf),
            ("jitter", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if not _is_number(value) or not low <= value <= high or value == math.inf:
                raise SpecError(
                    f"Backoff: {name} must be a number from {low:g} to {high:g}, not {value!r}. "
                    "Write for example `Backoff(initial=0.1, maximum=30.0)`; times are in seconds.",
                    (f"invalid_{name}", value),
                )


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child of a supervisor.

    Args:
        id: Any hashable value, unique among the children of a `Supervisor`.
        start: Called as `start(*args)` in the supervisor's own process, for the first start and
            for each restart. It must start *and link* the child and return its ref, or
            `(ref, info)`; it may be async. `StartIgnored` raised in it means "not now", anything
            else raised in it that the start failed.
        restart: "permanent", "transient" or "temporary"; see `RestartType`.
        shutdown: Seconds the child gets to end when it is told to; None to wait for ever;
            `BRUTAL_KILL` to kill it at once. Left out: 5.0 for a worker, None for a supervisor.
        type: "worker" or "supervisor".
        significant: Whether the child's end may shut the supervisor down; see `AutoShutdown`.
        restart_delay: None to restart at once, as OTP does, or a `Backoff`.
        args: What `start` is called with.

    Raises:
        SpecError: A field is wrong.
    """

    id: Any
    start: Callable[..., Any]
    restart: RestartType = "permanent"
    shutdown: ShutdownTime = UNSET
    type: ChildType = "worker"
    significant: bool = False
    restart_delay: Backoff | None = None
    args: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.id is None:
            raise SpecError(
                f"a child spec needs an id. Write for example `{ONE_LINE}`.", "missing_id"
            )
        if not _can_hash(self.id):
            raise self._wrong("id", "a hashable value, for example a string", "invalid_id")
        if not callable(cast("Any", self.start)):
            raise self._no_start()
        if self.restart not in _RESTART_TYPES:
            raise self._wrong("restart", _one_of(RestartType), "invalid_restart_type")
        if self.significant not in (True, False):
            raise self._wrong("significant", "True or False", "invalid_significant")
        if self.type not in _CHILD_TYPES:
            raise self._wrong("type", _one_of(ChildType), "invalid_child_type")
        self._check_shutdown()
        delay: Any = self.restart_delay
        if delay is not None and not isinstance(delay, Backoff):
            raise self._wrong(
                "restart_delay",
                "None or a Backoff, for example `Backoff(initial=0.1, maximum=30.0)`",
                "invalid_restart_delay",
            )
        if not isinstance(cast("Any", self.args), tuple):
            raise self._wrong("args", "a tuple of arguments for start", "invalid_args")

    def _check_shutdown(self) -> None:
        shutdown: Any = self.shutdown
        if shutdown is UNSET:
            default = WORKER_SHUTDOWN if self.type == "worker" else None
            object.__setattr__(self, "shutdown", default)
        elif shutdown is None or shutdown == BRUTAL_KILL:
            return
        elif not _is_number(shutdown) or not 0 <= shutdown < math.inf:
            raise self._wrong(
                "shutdown",
                "seconds (>= 0), None to wait for ever, or BRUTAL_KILL",
                "invalid_shutdown",
            )
        else:
            warn_if_milliseconds(f"shutdown of the child {self.id!r}", shutdown, stacklevel=5)

    def _no_start(self) -> SpecError:
        start: Any = self.start
        why = "it cannot be called"
        if inspect.iscoroutine(start):
            start.close()  # else Python also warns that it was never awaited
            why = "it was called, and a child must be startable again and again"
        return SpecError(
            f"start of the child {self.id!r} must be a function, not {start!r}: {why}. "
            f"Write for example `{ONE_LINE}`.",
            ("invalid_mfa", start),
        )

    def _wrong(self, field: str, expected: str, tag: str) -> SpecError:
        value = getattr(self, field)
        who = "" if field == "id" else f" of the child {self.id!r}"
        return SpecError(f"{field}{who} must be {expected}, not {value!r}.", (tag, value))


@dataclass(frozen=True, slots=True)
class Flags:
    """How a supervisor treats its children.

    Raises:
        SpecError: A flag is wrong.
    """

    strategy: Strategy = "one_for_one"
    max_restarts: int = 3
    max_seconds: float = 5.0
    auto_shutdown: AutoShutdown = "never"

    def __post_init__(self) -> None:
        strategy: str = self.strategy
        if strategy not in get_args(Strategy):
            raise SpecError(
                f"strategy must be {_one_of(Strategy)}, not {strategy!r}. simple_one_for_one is "
                "`DynamicSupervisor.start_link(template=spec)`.",
                ("invalid_strategy", strategy),
            )
        count: Any = self.max_restarts
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise SpecError(
                f"max_restarts must be a whole number (>= 0) of restarts, not {count!r}.",
                ("invalid_intensity", count),
            )
        if not _is_number(self.max_seconds) or self.max_seconds <= 0:
            raise SpecError(
                f"max_seconds must be a number of seconds above 0, not {self.max_seconds!r}.",
                ("invalid_period", self.max_seconds),
            )
        warn_if_milliseconds("max_seconds", self.max_seconds, stacklevel=5)
        if self.auto_shutdown not in get_args(AutoShutdown):
            raise SpecError(
                f"auto_shutdown must be {_one_of(AutoShutdown)}, not {self.auto_shutdown!r}.",
                ("invalid_auto_shutdown", self.auto_shutdown),
            )


class Child(NamedTuple):
    """One line of `which_children()`."""

    id: Any
    """The id of the spec; None for a child of a `DynamicSupervisor`."""
    ref: Any
    """The running process, None, or "restarting" between two tries to restart it."""
    type: ChildType


class Count(NamedTuple):
    """What `count_children()` counts."""

    specs: int
    """Child specs, whether their children run or not."""
    active: int
    """Children that are alive now."""
    supervisors: int
    """Specs of type "supervisor"."""
    workers: int
    """Specs of type "worker"."""


def warn_if_milliseconds(what: str, seconds: float, stacklevel: int) -> None:
    """Warn about a time that looks as if it were meant in milliseconds."""
    if isinstance(seconds, int) and seconds >= 1000:
        warnings.warn(
            f"{what} is {seconds} seconds; if milliseconds were meant, write {seconds / 1000:g}. "
            f"Write {float(seconds)} to keep it without this warning.",
            UserWarning,
            stacklevel=stacklevel,
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124  # not NaN


def _can_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _one_of(choices: Any) -> str:
    *most, last = (f'"{choice}"' for choice in get_args(choices))
    return f"{', '.join(most)} or {last}"
