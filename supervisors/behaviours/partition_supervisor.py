"""The supervisor of one child many times over, each for its share of the keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, cast

from supervisors.behaviours.child_starts import NotStarted, Started
from supervisors.behaviours.supervisor import Supervisor, SupervisorRef
from supervisors.machines.children import Entry
from supervisors.runtime.actor_ref import ActorRef
from supervisors.runtime.future import Future
from supervisors.runtime.process_table import Name
from supervisors.runtime.ref import Ref
from supervisors.words.errors import NoProcess, SpecError
from supervisors.words.spec_lists import as_spec
from supervisors.words.specs import Strategy


class Partition:
    """A destination: the child that has *key* at the moment something is sent to it."""

    __slots__ = ("key", "supervisor")

    def __init__(self, supervisor: PartitionSupervisorRef, key: Any) -> None:
        self.supervisor = supervisor
        self.key = key

    def __repr__(self) -> str:
        return f"<partition of {self.key!r} in {self.supervisor}>"

    def whereis(self) -> Ref:
        """The child that has the key now.

        Raises:
            NoProcess: The supervisor is not there.
        """
        return self.supervisor.partition(self.key)


class PartitionSupervisorRef(SupervisorRef):
    """A handle on a `PartitionSupervisor`; the ids of its children are 0, 1, 2, ..."""

    __slots__ = ()

    def partition(self, key: Any) -> Ref:
        """The child that has *key*: an int goes by its remainder, anything else by its hash.

        From any thread, without asking the supervisor. A child that is being restarted is still
        found, dead, under its last ref.

        Raises:
            NoProcess: The supervisor is not there, or that child does not run.
        """
        routes = self._routes()
        number = abs(key) if isinstance(key, int) else hash(key)
        child: Ref | None = routes[number % len(routes)]
        if child is None:
            raise NoProcess(self, f"the partition of {key!r}")
        return child

    def partitions(self) -> int:
        """How many partitions there are.

        Raises:
            NoProcess: The supervisor is not there.
        """
        return len(self._routes())

    def via(self, key: Any) -> Partition:
        """A destination for `call`, `cast`, `send` and the like, looked up at each use."""
        return Partition(self, key)

    def _routes(self) -> list[Ref | None]:
        actor = cast("PartitionSupervisor | None", getattr(self.process, "actor", None))
        if actor is None:
            raise NoProcess(self, "its partitions", self.process.reason)
        return actor.routes


class PartitionSupervisor(Supervisor):
    """A supervisor of *partitions* children that are all made from one spec.

    `await PartitionSupervisor.start_link(Counter, partitions=4)`, then
    `supervisors.call(ref.via(key), request)` or `ref.partition(key)`. A child that ends is
    restarted under its number.
    """

    ref_class: ClassVar[type[ActorRef[Any]]] = PartitionSupervisorRef
    routes: list[Ref | None]

    @classmethod
    def start_link(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[PartitionSupervisorRef]:
        """Start the partitions; the arguments are those of `init`, the rest as `Supervisor`."""
        started = super().start_link(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[PartitionSupervisorRef]", started)

    @classmethod
    def start_unlinked(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[PartitionSupervisorRef]:
        """Start the partitions without link and parent; otherwise as `start_link`."""
        started = super().start_unlinked(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[PartitionSupervisorRef]", started)

    def init(
        self,
        child: Any,
        partitions: int | None = None,
        with_arguments: Callable[[tuple[Any, ...], int], Any] | None = None,
        *,
        strategy: Strategy = "one_for_one",
        max_restarts: int = 3,
        max_seconds: float = 5.0,
    ) -> Any:
        """Start *partitions* children.

        Args:
            child: A `ChildSpec`, a dict of its fields, a class with `child_spec()`, or a tuple of
                such a class and arguments. Its id is replaced by the number of the partition.
            partitions: How many; None for one for each processor.
            with_arguments: Called as `with_arguments(args, number)` for each partition; returns
                the arguments its start function is called with.
            strategy: As of `Supervisor.tree`.
            max_restarts: As of `Supervisor.tree`.
            max_seconds: In seconds; as of `Supervisor.tree`.
        """
        count: Any = os.cpu_count() or 1 if partitions is None else partitions
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise SpecError(
                f"partitions must be a whole number (>= 1) or None, not {count!r}.",
                ("invalid_partitions", count),
            )
        spec = as_spec(child)
        self.routes = [None] * count
        children = [replace(spec, id=number) for number in range(count)]
        if with_arguments is not None:
            children = [replace(c, args=tuple(with_arguments(c.args, c.id))) for c in children]
        return self.tree(children, strategy, max_restarts, max_seconds)

    def _started(self, entry: Entry[Ref], value: Any) -> Started | NotStarted:
        came = super()._started(entry, value)
        if isinstance(came, Started):
            self.routes[entry.spec.id] = came.ref
        return came
