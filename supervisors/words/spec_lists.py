"""How the children of a supervisor may be written: specs, dicts, classes, classes with arguments.

Reads them, checks them together, and says what to write instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self, cast

from supervisors.words.errors import SpecError
from supervisors.words.specs import ONE_LINE, AutoShutdown, ChildSpec


def as_spec(child: Any) -> ChildSpec:
    """Read *child* as a child spec.

    It is one, or a dict of its fields, or a class that has `child_spec()`, or a tuple of such a
    class and the arguments for its `child_spec`.

    Raises:
        SpecError: It is none of these; the text says what to write.
    """
    if isinstance(child, ChildSpec):
        return child
    if isinstance(child, dict):
        return _from_mapping(cast("dict[str, Any]", child))
    if isinstance(child, type):
        return _from_class(child, ())
    if isinstance(child, tuple):
        cls, *args = cast("tuple[object, ...]", child) or (None,)
        if isinstance(cls, type):
            return _from_class(cls, args)
    raise _not_a_spec(cast("object", child))


def as_specs(children: Any, auto_shutdown: AutoShutdown | None = None) -> list[ChildSpec]:
    """Read a list of children, check each and that their ids differ.

    *auto_shutdown* is the flag of the supervisor they are for, if that is known.

    Raises:
        SpecError: One of them is wrong, or two have the same id.
    """
    if isinstance(children, str | Mapping | type | ChildSpec) or not isinstance(children, Iterable):
        raise SpecError(
            f"children must be a list, not {children!r}. Write for example `[{ONE_LINE}]`.",
            ("invalid_children", cast("object", children)),
        )
    specs: dict[Any, ChildSpec] = {}
    for child in cast("Iterable[object]", children):
        spec = as_spec(child)
        check_significant(spec, auto_shutdown)
        if spec.id in specs:
            raise SpecError(
                f"two children have the id {spec.id!r}. Give each its own: "
                "`Counter.child_spec(id=...)` or `ChildSpec(id=..., start=...)`.",
                ("duplicate_child_name", spec.id),
            )
        specs[spec.id] = spec
    return list(specs.values())


def check_significant(spec: ChildSpec, auto_shutdown: AutoShutdown | None) -> None:
    """Check that *spec* may be significant under a supervisor with *auto_shutdown*.

    Raises:
        SpecError: It is significant, and the supervisor never shuts itself down, or the child is
            permanent, so that its end would never count.
    """
    if not spec.significant:
        return
    if auto_shutdown == "never":
        raise SpecError(
            f"the child {spec.id!r} is significant, but the supervisor never shuts itself down. "
            'Give the supervisor `auto_shutdown="any_significant"`, or the child '
            "`significant=False`.",
            ("bad_combination", [("auto_shutdown", "never"), ("significant", True)]),
        )
    if spec.restart == "permanent":
        raise SpecError(
            f"the child {spec.id!r} is significant and permanent; a permanent child is always "
            'restarted, so its end would never count. Give it `restart="transient"`.',
            ("bad_combination", [("restart", "permanent"), ("significant", True)]),
        )


class SpecTerm(tuple[Any, ...]):  # noqa: SLOT001  # a tuple with an attribute needs a dict
    """A term of OTP, such as `("start_spec", ...)`, that reads as an explanation."""

    text: str

    def __new__(cls, tag: str, error: SpecError) -> Self:
        """Make `(tag, error's term)`; its text is the text of *error*."""
        self = super().__new__(cls, (tag, error.term))
        self.text = str(error)
        return self

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecTerm, (self[0], SpecError(self.text, self[1]))


def _from_class(cls: Any, args: Sequence[Any]) -> ChildSpec:
    make = getattr(cls, "child_spec", None)
    if make is None:
        raise _not_a_spec(cls, f"{cls.__name__} has no child_spec()")
    spec = make(*args)
    if spec is cls or not isinstance(spec, ChildSpec | dict):
        raise _not_a_spec(spec, f"{cls.__name__}.child_spec() returned it")
    return as_spec(spec)


def _from_mapping(child: dict[str, Any]) -> ChildSpec:
    names = [field.name for field in fields(ChildSpec)]
    unknown = [key for key in child if key not in names]
    if unknown:
        raise SpecError(
            f"a child spec has no field {unknown[0]!r}; it has {', '.join(names)}.",
            ("invalid_child_spec", child),
        )
    if "id" not in child:
        raise SpecError(
            f"the child spec {child!r} needs an id. Write for example `{ONE_LINE}`.", "missing_id"
        )
    if "start" not in child:
        raise SpecError(
            f"the child spec {child!r} needs a start function. Write for example `{ONE_LINE}`.",
            "missing_start",
        )
    return ChildSpec(**child)


def _not_a_spec(child: Any, why: str = "") -> SpecError:
    if inspect.iscoroutine(child):
        child.close()  # else Python also warns that it was never awaited
        why = "it was called, and a child must be startable again and again"
    elif callable(child):
        why = why or "a function alone has no id and no restart type"
    return SpecError(
        f"{child!r} is no child spec{': ' if why else ''}{why}. Write for example `{ONE_LINE}`, "
        "or, for a GenServer, `Counter`, `(Counter, 0)` or `Counter.child_spec(0)`.",
        ("invalid_child_spec", child),
    )
