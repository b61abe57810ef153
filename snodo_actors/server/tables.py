"""What a server offers, as it changes: who listens is told.

The tables are replaced and never changed, so that any thread may read them.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any, Final

from snodo_actors.server.feeds import PROMPTS_CHANGED, RESOURCES_CHANGED, TOOLS_CHANGED, Feeds
from snodo_actors.server.offers import Offers

_FEATURES: Final = {
    "tools": "tools",
    "resources": "resources",
    "templates": "resources",
    "prompts": "prompts",
    "completions": "completions",
}
_CHANGES: Final = {
    "tools": TOOLS_CHANGED,
    "resources": RESOURCES_CHANGED,
    "templates": RESOURCES_CHANGED,
    "prompts": PROMPTS_CHANGED,
}


class Tables:
    """The tables of one server."""

    __slots__ = ("_lock", "feeds", "offers")

    def __init__(self, offers: Offers) -> None:
        self.offers = offers
        self.feeds = Feeds()
        self._lock = threading.Lock()

    def add(self, table: str, key: Any, offer: Any) -> None:
        """Offer one more thing.

        Raises:
            ValueError: There is one of that name already.
        """
        with self._lock:
            there: Mapping[Any, Any] = getattr(self.offers, table)
            if key in there:
                raise ValueError(f"there is {key!r} among the {table} already")
            feature = _FEATURES.get(table)
            new: dict[str, Any] = {
                table: {**there, key: offer},
                "features": self.offers.features | ({feature} if feature else frozenset()),
            }
            self.offers = dataclasses.replace(self.offers, **new)
        self._tell(table)

    def remove(self, table: str, key: str) -> None:
        """Offer something no longer.

        Raises:
            KeyError: There is no such thing.
        """
        with self._lock:
            left = dict(getattr(self.offers, table))
            del left[key]
            new: dict[str, Any] = {table: left}
            self.offers = dataclasses.replace(self.offers, **new)
        self._tell(table)

    def _tell(self, table: str) -> None:
        event = _CHANGES.get(table)
        if event is not None:
            self.feeds.publish(event)
