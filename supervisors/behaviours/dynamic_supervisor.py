"""The supervisor of children that come and go: started on request, known by their refs alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import pykka

from supervisors.behaviours.callbacks import Caller
from supervisors.behaviours.child_starts import NotStarted, Started
from supervisors.behaviours.supervision import Supervision, refusal
from supervisors.machines.children import Entry
from supervisors.machines.dynamic_children import DynamicChildren
from supervisors.machines.restarts import is_expected
from supervisors.runtime.actor_ref import ActorRef, ServerRef
from supervisors.runtime.future import Future
from supervisors.runtime.process_table import Name
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import DEAD
from supervisors.runtime.threads import process_of_foreign
from supervisors.words.directives import NO_REPLY
from supervisors.words.errors import ChildError, ChildNotFound, SpecError, StartError, StartIgnored
from supervisors.words.reasons import ExitReason
from supervisors.words.spec_lists import as_spec, check_significant
from supervisors.words.specs import AutoShutdown, Child, ChildSpec, Count


@dataclass(frozen=True, slots=True)
class _StartChild:
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _TerminateChild:
    ref: Any


@dataclass(frozen=True, slots=True)
class _GetChildSpec:
    child: Any


@dataclass(frozen=True, slots=True)
class _WhichChildren:
    pass


@dataclass(frozen=True, slots=True)
class _CountChildren:
    pass


class DynamicSupervisorRef(ServerRef[Any]):
    """A handle on a `DynamicSupervisor`.

    Every request is a call without a time limit. Each future fails with `NoProcess` or `CallExit`
    if the supervisor is not there or ends first.
    """

    __slots__ = ()

    def start_child(self, *child: Any) -> Future[Any]:
        """Start a child.

        The argument is a `ChildSpec`, a dict of its fields, a class with `child_spec()`, or a
        tuple of such a class and arguments; its id need not be unique. Under a supervisor with a
        template the arguments are appended to those of the template. The future has what the start
        function returned: the child's ref, or `(ref, info)`.

        The future fails with `MaxChildren` if there are as many as there may be, with
        `StartIgnored` if the child chose not to run, with `StartFailed` or `AlreadyStarted` if it
        did not start, with `SpecError` if the spec is wrong. Nothing is kept then.
        """
        return self.call(_StartChild(child), None)

    def terminate_child(self, child: Any) -> Future[None]:
        """Stop the child with the ref *child*, within its shutdown time, and forget it.

        The future fails with `ChildNotFound`.
        """
        return self.call(_TerminateChild(child), None)

    def get_childspec(self, child: Any) -> Future[ChildSpec]:
        """The spec of the child with the ref *child*; a template is also found by its id.

        The future fails with `ChildNotFound`.
        """
        return self.call(_GetChildSpec(child), None)

    def which_children(self) -> Future[list[Child]]:
        """The children as `Child(None, ref, type)`, the oldest first.

        `ref` is "restarting" between two tries to restart a child.
        """
        return self.call(_WhichChildren(), None)

    def count_children(self) -> Future[Count]:
        """How many children there are, as `Count(specs, active, supervisors, workers)`.

        Under a supervisor with a template there is one spec, whatever the number of children.
        """
        return self.call(_CountChildren(), None)


class DynamicSupervisor(Supervision):
    """A supervisor that starts empty, with any number of children that are added later.

    `await DynamicSupervisor.start_link(max_children=...)`, or a subclass whose `init` returns
    `self.tree(max_children=...)`. A child that ends and is not restarted is forgotten. The
    children stop all at once, each within its shutdown time.
    """

    ref_class: ClassVar[type[ActorRef[Any]]] = DynamicSupervisorRef
    _children: DynamicChildren[Ref] | None = None
    _extra: tuple[Any, ...] = ()
    _template: ChildSpec | None = None
    _bad_ends: list[ExitReason] | None = None
    """The ends worth a report, while all children of a template are stopped."""

    @classmethod
    def start_link(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[DynamicSupervisorRef]:
        """Start a supervisor, linked to the calling process, which is its parent.

        The arguments are those of `init`; without a subclass, those of `tree()`. The future has
        the `DynamicSupervisorRef`. *name* registers it; *start_timeout* is in seconds.

        The future fails with `StartFailed` (a flag or the template is wrong), `AlreadyStarted`
        (somebody has the name) or `StartIgnored`.
        """
        started = super().start_link(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[DynamicSupervisorRef]", started)

    @classmethod
    def start_unlinked(  # type: ignore[override]  # its ref has methods of its own
        cls, *args: Any, name: Name | None = None, start_timeout: float | None = None, **kwargs: Any
    ) -> Future[DynamicSupervisorRef]:
        """Start a supervisor without link and parent; otherwise as `start_link`."""
        started = super().start_unlinked(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[DynamicSupervisorRef]", started)

    # ---- callbacks

    def init(self, *args: Any, **flags: Any) -> Any:
        """Start empty; a subclass returns its own `self.tree(...)` or `Ignore()`."""
        return self.tree(*args, **flags)

    def tree(
        self,
        *,
        max_children: int | None = None,
        extra_arguments: Iterable[Any] = (),
        max_restarts: int = 3,
        max_seconds: float = 5.0,
        template: Any = None,
        auto_shutdown: AutoShutdown = "never",
    ) -> None:
        """Say how the children to come are treated: what `init` returns.

        Args:
            max_children: How many there may be at a time; None for no limit.
            extra_arguments: Put before the arguments of every child's start function.
            max_restarts: So many restarts are allowed within *max_seconds*; one more, and the
                supervisor stops its children and ends with `shutdown`.
            max_seconds: In seconds.
            template: The spec of all children, as OTP's simple_one_for_one has it; then
                `start_child(*args)` appends *args* to its arguments.
            auto_shutdown: When significant children end: "never", "any_significant" or
                "all_significant"; only with a template that is significant.
        """
        flags = self._flags("one_for_one", max_restarts, max_seconds, auto_shutdown)
        if max_children is not None and not _is_count(max_children):
            raise refusal(
                "supervisor_data",
                SpecError(
                    f"max_children must be a whole number (>= 0) or None, not {max_children!r}.",
                    ("invalid_max_children", max_children),
                ),
            )
        if isinstance(extra_arguments, str) or not isinstance(
            cast("object", extra_arguments), Iterable
        ):
            raise refusal(
                "supervisor_data",
                SpecError(
                    f"extra_arguments must be a tuple, not {extra_arguments!r}. "
                    f"Write `extra_arguments=({extra_arguments!r},)`.",
                    ("invalid_extra_arguments", extra_arguments),
                ),
            )
        self._extra = tuple(extra_arguments)
        if template is not None:
            self._template = _one_template(template)
            check_significant(self._template, auto_shutdown)
        self._children = DynamicChildren(flags, max_children, self._template)

    def handle_call(self, request: Any, caller: Caller) -> Any:
        """Answer what `DynamicSupervisorRef` asks."""
        try:
            return self._answer_request(self._table, request, caller)
        except (ChildError, StartError, SpecError) as refused:
            caller.fail(refused)
            return NO_REPLY

    def terminate(self, reason: ExitReason) -> Any:
        """Stop the children, all at once."""
        del reason
        self._try_no_more()
        running = self._table.running()
        return self._end_children(running) if running else None

    def format_status(self) -> Any:
        """What `get_state()` shows: the children."""
        return {"children": self._table.which() if self._children is not None else []}

    def tree_children(self) -> list[Child]:
        """The children, for a snapshot of the tree; only on the loop."""
        return self._children.which() if self._children is not None else []

    async def _end_children(self, running: list[Entry[Ref]]) -> None:
        if self._template is None:
            await self._end_all(running)
            return
        bad_ends: list[ExitReason] = []
        self._bad_ends = bad_ends
        await self._end_all(running)
        while bad_ends:  # one report for each reason, as of OTP's simple_one_for_one
            reason = bad_ends[0]
            self._report("shutdown_error", reason, running[0], None)
            bad_ends[:] = [other for other in bad_ends if other != reason]

    def _check_end(self, entry: Entry[Ref], reason: ExitReason) -> None:
        if self._bad_ends is None:
            super()._check_end(entry, reason)
        elif not is_expected(entry.spec, reason):
            self._bad_ends.append(reason)

    # ---- requests

    @property
    def _table(self) -> DynamicChildren[Ref]:
        table = self._children
        assert table is not None
        return table

    def _report_id(self, entry: Entry[Ref]) -> Any:
        return self._table.report_id(entry)

    def _answer_request(self, table: DynamicChildren[Ref], request: Any, caller: Caller) -> Any:
        match request:
            case _StartChild(args):
                entry = self._new_entry(args)
                table.check_room()
                return self._start_new(entry, caller)
            case _TerminateChild(ref):
                return self._terminate_child(ref)
            case _GetChildSpec(child):
                return self._get_childspec(child)
            case _WhichChildren():
                return table.which()
            case _CountChildren():
                return table.count(Ref.is_alive)
            case _:
                return super().handle_call(request, caller)

    def _new_entry(self, args: tuple[Any, ...]) -> Entry[Ref]:
        template = self._template
        if template is not None:
            return Entry(template, (*self._extra, *template.args, *args))
        if len(args) != 1:
            raise SpecError(
                f"start_child() takes one child spec here, not {len(args)} arguments. "
                "Only a supervisor with a template takes the arguments of its children.",
                ("invalid_child_spec", args),
            )
        spec = as_spec(args[0])
        check_significant(spec, "never")
        return Entry(spec, (*self._extra, *spec.args))

    def _start_new(self, entry: Entry[Ref], caller: Caller) -> Any:
        def then(came: Started | NotStarted) -> Any:
            if isinstance(came, NotStarted):
                caller.fail(came.error())
                return NO_REPLY
            if came.ref is not None:
                self._table.add(entry, came.ref, self.node.now())
            elif self._template is None:
                caller.fail(StartIgnored())
                return NO_REPLY
            return came.value

        return self._start_then(entry, then)

    def _get_childspec(self, child: Any) -> ChildSpec:
        template = self._template
        if template is not None and child == template.id:
            return template
        ref = self._ref_of(child)
        if not isinstance(ref, Ref):
            raise ChildNotFound(child)
        return self._table.find(ref).spec

    def _terminate_child(self, child: Any) -> Any:
        ref = self._ref_of(child)
        if not isinstance(ref, Ref):
            raise SpecError(
                f"a child of a dynamic supervisor has no id; give its ref, not {child!r}.",
                "simple_one_for_one" if self._template is not None else "not_found",
            )
        try:
            entry = self._table.find(ref)
        except ChildNotFound:
            if self._template is not None and ref.process.state == DEAD:
                return None  # as OTP has it
            raise
        self._try_no_more(entry)
        if not entry.running:
            return self._table.stopped(entry)
        return self._end_each([entry], self._table.stopped)

    def _ref_of(self, child: Any) -> Any:
        if isinstance(child, pykka.ActorRef) and not isinstance(child, Ref):
            return process_of_foreign(child, self.node).ref  # pyright: ignore[reportUnknownArgumentType]  # isinstance() cannot know what kind of actor
        return child


def _one_template(template: Any) -> ChildSpec:
    if not isinstance(template, list):
        return as_spec(template)
    templates = cast("list[object]", template)
    if len(templates) != 1:
        raise refusal(
            "bad_start_spec",
            SpecError(
                f"a supervisor has one template, not {len(templates)}. "
                "Use one `DynamicSupervisor.start_link(template=spec)` for each.",
                templates,
            ),
        )
    return as_spec(templates[0])


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
