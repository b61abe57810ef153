"""The messages an HTTP connection sends of its own accord, one exchange after the other.

They settle the version, renew and end the session, tell of cancelled requests and list the tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from snodo_actors.actors.http_exchange import Exchange, Headers, OwnExchange, Then
from snodo_actors.actors.http_messages import Concluded, Family
from snodo_actors.actors.http_profile import core_fields
from snodo_actors.actors.http_worker_streams import POSTED
from snodo_actors.actors.request import Profile
from snodo_actors.machines import negotiation as talks
from snodo_actors.machines.deadline import Deadline, Timeouts
from snodo_actors.machines.pages import Fetch, Pages, read_page
from snodo_actors.wire import jsonrpc
from snodo_actors.wire.catalog import DISCOVER
from snodo_actors.wire.headers import Fields, is_field_value
from snodo_actors.wire.ids import next_id
from snodo_actors.wire.meta import build_params, version_meta
from snodo_actors.words.errors import Error, TransportError
from snodo_actors.words.types import JSONObject, Session
from snodo_actors.words.versions import STATELESS
from supervisors import Future, Node, Ref

END_SESSION_TIMEOUT = 5.0
"""Seconds the end of a session may take when a connection is closed."""

MAX_TELLING = 64
"""Cancelled requests a server is told of at the same time, each over a connection of its own."""

Settled = Callable[[str, Session | None], object]
NotSettled = Callable[[Error, Session | None], object]
Submit = Callable[[Exchange], object]


class Settling:
    """Sends what has to be sent through *submit*; what comes of it is told to the *port*."""

    def __init__(self, family: Family, node: Node, port: Ref, submit: Submit) -> None:
        self._family = family
        self._port = port
        self._telling = 0
        self._node = node
        self.submit = submit

    # ---- the version

    def start(self, allowed: Iterable[str], settled: Settled, failed: NotSettled) -> None:
        """Settle one of the *allowed* versions."""
        talk = self._talk(allowed)
        _Talk(self, talk, settled, failed, self._family.client.timeout).carry_out(talk.start())

    def renew(
        self, old: Session, timeout: float | None, settled: Settled, failed: NotSettled
    ) -> None:
        """Start a session in place of the *old* one, in the version it has."""
        talk = self._talk([old.version])
        _Talk(self, talk, settled, failed, timeout).carry_out(talk.start())

    def _talk(self, allowed: Iterable[str]) -> talks.Negotiation:
        client = self._family.client
        return talks.Negotiation(
            allowed, capabilities=client.capabilities, client_info=client.client_info
        )

    # ---- the session's end, and what a server is told

    def end(self, session: Session) -> tuple[OwnExchange, Future[Any]]:
        """Make what tells the server that the *session* is over, and what is done after it."""
        ended: Future[Any] = Future(self._node)
        limit = self._family.client.timeout
        timeout = END_SESSION_TIMEOUT if limit is None else min(limit, END_SESSION_TIMEOUT)
        deadline = Deadline(Timeouts(timeout), self._node.now())

        def over(_outcome: jsonrpc.Outcome, _headers: Headers) -> None:
            ended.try_set(None)

        exchange = OwnExchange(None, (), deadline, over, "DELETE")
        exchange.session = session
        return exchange, ended

    def tell_cancelled(self, id: Any, why: str, session: Session | None) -> None:
        """Tell the server that nobody waits for the request *id* any more, if there is room."""
        if self._telling >= MAX_TELLING:
            return
        self._telling += 1

        def told(_outcome: jsonrpc.Outcome, _headers: Headers) -> None:
            self._telling -= 1

        message = jsonrpc.cancelled(id, why)
        self.send(message, POSTED, END_SESSION_TIMEOUT, told, session, outside=True)

    # ---- the tools

    def list_tools(
        self, profile: Profile | None, max_pages: int, then: Callable[[Error | None], object]
    ) -> None:
        """Read the whole list of tools, for what the answers teach the connection."""
        assert profile is not None
        pages = Pages("tools", max_pages)
        version, meta = profile.version, profile.meta
        fields = core_fields(version, "tools/list", version, None)
        assert not isinstance(fields, Error)

        def came(outcome: jsonrpc.Outcome, _headers: Headers) -> None:
            go_on(pages.fetched(read_page("tools", outcome)))

        def go_on(deed: Any) -> None:
            if isinstance(deed, Fetch):
                params = build_params(deed.params, meta)
                message = jsonrpc.request(next_id(), "tools/list", params)
                self.send(message, fields, self._family.client.timeout, came, profile.session)
            else:
                then(getattr(deed, "error", None))

        go_on(pages.start())

    def send(
        self,
        message: JSONObject | None,
        fields: Fields,
        timeout: float | None,
        then: Then,
        session: Session | None = None,
        *,
        outside: bool = False,
    ) -> None:
        """Send one message; *then* is called with what came of it."""
        deadline = Deadline(Timeouts(timeout), self._node.now())
        port = self._port

        def tell(outcome: jsonrpc.Outcome, headers: Headers) -> None:
            port.send(Concluded(then, outcome, headers))

        exchange = OwnExchange(message, fields, deadline, tell)
        exchange.session = session
        exchange.outside = outside
        self.submit(exchange)


class _Talk:
    """One negotiation."""

    def __init__(
        self,
        settling: Settling,
        talk: talks.Negotiation,
        settled: Settled,
        failed: NotSettled,
        timeout: float | None,
    ) -> None:
        self._timeout = timeout
        self._settling = settling
        self._talk = talk
        self._done = settled
        self._failed = failed

    def carry_out(self, deed: talks.Deed) -> None:
        """Do what the negotiation wants next."""
        settling, talk = self._settling, self._talk
        client = settling._family.client  # noqa: SLF001  # its own module
        match deed:
            case talks.Discover():
                capabilities = settling._family.capabilities(STATELESS)  # noqa: SLF001  # as above
                meta = version_meta(STATELESS, capabilities, client.client_info)
                message = jsonrpc.request(next_id(), DISCOVER, {"_meta": meta})
                fields = core_fields(STATELESS, DISCOVER, STATELESS, None)
                assert not isinstance(fields, Error)
                settling.send(message, fields, client.probe_timeout, self._discovered)
            case talks.Reopen():
                self.carry_out(talk.reopened())  # each message is on its own
            case talks.Initialize(params):
                message = jsonrpc.request(next_id(), "initialize", params)
                settling.send(message, POSTED, self._timeout, self._initialized)
            case talks.NotifyInitialized():
                self._notify(deed.session)
            case talks.Settled(version, session):
                self._done(version, session)
            case talks.Failed(error, session):
                self._failed(error, session)

    def _discovered(self, outcome: jsonrpc.Outcome, _headers: Headers) -> None:
        if isinstance(outcome, TransportError) and _is_final(outcome):
            self._failed(outcome, None)
        else:
            self.carry_out(self._talk.discovered(outcome))

    def _initialized(self, outcome: jsonrpc.Outcome, headers: Headers) -> None:
        id = talks.session_id(headers)
        if id is not None and not is_field_value(id):
            id = None
        self.carry_out(self._talk.initialized(outcome, id))

    def _notify(self, session: Session) -> None:
        settling = self._settling
        message = jsonrpc.notification("notifications/initialized", {})
        settling.send(
            message,
            POSTED,
            self._timeout,
            lambda outcome, _: self._notified(session, outcome),
            session,
        )

    def _notified(self, session: Session, outcome: jsonrpc.Outcome) -> None:
        error = outcome if isinstance(outcome, Error) else None
        self.carry_out(self._talk.notified(session, error))


def _is_final(error: TransportError) -> bool:
    """Tell whether *error* says that nothing else need be tried, whatever the server's age.

    Nobody is there, nothing may be sent, or no token is good enough: who asked a user for one does
    not ask again at once.
    """
    match error.cause:
        case ("unauthorized", _, _):
            return True
        case _:
            return error.delivery == "never_sent" or error.kind == "authorization"
