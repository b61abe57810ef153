"""The client: a handle on a connection, and everything a user calls.

Every call returns a future: `await` it in async code, `.get()` it in a thread. A handle works from
any task and thread and may be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import get_ident
from types import TracebackType
from typing import Any, Literal, Self, cast

from snodo_actors.actors import flows, telemetry
from snodo_actors.actors.caching import Caching, Sharing, sharing_of_port
from snodo_actors.actors.connection import close_connection, subscriptions_name
from snodo_actors.actors.conversation import Conversation, Flow
from snodo_actors.actors.notice import Notice
from snodo_actors.actors.request import Profile, Request
from snodo_actors.actors.waiting import Wait
from snodo_actors.machines.deadline import Timeouts
from snodo_actors.machines.input_requests import answerable
from snodo_actors.machines.inputs import InputRounds
from snodo_actors.subscription import Subscription
from snodo_actors.wire.catalog import LISTEN, ROOTS_CHANGED
from snodo_actors.words.checks import boolean, mapping, seconds, text
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.listen_options import ListenOptions
from snodo_actors.words.lost import connection_closed
from snodo_actors.words.meta_entries import meta_entries
from snodo_actors.words.request_options import NO_OPTIONS, RequestOptions
from snodo_actors.words.types import (
    INHERIT,
    Inherit,
    InputRequired,
    JSONObject,
    ListKind,
    Page,
    Session,
    is_mapping,
)
from supervisors import DynamicSupervisorRef, Future, Node, Ref, self_, send, spawn

WhenDown = Literal["wait", "fail"]
Result = JSONObject | InputRequired
"""What a request comes to: the result as the server sent it, or its wish for input."""

_LIST_KINDS = ("tools", "resources", "resource_templates", "prompts")


class Client:
    """A handle on one connection. `connect`, `direct` and `client` make them."""

    __slots__ = (
        "_caching",
        "_connection",
        "_name",
        "_node",
        "_options",
        "_port",
        "_profile",
        "_sharing",
        "_subscriptions",
        "_timeouts",
        "_when_down",
        "who",
    )

    def __init__(
        self,
        node: Node,
        who: str,
        options: ClientOptions,
        *,
        connection: Ref | None = None,
        port: Ref | None = None,
        subscriptions: DynamicSupervisorRef | None = None,
        profile: Profile | None = None,
        sharing: Sharing | None = None,
        name: str | None = None,
        when_down: WhenDown = "wait",
    ) -> None:
        self._node = node
        self.who = who
        self._options = options
        self._timeouts = _timeouts(
            options.timeout, NO_OPTIONS.reset_timeout_on_progress, NO_OPTIONS.max_total_timeout
        )
        self._connection = connection
        self._port = port
        self._subscriptions = subscriptions
        self._profile = profile
        self._name = name
        self._when_down: WhenDown = when_down
        self._sharing = sharing or (sharing_of_port(port) if port is not None else None)
        self._caching = Caching(options, profile) if options.cache else None

    def __repr__(self) -> str:
        version = self._profile.version if self._profile is not None else "version unsettled"
        return f"<Client of {self.who}, {version}>"

    @property
    def protocol(self) -> str | None:
        """The protocol version of the connection; None for a handle by name."""
        return self._profile.version if self._profile is not None else None

    @property
    def session(self) -> Session | None:
        """What `initialize` settled; None on 2026-07-28."""
        return self._profile.session if self._profile is not None else None

    # ---- requests

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, **options: Any
    ) -> Future[Any]:
        """Send any request; `RequestOptions` has the options.

        The future has the result as the server sent it, or `InputRequired` when the server asks for
        input that no handler answers. It fails with an `Error`.

        Raises:
            TypeError: An argument or an option has the wrong type.
            ValueError: An option has a wrong value, or the method is `subscriptions/listen`, which
                `listen()` opens.
        """
        if method == LISTEN:
            raise ValueError("a subscription is a stream; open it with client.listen(...)")
        wanted = _object("params", params)
        if "_meta" in wanted:
            win = [options[name] for name in ("meta", "trace_context") if name in options]
            overridden = frozenset[str]().union(*filter(is_mapping, win))
            meta_entries('params["_meta"]', wanted["_meta"], overridden)
        return self._call(text("method", method), wanted, options)

    def call_tool(
        self,
        tool: str | Mapping[str, Any],
        arguments: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Future[Any]:
        """Run a tool, given by name or by its definition from `list_tools()`.

        A result with `"isError": true` is a result, too. See `request` for options and failures.
        """
        name = tool if isinstance(tool, str) else tool.get("name")
        params = {"name": text("tool", name), "arguments": _object("arguments", arguments)}
        definition = None if isinstance(tool, str) else tool
        return self._call("tools/call", params, options, definition)

    def get_prompt(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> Future[Any]:
        """Get a rendered prompt. See `request` for options and failures."""
        params = {"name": text("name", name), "arguments": _object("arguments", arguments)}
        return self._call("prompts/get", params, options)

    def read_resource(self, uri: str, **options: Any) -> Future[Any]:
        """Read a resource by its exact URI. See `request` for options and failures."""
        return self._call("resources/read", {"uri": text("uri", uri)}, options)

    def discover(self, **options: Any) -> Future[Any]:
        """Ask what the server offers; only 2026-07-28 has this, see `session` for the others."""
        return self._call("server/discover", {}, options)

    def ping(self) -> Future[Any]:
        """Ask for a sign of life; the initialize-era versions have this."""
        return self._call("ping", {}, {})

    # ---- what the server is told

    def roots_changed(self, *, timeout: float | Inherit | None = INHERIT) -> Future[None]:
        """Tell the server that the roots changed, so that it asks for them anew.

        The initialize-era versions have this, where the client was opened with
        `client_capabilities={"roots": {"listChanged": True}}`. The future has None once the server
        was sent it (over HTTP: has accepted it). It fails with an `Error`, and with a `ValueError`
        where only the connection knows what was declared, as it does for a handle by name.

        Raises:
            TypeError: The timeout (seconds, None for no limit) is no number.
            ValueError: It is none above 0, or the server was not told that roots may change.
        """
        limit = self._options.timeout if timeout is INHERIT else seconds("timeout", timeout)
        notice = Notice(self._node, self.who, ROOTS_CHANGED, {}, _timeouts(limit, False, None))
        refused = None if self._profile is None else notice.prepare(self._profile)
        if refused is not None:
            notice.try_fail(refused)
        return self._notify(notice)

    def _notify(self, notice: Notice) -> Future[None]:
        return self._send(notice)

    # ---- lists

    def list_tools(self, **options: Any) -> Future[list[JSONObject]]:
        """List every tool, following the pages to the last.

        The future fails with an `Error`, also when the server repeats a cursor or the pages do not
        end within `max_pages`.
        """
        return self._list("tools", options)

    def list_resources(self, **options: Any) -> Future[list[JSONObject]]:
        """List every direct resource, as `list_tools` does."""
        return self._list("resources", options)

    def list_resource_templates(self, **options: Any) -> Future[list[JSONObject]]:
        """List every resource template, as `list_tools` does."""
        return self._list("resource_templates", options)

    def list_prompts(self, **options: Any) -> Future[list[JSONObject]]:
        """List every prompt, as `list_tools` does."""
        return self._list("prompts", options)

    def list_page(self, kind: ListKind, cursor: str | None = None, **options: Any) -> Future[Page]:
        """Get one page of a list; give the `next_cursor` of the page before to go on.

        *kind* is "tools", "resources", "resource_templates" or "prompts".
        """
        if kind not in _LIST_KINDS:
            raise ValueError(f"kind must be one of {', '.join(_LIST_KINDS)}, not {kind!r}")
        if cursor is not None:
            text("cursor", cursor)
        read, conversation = self._converse(options)
        asking = self._asking(read, conversation)
        return conversation.follow(
            flows.list_page(asking, kind, cursor, self._thin(kind, conversation))
        )

    # ---- streams

    def listen(
        self,
        notifications: Mapping[str, Any],
        *,
        resubscribe: bool = False,
        owner: Ref | None = None,
        **options: Any,
    ) -> Future[Subscription]:
        """Open a stream of events; *notifications* is the filter, sent as it is.

        The future has the `Subscription` once the server acknowledged it. The calling process (or
        *owner*) owns it: events come to it as messages once it asks for them, and its end ends the
        stream. With *resubscribe*, a stream whose server was restarted is opened again, and its
        owner told `("resubscribed", accepted)`. Options: max_buffer, overflow, timeout (seconds,
        for the acknowledgement), meta, trace_context.

        Raises:
            TypeError: An argument or an option has the wrong type.
            ValueError: An option has a wrong value.
        """
        from snodo_actors.actors.subscription import (  # noqa: PLC0415  # many programs never listen
            Listen,
            Opening,
            SubscriptionActor,
        )

        read = ListenOptions(**options)
        wanted = mapping("notifications", notifications)
        me = self_() if owner is None else owner
        opening = Opening(self._node)
        opening.actor = None
        timeout = self._options.timeout if read.timeout is INHERIT else read.timeout
        listen = Listen(
            self.who,
            me,
            self._port if self._port is not None else str(self._name),
            wanted,
            read,
            timeout,
            boolean("resubscribe", resubscribe),
            opening,
        )
        streams = self._find_subscriptions()
        if streams is None:
            opening.try_fail(connection_closed("down", delivery="never_sent").named(self.who))
        else:
            started = streams.start_child(SubscriptionActor.child_spec(listen, restart="temporary"))
            started.add_done_callback(opening.started)
        return opening.map(
            lambda opened: Subscription(self.who, opened.ref, opened.id, opened.accepted, me)
        )

    def _find_subscriptions(self) -> DynamicSupervisorRef | None:
        if self._subscriptions is not None or self._name is None:
            return self._subscriptions
        if self._when_down == "fail" and self._node.names.get(self._name) is None:
            return None
        found = self._node.names.get(subscriptions_name(self._name))
        return cast("DynamicSupervisorRef", found.ref) if found is not None else None

    # ---- the end

    def close(self) -> Future[None]:
        """Close the connection; its server process is brought to its end within seconds.

        Works from any thread and task, also when it is closed already. The future never fails. A
        connection in a supervision tree belongs to its supervisor: it stays.
        """
        node, connection = self._node, self._connection
        closed: Future[None] = Future(node)
        if connection is None or not connection.is_alive() or not node.running:
            closed.try_set(None)
            return closed

        async def close() -> None:
            try:
                await close_connection(connection)
            finally:
                closed.try_set(None)

        spawn(close, node=node)
        return closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close().get()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # ---- how a call goes out

    def _call(
        self,
        method: str,
        params: Mapping[str, Any],
        options: dict[str, Any],
        definition: Mapping[str, Any] | None = None,
    ) -> Future[Any]:
        """One request alone where it can be one, else a conversation."""
        read = RequestOptions(**options) if options else NO_OPTIONS
        if not self._options.input_handlers and not callable(read.progress):
            request = self._request(method, params, read, None)
            request.definition = definition
            return self._send(request)
        conversation = Conversation(self._node, self.who, self._send)
        return conversation.follow(self._asking(read, conversation, definition)(method, params))

    def _list(self, kind: ListKind, options: dict[str, Any]) -> Future[list[JSONObject]]:
        read, conversation = self._converse(options)
        asking = self._asking(read, conversation)
        return conversation.follow(
            flows.list_all(asking, kind, self._options.max_pages, self._thin(kind, conversation))
        )

    def _thin(self, kind: ListKind, conversation: Conversation) -> flows.Thin:
        def thin(page: Page) -> Page:
            profile = self._profile or conversation.profile
            usable = kind != "tools" or profile is None or not profile.has_head
            latest = conversation.latest
            if usable or (latest is not None and not latest.may_be_annotated):
                return page
            from snodo_actors.actors.unusable_tools import without_unusable  # noqa: PLC0415  # HTTP's

            return without_unusable(self.who, page)

        return thin

    def _converse(self, options: dict[str, Any]) -> tuple[RequestOptions, Conversation]:
        read = RequestOptions(**options) if options else NO_OPTIONS
        return read, Conversation(self._node, self.who, self._send)

    def _asking(
        self,
        options: RequestOptions,
        conversation: Conversation,
        definition: Mapping[str, Any] | None = None,
    ) -> flows.Asking:
        client = self._options

        def new_request(
            method: str, params: Mapping[str, Any], again: JSONObject | None = None
        ) -> Request:
            request = self._request(method, params, options, conversation, again)
            request.definition = definition
            conversation.latest = request
            return request

        def asking(method: str, params: Mapping[str, Any]) -> Flow:
            rounds = None
            if client.input_handlers and options.answer_input:
                most = options.max_input_rounds
                rounds = InputRounds(
                    answerable(client.input_handlers, client.capabilities),
                    client.max_input_rounds if most is INHERIT else most,
                )
            return flows.ask(new_request, method, params, client.input_handlers, rounds)

        return asking

    def _request(
        self,
        method: str,
        params: Mapping[str, Any],
        options: RequestOptions,
        conversation: Conversation | None,
        again: JSONObject | None = None,
    ) -> Request:
        if options is NO_OPTIONS:
            timeouts = self._timeouts
        else:
            timeout = self._options.timeout if options.timeout is INHERIT else options.timeout
            timeouts = _timeouts(
                timeout, options.reset_timeout_on_progress, options.max_total_timeout
            )
        request = Request(self._node, self.who, method, params, timeouts)
        if options is not NO_OPTIONS or again is not None:
            request.extra = {
                "meta": options.meta,
                "trace_context": options.trace_context,
                "input_responses": options.input_responses,
                "request_state": options.request_state,
            }
            if again is not None:
                request.extra["input_responses"] = again.get("inputResponses")
                request.extra["request_state"] = again.get("requestState")
            request.extension = options.extension
            request.on_progress = _progress(options.progress, conversation)
        request.conversation = conversation
        if self._caching is not None and again is None:
            sharing = self._shared()
            if sharing is not None and self._caching.answers(request, options, sharing):
                return request
        if telemetry.handlers:
            _tell_of(request)
        if self._profile is not None:
            refused = request.prepare(self._profile)
            if refused is not None:
                request.try_fail(refused)
        return request

    def _shared(self) -> Sharing | None:
        """With whom results are shared that are kept; None where there is no connection."""
        if self._port is not None and not self._port.is_alive():
            return None
        if self._sharing is not None or self._name is None:
            return self._sharing
        found = self._node.names.get(self._name)
        return sharing_of_port(found.ref) if found is not None else None

    def _send(self, request: Request) -> Request:
        if request.done():
            return request
        port = self._port
        if port is None:
            assert self._name is not None
            if self._when_down == "wait":
                request.otherwise = Wait(self._name)
            found = self._node.names.get(self._name)
            if found is None or not found.ref.is_alive():
                if request.otherwise is not None:
                    request.otherwise(request)
                else:
                    request.refuse(connection_closed("down", delivery="never_sent"))
                return request
            port = found.ref
        request.port = port
        node = self._node
        under_way = None if self._profile is None else self._profile.under_way
        if under_way is None or len(under_way) or node.thread_id != get_ident():
            # With others under way, one turn of the loop takes the requests of all callers.
            port.send(request)
        else:
            node.try_at_once(port.send, request)
        return request


_timeouts = lru_cache(maxsize=256, typed=True)(Timeouts)  # most calls have the same


def _progress(
    progress: Any, conversation: Conversation | None
) -> Callable[[JSONObject], object] | None:
    if progress is None:
        return None

    def call(params: JSONObject) -> None:
        if callable(progress) and conversation is not None:
            conversation.progress(progress, params)
        else:
            send(progress, ("snodo_progress", params))

    return call


def _tell_of(request: Request) -> None:
    """Tell the telemetry of a request's start, and of its end when it comes."""
    carrier: dict[str, Any] = {}
    telemetry.emit(
        "request.start",
        who=request.who,
        method=request.method,
        params=request.params,
        id=request.id,
        carrier=carrier,
    )
    trace_context = telemetry.trace_context(carrier)
    if trace_context is not None and request.extra.get("trace_context") is None:
        request.extra["trace_context"] = trace_context
    start = request.node.now()

    def tell(done: Any) -> None:
        error = done.exception()
        telemetry.emit(
            "request.stop",
            who=request.who,
            method=request.method,
            id=request.id,
            duration=request.node.now() - start,
            result=done.get() if error is None else None,
            error=error,
        )

    request.add_done_callback(tell)


def _object(name: str, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {} if value is None else mapping(name, value)
