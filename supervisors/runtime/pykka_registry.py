"""Enters actors in pykka's registry and takes them out.

As pykka does, but without making the text of a log message that nobody reads, which would cost more
than starting the actor.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import pykka

_log: Final = logging.getLogger("pykka")


def enter(ref: pykka.ActorRef[Any]) -> None:
    """Enter *ref*."""
    with pykka.ActorRegistry._actor_refs_lock:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # see above
        pykka.ActorRegistry._actor_refs.append(ref)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # see above
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("Registered %s", ref)


def leave(ref: pykka.ActorRef[Any]) -> None:
    """Take *ref* out, if it is in."""
    refs = pykka.ActorRegistry._actor_refs  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # see above
    with pykka.ActorRegistry._actor_refs_lock:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # see above
        found = ref in refs
        if found:
            refs.remove(ref)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("Unregistered %s%s", ref, "" if found else " (not found in registry)")
