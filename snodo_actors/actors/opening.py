"""How a connection that is used in place is opened, its version settled, and how it is closed."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from snodo_actors.actors.exchange import Exchange
from snodo_actors.actors.in_place import ask, notify, session_options
from snodo_actors.actors.request import Profile
from snodo_actors.machines import negotiation as talks
from snodo_actors.ports.calls import Flow
from snodo_actors.ports.transport import Carriage
from snodo_actors.wire import jsonrpc
from snodo_actors.wire.catalog import DISCOVER
from snodo_actors.wire.ids import next_id
from snodo_actors.wire.meta import version_meta
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject, Session
from snodo_actors.words.versions import STATELESS

END_SESSION_TIMEOUT = 5.0
"""Seconds the end of a session may take when a connection is closed."""

_log = logging.getLogger("snodo_actors.transport")

Connect = Callable[[], Flow[Carriage]]


class Opening:
    """One connection on its way to a settled version."""

    def __init__(
        self, client: ClientOptions, negotiation: talks.Negotiation, connect: Connect
    ) -> None:
        self._client = client
        self._negotiation = negotiation
        self._connect = connect
        self._carriage: Carriage | None = None
        self._session: Session | None = None

    def settle(self, deed: talks.Deed) -> Flow[tuple[Carriage, Profile]]:
        """Connect and do what has to be done, beginning with *deed*.

        Raises:
            Error: No version can be settled; the connection is closed again.
        """
        try:
            self._carriage = yield from self._connect()
            while not isinstance(deed, talks.Settled):
                deed = yield from self._carry_out(deed)
        except BaseException:
            if self._carriage is not None:
                yield from close(self._carriage, self._client, self._session)
            raise
        client = self._client
        meta = version_meta(deed.version, client.capabilities, client.client_info)
        return self._carriage, Profile(deed.version, deed.session, meta, client.capabilities)

    def _carry_out(self, deed: talks.Deed) -> Flow[talks.Deed]:
        client, negotiation = self._client, self._negotiation
        match deed:
            case talks.Discover():
                meta = version_meta(STATELESS, client.capabilities, client.client_info)
                probe: dict[str, Any] = {"timeout": client.probe_timeout, "dialect": STATELESS}
                outcome = yield from self._ask(DISCOVER, {"_meta": meta}, probe)
                return negotiation.discovered(outcome)
            case talks.Reopen():
                error = yield from self._reopen()
                return negotiation.reopened(error)
            case talks.Initialize(params):
                headers: list[tuple[str, str]] = []
                options: dict[str, Any] = {
                    "timeout": client.timeout,
                    "dialect": params["protocolVersion"],
                    "on_response_headers": headers.extend,
                }
                outcome = yield from self._ask("initialize", params, options)
                return negotiation.initialized(outcome, talks.session_id(headers))
            case talks.NotifyInitialized(session):
                self._session = session
                error = yield from self._notify_initialized(session)
                return negotiation.notified(session, error)
            case talks.Failed(error):
                raise error
            case talks.Settled():
                return deed

    def _ask(
        self, method: str, params: JSONObject, options: dict[str, Any]
    ) -> Flow[jsonrpc.Outcome]:
        assert self._carriage is not None
        message = jsonrpc.request(next_id(), method, params)
        response = yield from ask(self._carriage, message, Exchange(self._client), options)
        return response if isinstance(response, Error) else jsonrpc.read_response(response)

    def _notify_initialized(self, session: Session) -> Flow[Error | None]:
        assert self._carriage is not None
        options = {
            "timeout": self._client.timeout,
            "dialect": session.version,
            **session_options(session),
        }
        message = jsonrpc.notification("notifications/initialized", {})
        return (yield from notify(self._carriage, message, options))

    def _reopen(self) -> Flow[Error | None]:
        assert self._carriage is not None
        yield from close(self._carriage, self._client, None)
        self._carriage = None
        try:
            self._carriage = yield from self._connect()
        except Error as error:
            return error
        return None


def close(carriage: Carriage, client: ClientOptions, session: Session | None) -> Flow[None]:
    """End the *session*, if it has an id, then the connection; it never fails."""
    if session is not None and session.id is not None and carriage.delete_session is not None:
        limit = END_SESSION_TIMEOUT
        timeout = limit if client.timeout is None else min(client.timeout, limit)
        options = {"timeout": timeout, **session_options(session)}
        yield from _quietly(functools.partial(carriage.delete_session, **options))
    if carriage.close is not None:
        yield from _quietly(carriage.close)


def _quietly(call: Callable[[], Any]) -> Flow[None]:
    try:
        yield call
    except Exception:  # noqa: BLE001  # to close never fails; why it did is for the log
        _log.warning("closing a connection failed", exc_info=True)
