"""Who gets what a session sends: calls by their ids, progress by its token, streams by theirs."""

from __future__ import annotations

import threading
from typing import Any

from snodo_actors.adapters.inbox import Inbox
from snodo_actors.ports.transport import Deliver
from snodo_actors.wire.meta import PROGRESS_TOKEN, SUBSCRIPTION_ID
from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject, is_object

Mail = Inbox[JSONObject | Error]


class Routes:
    """The calls that wait and the streams that are open; any thread may ask and change them."""

    __slots__ = ("_calls", "_lock", "_streams")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[Any, Mail] = {}
        self._streams: dict[Any, Deliver] = {}

    def add_call(self, id: Any, mail: Mail) -> None:
        """Let what comes for the call *id* go to *mail*."""
        with self._lock:
            self._calls[id] = mail

    def add_stream(self, id: Any, deliver: Deliver) -> None:
        """Let what comes for the stream *id* go to *deliver*."""
        with self._lock:
            self._streams[id] = deliver

    def remove(self, id: Any) -> bool:
        """Forget a call or a stream; False if its response has come."""
        with self._lock:
            call, stream = self._calls.pop(id, None), self._streams.pop(id, None)
        return call is not None or stream is not None

    def close(self, error: Error) -> None:
        """Tell everybody of the end."""
        with self._lock:
            calls, self._calls = self._calls, {}
            streams, self._streams = self._streams, {}
        for mail in calls.values():
            mail.put(error.again("unknown"))
        for deliver in streams.values():
            deliver(error.again())

    def take(self, message: JSONObject, related: Any = None) -> bool:
        """Hand over a *message* of the session; False if it is for nobody.

        *related* is the id of the call that a request of the server belongs to.
        """
        with self._lock:
            to = self._find(message, related)
        if to is not None:
            to(message)
        return to is not None

    def _find(self, message: JSONObject, related: Any) -> Deliver | None:
        if "method" not in message:
            id = message.get("id")
            return _put(self._calls.pop(id, None)) or self._streams.pop(id, None)
        if "id" in message:
            mail = self._calls.get(related) or next(iter(self._calls.values()), None)
            return _put(mail)
        params = message.get("params")
        if not is_object(params):
            return None
        if message["method"] == "notifications/progress":
            return _put(self._calls.get(params.get(PROGRESS_TOKEN)))
        meta = params.get("_meta")
        return self._streams.get(meta.get(SUBSCRIPTION_ID)) if is_object(meta) else None


def _put(mail: Mail | None) -> Deliver | None:
    return None if mail is None else mail.put
