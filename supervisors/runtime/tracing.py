"""What a tracer is told of an actor."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from supervisors.runtime.requests import Ask, Cast, Told

if TYPE_CHECKING:
    from supervisors.runtime.actor_process import ActorProcess

_log = logging.getLogger("supervisors.trace")


def trace(process: ActorProcess, item: Any) -> None:
    """Tell the tracer of *process* what it is about to handle."""
    match item:
        case Ask():
            tell_tracer(process, ("in", "call", item.message))
        case Cast():
            tell_tracer(process, ("in", "cast", item.request))
        case Told():
            tell_tracer(process, ("in", "info", item.message))
        case _:
            tell_tracer(process, ("in", "info", item))


def tell_tracer(process: ActorProcess, event: tuple[Any, ...]) -> None:
    """Call the tracer; one that raises or returns "done" is taken off."""
    tracer = process.tracer
    if tracer is None:
        return
    try:
        if tracer(event) != "done":
            return
    except Exception:  # noqa: BLE001  # the user's function must not harm the actor it looks at
        _log.exception("the tracer of %s failed and was taken off", process.ref)
    process.tracer = None
    process.look_special()
