"""The supervisor of OTP: starts children in order, restarts those that end, stops in reverse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from supervisors.behaviours.callbacks import Caller
from supervisors.behaviours.child_starts import NotStarted, Started
from supervisors.behaviours.supervision import Supervision
from supervisors.machines.children import Children, Entry
from supervisors.runtime.actor_ref import ActorRef, ServerRef
from supervisors.runtime.future import Future
from supervisors.runtime.process_table import Name
from supervisors.runtime.ref import Ref
from supervisors.words.directives import NO_REPLY, Stop
from supervisors.words.errors import ChildError, SpecError, StartError
from supervisors.words.reasons import ExitReason, FailedToStartChild, Shutdown
from supervisors.words.spec_lists import as_spec, as_specs, check_significant
from supervisors.words.specs import AutoShutdown, Child, ChildSpec, Count, Strategy


@dataclass(frozen=True, slots=True)
class _StartChild:
    child: Any


@dataclass(frozen=True, slots=True)
class _TerminateChild:
    id: Any


@dataclass(frozen=True, slots=True)
class _RestartChild:
    id: Any


@dataclass(frozen=True, slots=True)
class _DeleteChild:
    id: Any


@dataclass(frozen=True, slots=True)
class _GetChildSpec:
    id: Any


@dataclass(frozen=True, slots=True)
class _WhichChildren:
    pass


@dataclass(frozen=True, slots=True)
class _CountChildren:
    pass


class SupervisorRef(ServerRef[Any]):
    """A handle on a `Supervisor`.

    Every request is a call without a time limit: while the supervisor waits for a child to start
    or to end, it answers nothing else, as in OTP. Each future fails with `NoProcess` or `CallExit`
    if the supervisor is not there or ends first.
    """

    __slots__ = ()

    def start_child(self, child: Any) -> Future[Any]:
        """Add a child, last in order, and start it.

        *child* is a `ChildSpec`, a dict of its fields, a class with `child_spec()`, or a tuple of
        such a class and arguments. The future has what the start function returned, the child's
        ref or `(ref, info)`, or None if the child chose not to run.

        The future fails with `AlreadyStarted` or `AlreadyPresent` if the id is taken, with
        `StartFailed` if the child did not start (its spec is not kept then), with `SpecError` if
        the spec is wrong.
        """
        return self.call(_StartChild(child), None)

    def terminate_child(self, id: Any) -> Future[None]:
        """Stop a child within its shutdown time; harmless if it does not run.

        Its spec is kept, for `restart_child`, unless the child is temporary. The future fails with
        `ChildNotFound`.
        """
        return self.call(_TerminateChild(id), None)

    def restart_child(self, id: Any) -> Future[Any]:
        """Start a child that does not run, in its old place; the future is as of `start_child`.

        The future fails with `ChildNotFound`, `ChildRunning`, `ChildRestarting` or `StartFailed`;
        the child then stays down.
        """
        return self.call(_RestartChild(id), None)

    def delete_child(self, id: Any) -> Future[None]:
        """Forget the spec of a child that does not run.

        The future fails with `ChildNotFound`, `ChildRunning` or `ChildRestarting`.
        """
        return self.call(_DeleteChild(id), None)

    def get_childspec(self, id: Any) -> Future[ChildSpec]:
        """The spec of a child, with all defaults filled in; fails with `ChildNotFound`."""
        return self.call(_GetChildSpec(id), None)

    def which_children(self) -> Future[list[Child]]:
        """The children as `Child(id, ref, type)`, the last started first.

        `ref` is None for a child that does not run, "restarting" between two tries to restart it.
        """
        return self.call(_WhichChildren(), None)

    def count_children(self) -> Future[Count]:
        """How many children there are, as `Count(specs, active, supervisors, workers)`."""
        return self.call(_CountChildren(), None)


class Supervisor(Supervision):
    """A supervisor of children known beforehand.

    `await Supervisor.start_link(children, strategy=...)`, or a subclass whose `init` returns
    `self.tree(children, strategy=...)`. Children start in order, each when the one before is
    through with its init, and stop in reverse order.
    """

    ref_class: ClassVar[type[ActorRef[Any]]] = SupervisorRef
    _children: Children[Ref] | None = None

    @classmethod
    def start_link(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[SupervisorRef]:
        """Start a supervisor, linked to the calling process, which is its parent.

        The arguments are those of `init`; without a subclass, those of `tree()`. The future has
        the `SupervisorRef` when all children are up. *name* registers it; *start_timeout* is in
        seconds.

        The future fails with `StartFailed`, whose reason is `Shutdown(FailedToStartChild(id,
        reason))` if a child did not start (those started before are stopped then), or tells which
        spec or flag is wrong; with `AlreadyStarted` if somebody has the name; with `StartIgnored`.
        """
        started = super().start_link(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[SupervisorRef]", started)

    @classmethod
    def start_unlinked(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[SupervisorRef]:
        """Start a supervisor without link and parent; otherwise as `start_link`."""
        started = super().start_unlinked(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[SupervisorRef]", started)

    @staticmethod
    def check_childspecs(children: Any, auto_shutdown: AutoShutdown | None = None) -> None:
        """Check a list of children without starting any.

        Raises:
            SpecError: One is wrong, or two have the same id.
        """
        as_specs(children, auto_shutdown)

    # ---- callbacks

    def init(self, *args: Any, **flags: Any) -> Any:
        """Supervise what `tree()` is given; a subclass returns its own `self.tree(...)`."""
        return self.tree(*args, **flags)

    async def tree(
        self,
        children: Iterable[Any],
        strategy: Strategy = "one_for_one",
        max_restarts: int = 3,
        max_seconds: float = 5.0,
        auto_shutdown: AutoShutdown = "never",
    ) -> Stop | None:
        """Start *children*: what `init` returns.

        Args:
            children: `ChildSpec`s, dicts of their fields, classes with `child_spec()`, or tuples
                of such a class and arguments; in start order.
            strategy: Who is restarted when a child ends: "one_for_one", "one_for_all" or
                "rest_for_one".
            max_restarts: So many restarts are allowed within *max_seconds*; one more, and the
                supervisor stops its children and ends with `shutdown`.
            max_seconds: In seconds.
            auto_shutdown: When significant children end: "never", "any_significant" or
                "all_significant".
        """
        flags = self._flags(strategy, max_restarts, max_seconds, auto_shutdown)
        table = self._children = Children(as_specs(children, auto_shutdown), flags)
        for entry in list(table):
            came = await self._start(entry)
            if isinstance(came, NotStarted):
                self._report("start_error", came.reason, entry, None)
                await self._end_each(table.stop_order(), table.stopped)
                return Stop(Shutdown(FailedToStartChild(entry.spec.id, came.reason)))
            table.started(entry, came.ref, self.node.now())
        return None

    def handle_call(self, request: Any, caller: Caller) -> Any:
        """Answer what `SupervisorRef` asks."""
        try:
            return self._answer_request(self._table, request, caller)
        except (ChildError, StartError, SpecError) as refused:
            caller.fail(refused)
            return NO_REPLY

    def terminate(self, reason: ExitReason) -> Any:
        """Stop the children, the last started first."""
        del reason
        self._try_no_more()
        running = self._table.stop_order()
        return self._end_each(running, self._table.stopped) if running else None

    def format_status(self) -> Any:
        """What `get_state()` shows: the children."""
        return {"children": self._table.which() if self._children is not None else []}

    def tree_children(self) -> list[Child]:
        """The children in start order, for a snapshot of the tree; only on the loop."""
        return [entry.line for entry in self._children or ()]

    # ---- requests

    @property
    def _table(self) -> Children[Ref]:
        table = self._children
        assert table is not None
        return table

    def _answer_request(self, table: Children[Ref], request: Any, caller: Caller) -> Any:
        match request:
            case _StartChild(child):
                spec = as_spec(child)
                check_significant(spec, table.auto_shutdown)
                table.check_new(spec.id)
                return self._start_new(spec, caller)
            case _TerminateChild(id):
                return self._terminate_child(table.find(id))
            case _RestartChild(id):
                return self._restart_child(table.find_down(id), caller)
            case _DeleteChild(id):
                return table.delete(id)
            case _GetChildSpec(id):
                return table.find(id).spec
            case _WhichChildren():
                return table.which()
            case _CountChildren():
                return table.count(Ref.is_alive)
            case _:
                return super().handle_call(request, caller)

    def _start_new(self, spec: ChildSpec, caller: Caller) -> Any:
        entry: Entry[Ref] = Entry(spec)

        def then(came: Started | NotStarted) -> Any:
            if isinstance(came, NotStarted):
                caller.fail(came.error(spec))
                return NO_REPLY
            self._table.add(entry, came.ref, self.node.now())
            return came.value

        return self._start_then(entry, then)

    def _restart_child(self, entry: Entry[Ref], caller: Caller) -> Any:
        def then(came: Started | NotStarted) -> Any:
            if isinstance(came, NotStarted):
                caller.fail(came.error())
                return NO_REPLY
            self._table.started(entry, came.ref, self.node.now())
            return came.value

        return self._start_then(entry, then)

    def _terminate_child(self, entry: Entry[Ref]) -> Any:
        self._try_no_more(entry)
        if not entry.running:
            return self._table.stopped(entry)
        return self._end_each([entry], self._table.stopped)
