"""What a function of the server may know of the call it answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

from snodo_actors.server.errors import missing_capability
from snodo_actors.words.types import JSONObject, is_object
from snodo_actors.words.versions import is_stateless


class Call:
    """The call a function answers. A parameter with this type gets it.

    Attributes:
        method: The method of the request, such as `tools/call`.
        version: The protocol version the client speaks.
        auth: The `auth` the client was made with.
        client_info: What the client says it is; empty if it says nothing.
        client_capabilities: What the client can do.
        meta: The `_meta` of the request.
        input_responses: The answers to what was asked for by `InputNeeded`, by name.
        request_state: The state that was given to `InputNeeded`, or None.
    """

    __slots__ = (
        "_last",
        "_on_progress",
        "_over",
        "_untold",
        "auth",
        "client_capabilities",
        "client_info",
        "input_responses",
        "meta",
        "method",
        "request_state",
        "version",
    )

    def __init__(
        self,
        method: str,
        version: str,
        *,
        auth: Any = None,
        client_info: JSONObject | None = None,
        client_capabilities: JSONObject | None = None,
        meta: JSONObject | None = None,
        input_responses: JSONObject | None = None,
        request_state: Any = None,
        on_progress: Callable[[JSONObject], Any] | None = None,
    ) -> None:
        self.method = method
        self.version = version
        self.auth = auth
        self.client_info = client_info or {}
        self.client_capabilities = client_capabilities or {}
        self.meta = meta or {}
        self.input_responses = input_responses or {}
        self.request_state = request_state
        self._on_progress = on_progress if "progressToken" in self.meta else None
        self._last: float | None = None
        self._untold: list[Telling] = []
        self._over = False

    def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Awaitable[None]:
        """Tell the client how far it is; *progress* has to rise, else nothing is told.

        The client is told at once; async code may await it, to wait for a client that is slow.
        """
        rises = self._last is None or progress > self._last
        if self._on_progress is None or self._over or not rises:
            return _TOLD
        self._last = progress
        params: JSONObject = {"progressToken": self.meta["progressToken"], "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        value = self._on_progress(params)
        if not inspect.isawaitable(value):
            return _TOLD
        telling = Telling(value)
        self._untold.append(telling)
        return telling

    def require(self, capabilities: Mapping[str, Any]) -> None:
        """Refuse the call unless the client has declared these *capabilities*.

        Raises:
            JSONRPCError: It has not; let it pass.
        """
        missing = {
            name: wanted
            for name, wanted in capabilities.items()
            if not _covers(self.client_capabilities.get(name), wanted)
        }
        if missing:
            raise missing_capability(missing, is_stateless=is_stateless(self.version))

    def end(self) -> list[Telling]:
        """Let there be no more progress; what was told and not waited for is returned."""
        self._over = True
        untold, self._untold = self._untold, []
        return [telling for telling in untold if not telling.begun]


def _covers(own: Any, wanted: Any) -> bool:
    if not is_object(own):
        return False
    return not is_object(wanted) or all(
        _covers(own.get(name), part) for name, part in wanted.items()
    )


class Telling:
    """A client that is being told of progress; it is waited for once."""

    __slots__ = ("_value", "begun")

    def __init__(self, value: Awaitable[Any] | None) -> None:
        self._value = value
        self.begun = False

    def __await__(self) -> Generator[Any, Any, None]:
        if self._value is not None and not self.begun:
            self.begun = True
            yield from self._value.__await__()

    def close(self) -> None:
        """Let it be, as nobody waits for it."""
        close = getattr(self._value, "close", None)
        if close is not None and not self.begun:
            self.begun = True
            close()


_TOLD = Telling(None)
