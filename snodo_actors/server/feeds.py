"""The streams of events that are open at a server, and which event goes to which."""

from __future__ import annotations

import threading
from typing import Any, Final

from snodo_actors.machines.subscription import ACKNOWLEDGED
from snodo_actors.ports.transport import Deliver
from snodo_actors.server.errors import invalid_params
from snodo_actors.wire.jsonrpc import notification, result_response
from snodo_actors.wire.meta import SUBSCRIPTION_ID
from snodo_actors.words.types import JSONObject, is_list, is_object

TOOLS_CHANGED: Final = "notifications/tools/list_changed"
PROMPTS_CHANGED: Final = "notifications/prompts/list_changed"
RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
RESOURCE_UPDATED: Final = "notifications/resources/updated"

_LISTS: Final = {
    "toolsListChanged": ("tools", TOOLS_CHANGED),
    "promptsListChanged": ("prompts", PROMPTS_CHANGED),
    "resourcesListChanged": ("resources", RESOURCES_CHANGED),
}
_URIS: Final = "resourceSubscriptions"


def accept(wanted: Any, features: frozenset[str]) -> JSONObject:
    """Agree to what a client wants as far as the server has the *features*.

    Raises:
        JSONRPCError: It is no filter.
    """
    if not is_object(wanted):
        raise invalid_params("Invalid params: notifications must be an object")
    accepted: JSONObject = {}
    for name, (feature, _) in _LISTS.items():
        flag = wanted.get(name, False)
        if not isinstance(flag, bool):
            raise invalid_params(f"Invalid params: {name} must be a boolean")
        if flag and feature in features:
            accepted[name] = True
    uris = wanted.get(_URIS, [])
    if not is_list(uris) or not all(isinstance(uri, str) for uri in uris):
        raise invalid_params(f"Invalid params: {_URIS} must be a list of strings")
    if uris and "resources" in features:
        accepted[_URIS] = uris
    return accepted


class Feed:
    """One open stream."""

    __slots__ = ("_accepted", "_deliver", "_meta", "id")

    def __init__(self, id: Any, accepted: JSONObject, deliver: Deliver) -> None:
        self.id = id
        self._accepted = accepted
        self._deliver = deliver
        self._meta = {SUBSCRIPTION_ID: id}

    def acknowledge(self) -> None:
        """Tell the client what was agreed to."""
        self._tell(ACKNOWLEDGED, {"notifications": self._accepted})

    def take(self, method: str, params: JSONObject) -> None:
        """Pass an event on if the client wants it."""
        if self._wants(method, params):
            self._tell(method, params)

    def end(self) -> None:
        """Tell the client that there will be no more."""
        self._deliver(result_response(self.id, {"resultType": "complete", "_meta": self._meta}))

    def _wants(self, method: str, params: JSONObject) -> bool:
        if method == RESOURCE_UPDATED:
            uri = params["uri"]
            return any(uri == own or uri.startswith(f"{own.rstrip('/')}/") for own in self._uris)
        return any(
            self._accepted.get(name) for name, (_, event) in _LISTS.items() if event == method
        )

    @property
    def _uris(self) -> list[str]:
        uris: list[str] = self._accepted.get(_URIS, [])
        return uris

    def _tell(self, method: str, params: JSONObject) -> None:
        self._deliver(notification(method, {**params, "_meta": self._meta}))


class Feeds:
    """All open streams of one server; any thread may open one and publish."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._feeds: dict[int, Feed] = {}

    def open(self, feed: Feed) -> None:
        """Acknowledge *feed* and let events come to it, in one step, so that none is missed."""
        with self._lock:
            feed.acknowledge()
            self._feeds[id(feed)] = feed

    def close(self, feed: Feed) -> None:
        """Forget *feed*; harmless when repeated."""
        with self._lock:
            self._feeds.pop(id(feed), None)

    def publish(self, method: str, params: JSONObject | None = None) -> None:
        """Tell every client that wants this event."""
        with self._lock:
            for feed in tuple(self._feeds.values()):
                feed.take(method, params or {})

    def end(self) -> None:
        """End every stream."""
        with self._lock:
            feeds = tuple(self._feeds.values())
            self._feeds.clear()
            for feed in feeds:
                feed.end()

    def __len__(self) -> int:
        return len(self._feeds)
