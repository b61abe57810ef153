"""How what goes out over HTTP is admitted: with a token, if there is a provider, then to the pool.

The part of the port that waits for tokens, and has refused ones replaced.
"""

from __future__ import annotations

from typing import Any

from snodo_actors.actors.http_books import BookKeeper
from snodo_actors.actors.http_exchange import CallExchange, Exchange
from snodo_actors.actors.http_messages import Refused, StreamRefused
from snodo_actors.actors.http_server_stream import StandingStream
from snodo_actors.actors.http_sharing import credential
from snodo_actors.actors.http_standing import Standing
from snodo_actors.actors.http_streams import StreamExchange, Streams
from snodo_actors.actors.http_tokens import Refreshed, Tokened, Tokens
from snodo_actors.words.errors import Error
from snodo_actors.words.types import Session


class Admission(BookKeeper):
    """The part of the port that lets messages have tokens."""

    opening: Any
    _tokens: Tokens | None
    _streams: Streams
    _standing: Standing

    def _session(self) -> Session | None:
        """Return the session there is now, if the version has any."""
        raise NotImplementedError

    def _server_stream_up(self) -> None:
        """Take note that the standing stream is open, or will not be soon."""
        raise NotImplementedError

    def _submit(self, exchange: Exchange) -> None:
        """Let the *exchange* have a token, if there are any, and then a connection."""
        tokens = self._tokens
        if tokens is None or exchange.tried.refreshed:
            self._hand_on(exchange)
            return
        token = tokens.at_hand(exchange)
        if token is None:
            tokens.fetch(exchange)
        elif isinstance(token, Error):
            exchange.refuse(token.again())
        else:
            exchange.token = token
            self._hand_on(exchange)

    def _open_standing_stream(self, session: Session) -> None:
        """Open the session's standing stream, with a token if there are any."""
        stream = StandingStream(session)
        if self._tokens is not None:
            self._tokens.fetch(stream)
        else:
            self._standing.open(stream)

    def _open_again(self, stream: Exchange) -> None:
        """Let a standing stream that ended have a token to be opened with again."""
        if self._tokens is not None and stream.session is self._session():
            self._tokens.fetch(stream)

    def _submit_stream(self, exchange: StreamExchange) -> None:
        if self._tokens is not None:
            self._tokens.fetch(exchange)
        else:
            self._streams.start(exchange)

    def _authorize(self, message: Tokened | Refused | Refreshed | StreamRefused) -> None:
        """Let what waits for a token have it, or go for a fresh one."""
        tokens = self._tokens
        assert tokens is not None
        match message:
            case Tokened(exchange, token):
                self._tokened(exchange, token)
            case Refused(exchange):
                self._refused(tokens, exchange, message)
            case StreamRefused():
                stream = self._streams.refused(message)
                if stream is not None:
                    self._refused(tokens, stream, message)
            case Refreshed(_, token):
                for exchange in tokens.refreshed(message):
                    self._tokened(exchange, token)

    def _refused(
        self, tokens: Tokens, exchange: Exchange, refused: Refused | StreamRefused
    ) -> None:
        if refused.same_token and exchange.token is not None:
            exchange.tried = exchange.tried._replace(nonced=True)
            self._tokened(exchange, exchange.token)
        else:
            tokens.refresh(exchange, refused.status, refused.challenge)

    def _tokened(self, exchange: Exchange, token: str | Error | None) -> None:
        if isinstance(token, Error):
            exchange.refuse(token.again())
            if isinstance(exchange, StandingStream):
                self._server_stream_up()
            return
        exchange.token = token
        if isinstance(exchange, StandingStream):
            if exchange.session is self._session():  # not that of a former one
                self._standing.open(exchange)
            return
        if isinstance(exchange, StreamExchange):
            self._streams.start(exchange)
            return
        exchange.deadline.restart(self.node.now())  # a provider's time is not the server's
        self._hand_on(exchange)

    def _hand_on(self, exchange: Exchange) -> None:
        """Answer a call from what is kept for who asks; else let its result be kept for them."""
        request = exchange.request if isinstance(exchange, CallExchange) else None
        if request is not None and request.lookup is not None:
            asks = credential(self.opening.http, exchange.token, exchange.session)
            if request.lookup.answers(request, asks):
                return
        self._enqueue(exchange)
