"""Tools that cannot be called over HTTP as their server wants it, taken out of lists.

Over HTTP some arguments travel in headers, too; a tool whose definition says so against the
rules is left out, with a warning.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

from snodo_actors.wire import codec
from snodo_actors.wire.xmcp import ANNOTATION, invalid_reason
from snodo_actors.words.types import JSONObject, Page, is_object

MAX_WARNINGS = 1000
"""Different warnings that are logged."""

_log = logging.getLogger("snodo_actors.http")
_MARK = ANNOTATION.encode()
_lock = threading.Lock()
_warned: set[tuple[str, str, str]] = set()


def without_unusable(who: str, page: Page) -> Page:
    """The *page* without tools that cannot be called; its result stays as it came."""
    if not codec.mentions(page.items, _MARK):
        return page
    kept: list[JSONObject] = []
    for tool in page.items:
        reason = invalid_reason(tool) if is_object(tool) else None
        if reason is None:
            kept.append(tool)
        else:
            _warn(who, str(tool.get("name")), reason)
    return replace(page, items=kept)


def _warn(who: str, name: str, reason: str) -> None:
    """Log it, once."""
    with _lock:
        if (who, name, reason) in _warned or len(_warned) >= MAX_WARNINGS:
            return
        _warned.add((who, name, reason))
    _log.warning("%s: the tool %r is left out: %s", who, name, reason)
