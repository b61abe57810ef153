"""What happens, told to whoever wants to know, as plain function calls.

Events and what comes with them (times in seconds):

- `connect.start`  who; `connect.stop`  who, duration, version, error
- `request.start`  who, method, params, id, carrier; `request.stop`  who, method, id, duration,
  result, error. What a handler puts into *carrier* (`traceparent`, `tracestate`) goes into the
  request's `_meta`, unless the caller gave a trace context, or it is not as W3C defines it.
- `cache.hit`  who, method, params: a result was kept, so nothing is sent
- `port.exit`  who, pid, status, error: a server process ended by itself
- `port.restart`  who: a supervised server was started again
- `subscription.dropped`  who, ref, count: an owner was too slow for its buffer

Handlers run where the event happens, mostly in the thread of an event loop: they must be quick. One
that raises is logged and taken off. Without handlers nothing is made and nothing is called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from snodo_actors.words.meta_entries import meta_entries

_log = logging.getLogger("snodo_actors.telemetry")

Handler = Callable[[str, dict[str, Any]], object]
"""Called with the name of an event and what comes with it."""

handlers: tuple[Handler, ...] = ()


def attach(handler: Handler) -> Callable[[], None]:
    """Call *handler* with every event; returns the function that ends it."""
    global handlers  # noqa: PLW0603  # one list for the program, as logging has one root
    if not callable(handler):
        raise TypeError(f"a handler is a function of two arguments, not {handler!r}")
    handlers = (*handlers, handler)
    return lambda: detach(handler)


def detach(handler: Handler) -> None:
    """Call *handler* no more; harmless when repeated."""
    global handlers  # noqa: PLW0603  # see attach()
    handlers = tuple(other for other in handlers if other is not handler)


def emit(event: str, **what: Any) -> None:
    """Tell the handlers of *event*."""
    for handler in handlers:
        try:
            handler(event, what)
        except Exception:  # noqa: BLE001  # the user's function must not harm what it looks at
            _log.exception("a telemetry handler failed and was taken off: %r", handler)
            detach(handler)


def trace_context(carrier: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read what handlers put into the *carrier* of a request; None: nothing that can be sent."""
    if "traceparent" not in carrier:
        return None
    names = ("traceparent", "tracestate")
    try:
        return meta_entries("carrier", {name: carrier[name] for name in names if name in carrier})
    except (TypeError, ValueError) as error:
        _log.warning("a telemetry handler's trace context is left out: %s", error)
        return None
