"""Which protocol version a connection speaks, and what is sent to settle it.

Knows versions, the probe and the handshake; knows nothing of transports. One conversation: `start`
(or `start_direct`), then one call for what each deed led to, until `Settled` or `Failed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from snodo_actors.wire.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION, Outcome
from snodo_actors.words.errors import Error, ServerError
from snodo_actors.words.failures import (
    cannot_notify,
    malformed_initialize,
    no_common_version,
    not_enabled,
    version_not_allowed,
)
from snodo_actors.words.types import InputRequired, JSONObject, Session, is_list, is_object
from snodo_actors.words.versions import STATELESS, VERSIONS, is_stateless


@dataclass(frozen=True, slots=True)
class Discover:
    """Send `server/discover` as a 2026-07-28 request, then call `discovered`.

    It has the probe's timeout, no cache and no input handlers; every failure is an outcome too.
    """


@dataclass(frozen=True, slots=True)
class Reopen:
    """Close the connection, open it anew with the same options, then call `reopened`."""


@dataclass(frozen=True, slots=True)
class Initialize:
    """Send `initialize` with these *params* and nothing around them, then call `initialized`."""

    params: JSONObject


@dataclass(frozen=True, slots=True)
class NotifyInitialized:
    """Send `notifications/initialized` within *session*, then call `notified`."""

    session: Session


@dataclass(frozen=True, slots=True)
class Settled:
    """The connection speaks *version*; *session* is what `initialize` settled."""

    version: str
    session: Session | None


@dataclass(frozen=True, slots=True)
class Failed:
    """Close the connection, ending *session* first if there is one, and fail with *error*."""

    error: Error
    session: Session | None = None


Deed: TypeAlias = Discover | Reopen | Initialize | NotifyInitialized | Settled | Failed


class Negotiation:
    """The conversation that settles one of the *allowed* versions."""

    __slots__ = ("_acceptable", "_allowed", "_can_notify", "_capabilities", "_client_info")

    def __init__(
        self,
        allowed: Iterable[str],
        *,
        capabilities: Mapping[str, Any],
        client_info: Mapping[str, Any],
        can_notify: bool = True,
    ) -> None:
        wanted = frozenset(allowed)
        self._allowed = [version for version in VERSIONS if version in wanted]
        self._capabilities = capabilities
        self._client_info = client_info
        self._can_notify = can_notify
        self._acceptable: list[str] = []  # what the answer to `initialize` may say

    def start(self) -> Deed:
        """Begin on a fresh connection: probe only if both eras are allowed."""
        if not self._older():
            return Settled(STATELESS, None)
        if STATELESS not in self._allowed:
            return self._initialize(self._older())
        return Discover()

    def start_direct(self, enabled: Sequence[str]) -> Deed:
        """Begin with an in-process server, whose *enabled* versions are known."""
        return self._choose(enabled) or Failed(not_enabled(self._allowed, enabled))

    def discovered(self, outcome: Outcome) -> Deed:
        """Go on with the answer to the probe.

        Only a modern server lists its versions, be it in a result or in the refusal of ours.
        Whatever else came, the probe may have been taken for a request of the older lifecycle, so
        that begins on a fresh connection.
        """
        supported = _listed_versions(outcome)
        if supported is None:
            return Reopen()
        return self._choose(supported) or Failed(no_common_version(self._allowed, supported))

    def reopened(self, error: Error | None = None) -> Deed:
        """Go on with the fresh connection, or with the *error* of opening it."""
        return self._initialize(self._older()) if error is None else Failed(error)

    def initialized(self, outcome: Outcome, session_id: str | None = None) -> Deed:
        """Go on with the answer to `initialize`, which may have come with a *session_id*."""
        if isinstance(outcome, Error):
            return Failed(outcome)
        if isinstance(outcome, InputRequired):
            return Failed(malformed_initialize(outcome.result))
        version = outcome.get("protocolVersion")
        if not isinstance(version, str):
            return Failed(malformed_initialize(outcome))
        if version not in self._acceptable:
            return Failed(version_not_allowed(version, self._acceptable[0]))
        return NotifyInitialized(_session(version, session_id, outcome))

    def notified(self, session: Session, error: Error | None = None) -> Deed:
        """Go on after `notifications/initialized` was sent, or was refused with *error*."""
        return Settled(session.version, session) if error is None else Failed(error, session)

    def _older(self) -> list[str]:
        return [version for version in self._allowed if not is_stateless(version)]

    def _choose(self, supported: Sequence[Any]) -> Deed | None:
        version = next((version for version in self._allowed if version in supported), None)
        if version is None:
            return None
        if is_stateless(version):
            return Settled(version, None)
        return self._initialize(self._allowed[self._allowed.index(version) :])

    def _initialize(self, acceptable: list[str]) -> Deed:
        if not self._can_notify:
            return Failed(cannot_notify(self._allowed))
        self._acceptable = acceptable
        return Initialize(
            {
                "protocolVersion": acceptable[0],
                "capabilities": self._capabilities,
                "clientInfo": self._client_info,
            }
        )


def session_id(headers: Iterable[tuple[str, str]]) -> str | None:
    """Find the session id among the response *headers* of `initialize`; an empty one is none."""
    return next(
        (value for name, value in headers if name.lower() == "mcp-session-id" and value), None
    )


def _listed_versions(outcome: Outcome) -> list[Any] | None:
    if isinstance(outcome, ServerError):
        refused = outcome.code == UNSUPPORTED_PROTOCOL_VERSION and is_object(outcome.data)
        listed = outcome.data.get("supported") if refused else None
    elif is_object(outcome):
        listed = outcome.get("supportedVersions")
    else:
        listed = None
    return listed if is_list(listed) else None


def _session(version: str, id: str | None, result: JSONObject) -> Session:
    server_info, capabilities = result.get("serverInfo"), result.get("capabilities")
    instructions = result.get("instructions")
    return Session(
        version=version,
        id=id or None,
        server_info=server_info if is_object(server_info) else {},
        server_capabilities=capabilities if is_object(capabilities) else {},
        instructions=instructions if isinstance(instructions, str) else None,
    )
