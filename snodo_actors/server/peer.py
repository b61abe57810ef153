"""The server's end of one client: who asks, in which version, and the response to it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snodo_actors.ports.calls import Flow, carry_out
from snodo_actors.ports.transport import Deliver, End
from snodo_actors.server.call import Call
from snodo_actors.server.dialects import DIALECTS, Dialect
from snodo_actors.server.errors import (
    JSONRPCError,
    function_failed,
    invalid_params,
    unknown_method,
    unsupported_version,
)
from snodo_actors.server.feeds import Feed, accept
from snodo_actors.server.introduction import Served
from snodo_actors.server.methods import METHODS, Answer, Question, extension
from snodo_actors.server.rounds import Ask, answer
from snodo_actors.server.schemas import to_json
from snodo_actors.wire import codec
from snodo_actors.wire.catalog import DISCOVER, LISTEN
from snodo_actors.wire.jsonrpc import INVALID_REQUEST, error_response, result_response
from snodo_actors.wire.meta import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from snodo_actors.words.types import JSONObject, is_object
from snodo_actors.words.versions import STATELESS, is_stateless

Progress = Callable[[JSONObject], Any]


@dataclass(frozen=True, slots=True)
class _Client:
    """Who asks, and in which version."""

    dialect: Dialect
    capabilities: JSONObject
    info: JSONObject


class Peer:
    """The server's end of one client."""

    def __init__(self, served: Served, auth: Any = None) -> None:
        self._served = served
        self._auth = auth
        self._session: _Client | None = None

    def request(
        self,
        message: JSONObject,
        *,
        on_progress: Progress | None = None,
        on_server_request: Ask | None = None,
        **_options: Any,
    ) -> Any:
        """Answer the request *message* here: the response, or an awaitable for it."""
        return carry_out(self._respond(message, on_progress, on_server_request))

    def notify(self, message: JSONObject, **_options: Any) -> None:
        """Take a notification; there is none that has to be acted on."""

    def listen(self, message: JSONObject, deliver: Deliver, **_options: Any) -> End:
        """Open a stream of events; what comes of it goes to *deliver*. Returns what ends it."""
        feeds, id = self._served.feeds, message.get("id")
        try:
            params = _object(message, "params")
            client = self._who(LISTEN, params)
            if LISTEN not in client.dialect.requests:
                raise unknown_method(LISTEN)
            accepted = accept(params.get("notifications"), self._served.offers().features)
        except JSONRPCError as error:
            deliver(error_response(id, error.code, error.message, to_json(error.data)))
            return lambda _reason: None
        feed = Feed(id, accepted, deliver)
        feeds.open(feed)
        return lambda _reason: feeds.close(feed)

    # ---- one request

    def _respond(
        self, message: JSONObject, on_progress: Progress | None, ask: Ask | None
    ) -> Flow[JSONObject]:
        id = message.get("id")
        try:
            result = yield from self._result(message, on_progress, ask)
            response: JSONObject = codec.decode(codec.encode(result_response(id, result)))
        except JSONRPCError as error:
            return error_response(id, error.code, error.message, to_json(error.data))
        except (TypeError, ValueError, codec.MalformedJSON) as error:
            failed = function_failed(str(message.get("method")), error)
            return error_response(id, failed.code, failed.message)
        return response

    def _result(
        self, message: JSONObject, on_progress: Progress | None, ask: Ask | None
    ) -> Flow[JSONObject]:
        method, params = message.get("method"), _object(message, "params")
        if not isinstance(method, str) or type(message.get("id")) not in (int, str):
            raise JSONRPCError(INVALID_REQUEST, "Invalid request")
        if method == "initialize":
            return self._initialize(params).result
        client = self._who(method, params)
        answer = yield from self._answer(client, method, params, on_progress, ask)
        return client.dialect.complete(answer.result, self._served.info, answer.freshness)

    def _answer(
        self,
        client: _Client,
        method: str,
        params: JSONObject,
        on_progress: Progress | None,
        ask: Ask | None,
    ) -> Flow[Answer]:
        served, dialect = self._served, client.dialect
        offers = served.offers()
        if method not in dialect.requests and method not in offers.methods:
            raise unknown_method(method)
        if method == "ping":
            return Answer({})
        if method == DISCOVER:
            return served.discovered()
        if method == LISTEN:
            raise JSONRPCError(INVALID_REQUEST, f"{LISTEN} opens a stream, and this is none")
        call = Call(
            method,
            dialect.version,
            auth=self._auth,
            client_info=client.info,
            client_capabilities=client.capabilities,
            meta=_object(params, "_meta"),
            input_responses=_object(params, "inputResponses"),
            request_state=params.get("requestState"),
            on_progress=on_progress,
        )
        question = Question(offers, dialect, call, params)
        try:
            found = yield from answer(METHODS.get(method, extension), question, ask)
        except Exception:
            yield from _tell_rest(call)
            raise
        except BaseException:
            for telling in call.end():
                telling.close()
            raise
        yield from _tell_rest(call)
        return found

    # ---- who asks

    def _who(self, method: str, params: JSONObject) -> _Client:
        meta, versions = _object(params, "_meta"), self._served.versions
        if PROTOCOL_VERSION in meta and STATELESS in versions:
            version = meta[PROTOCOL_VERSION]
            if version != STATELESS:
                raise unsupported_version(version, versions)
            if not is_object(meta.get(CLIENT_CAPABILITIES)):
                raise invalid_params(f"Invalid params: _meta needs {CLIENT_CAPABILITIES}")
            return _Client(DIALECTS[version], meta[CLIENT_CAPABILITIES], _object(meta, CLIENT_INFO))
        if self._session is not None:
            return self._session
        older = next((DIALECTS[v] for v in versions if not is_stateless(v)), None)
        if older is not None and method == "ping":
            return _Client(older, {}, {})
        if older is not None and method not in older.requests:
            raise unknown_method(method)
        needed = f"_meta needs {PROTOCOL_VERSION}" if STATELESS in versions else "initialize first"
        raise invalid_params(f"Invalid params: {needed}")

    def _initialize(self, params: JSONObject) -> Answer:
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise invalid_params("Invalid params: protocolVersion must be a string")
        versions = [v for v in self._served.versions if not is_stateless(v)]
        if not versions:
            raise unsupported_version(requested, self._served.versions)
        dialect = DIALECTS[requested if requested in versions else versions[0]]
        self._session = _Client(
            dialect, _object(params, "capabilities"), _object(params, "clientInfo")
        )
        return self._served.initialized(dialect)


def _tell_rest(call: Call) -> Flow[None]:
    """Wait until the client has been told of all progress."""
    rest = call.end()
    try:
        for telling in rest:
            yield functools.partial(_itself, telling)
    finally:
        for telling in rest:
            telling.close()


def _itself(value: Any) -> Any:
    return value


def _object(holder: JSONObject, name: str) -> JSONObject:
    value = holder.get(name, {})
    if not is_object(value):
        raise invalid_params(f"Invalid params: {name} must be an object")
    return value
