"""The client: a handle on a connection, and everything a user calls.

Every call returns a future: `await` it in async code, `.get()` it in a thread. A handle works from any
task and thread and may be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from types import TracebackType
from typing import Any, Literal, Self

from snodo_actors.actors.connection import close_connection, connection_spec, open_connection
from snodo_actors.actors.conversation import Conversation
from snodo_actors.actors.request import Profile, Request
from snodo_actors.actors.stdio import Opening
from snodo_actors.actors.waiting import wait_for
from snodo_actors.machines.deadline import Timeouts
from snodo_actors.machines.pages import LIST_METHODS, Complete, Failed, Fetch, Pages, read_page
from snodo_actors.words.checks import mapping, text
from snodo_actors.words.client_options import ClientOptions, allowed_versions
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import connection_closed
from snodo_actors.words.request_options import NO_OPTIONS, RequestOptions
from snodo_actors.words.stdio_options import StdioOptions
from snodo_actors.words.targets import read_target
from snodo_actors.words.types import INHERIT, JSONObject, Session, Stdio
from supervisors import Backoff, ChildSpec, Future, Node, Ref, current_node, self_, spawn

WhenDown = Literal["wait", "fail"]

_STDIO_OPTIONS = frozenset(
    ("env", "cd", "max_line_bytes", "max_server_requests", "stderr", "owner")
)


class Client:
    """A handle on one connection."""

    __slots__ = ("_connection", "_name", "_node", "_options", "_port", "_profile", "_when_down", "who")

    def __init__(
        self,
        node: Node,
        who: str,
        options: ClientOptions,
        *,
        connection: Ref | None = None,
        port: Ref | None = None,
        profile: Profile | None = None,
        name: str | None = None,
        when_down: WhenDown = "wait",
    ) -> None:
        self._node = node
        self.who = who
        self._options = options
        self._connection = connection
        self._port = port
        self._profile = profile
        self._name = name
        self._when_down: WhenDown = when_down

    def __repr__(self) -> str:
        version = self._profile.version if self._profile is not None else "version unsettled"
        return f"<Client of {self.who}, {version}>"

    @property
    def protocol(self) -> str | None:
        """The protocol version of the connection; None while a named one has not been reached."""
        return self._profile.version if self._profile is not None else None

    @property
    def session(self) -> Session | None:
        """What `initialize` settled; None on 2026-07-28."""
        return self._profile.session if self._profile is not None else None

    # ---- calls

    def call_tool(
        self,
        tool: str | Mapping[str, Any],
        arguments: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Future[Any]:
        """Run a tool, given by name or by its definition from `list_tools()`.

        The future has the result as the server sent it; one with `"isError": true` is a result,
        too. It fails with an `Error`.

        Raises:
            TypeError: An argument or an option has the wrong type.
            ValueError: An option has a wrong value.
        """
        name = tool if isinstance(tool, str) else tool.get("name")
        params = {"name": text("tool", name), "arguments": _object("arguments", arguments)}
        return self._request("tools/call", params, _read_options(options))

    def list_tools(self, **options: Any) -> Future[list[JSONObject]]:
        """List every tool, following the pages to the last.

        The future fails with an `Error`, also when the pages do not end within `max_pages`.
        """
        return self._list("tools", _read_options(options))

    def close(self) -> Future[None]:
        """Close the connection; its server process is brought to its end within seconds.

        Works from any thread and task, also when it is closed already. The future never fails. A
        connection in a supervision tree belongs to its supervisor: it stays.
        """
        closed: Future[None] = Future(self._node)
        connection = self._connection
        if connection is None or not connection.is_alive() or not self._node.running:
            closed.try_set(None)
            return closed
        node = self._node

        async def close() -> None:
            try:
                await close_connection(node, connection)
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

    # ---- how a request goes out

    def _request(
        self, method: str, params: Mapping[str, Any], options: RequestOptions
    ) -> Future[Any]:
        return self._send(self._new_request(method, params, options))

    def _new_request(
        self, method: str, params: Mapping[str, Any], options: RequestOptions
    ) -> Request:
        timeout = self._options.timeout if options.timeout is INHERIT else options.timeout
        request = Request(
            self._node,
            self.who,
            method,
            params,
            Timeouts(inf if timeout is None else timeout),  # type: ignore[arg-type]  # INHERIT is gone
        )
        if self._profile is not None:
            refused = request.prepare(self._profile)
            if refused is not None:
                request.try_fail(refused)
        return request

    def _send(self, request: Request) -> Request:
        if request.done():
            return request
        port = self._port
        if port is None:
            assert self._name is not None
            found = self._node.names.get(self._name)
            port = found.ref if found is not None else None
            if port is None or not port.is_alive():
                if self._when_down == "wait":
                    wait_for(self._name, request)
                else:
                    request.refuse(connection_closed("down", delivery="never_sent"))
                return request
        port.send(request)
        return request

    def _list(self, kind: Any, options: RequestOptions) -> Future[list[JSONObject]]:
        pages = Pages(kind, self._options.max_pages)

        def flow() -> Any:
            deed: Fetch | Complete | Failed = pages.start()
            while isinstance(deed, Fetch):
                outcome = yield self._new_request(LIST_METHODS[kind][0], deed.params, options)
                deed = pages.fetched(read_page(kind, outcome))
            if isinstance(deed, Failed):
                raise deed.error.named(self.who)
            assert isinstance(deed, Complete)
            return deed.items

        return Conversation(self._node, flow(), self._send)


def connect(target: Any, **options: Any) -> Future[Client]:
    """Connect to a server in another process.

    `connect(("stdio", command, [arguments]))` runs *command* and speaks over its stdin and stdout.
    The future has the `Client` once the protocol version is settled; it fails with an `Error`. The
    connection closes when the calling process (actor, task or thread) ends.

    Options for every target: protocol, client_capabilities, client_info, timeout and probe_timeout
    (seconds), max_pages. For stdio: env, cd, max_line_bytes, max_server_requests, owner (another
    process, or the node itself).

    Raises:
        TypeError: The target or an option has the wrong type.
        ValueError: An option has a wrong value.
    """
    node = current_node()
    opening = _read_opening(str, target, options)
    client: Future[Client] = Opened(node)
    if isinstance(opening, Error):
        client.try_fail(opening)
        return client

    async def open() -> None:
        try:
            connection, port, profile = await open_connection(node, opening)
        except Exception as error:  # noqa: BLE001  # the edge of the process: whoever waits is told
            client.try_fail(error)
            return
        handle = Client(
            node, opening.who, opening.client, connection=connection, port=port, profile=profile
        )
        if not client.try_set(handle):
            await close_connection(node, connection)

    spawn(open, node=node)
    return client


class Opened(Future[Client]):
    """The client that will be there; a connection nobody waits for any more is closed."""

    __slots__ = ()

    def _withdrawn(self) -> None:
        if self._state == 1:
            self._value.close()
        else:
            self.try_fail(connection_closed("closed"))


def child_spec(
    name: str,
    target: Any,
    *,
    restart: Literal["permanent", "transient", "temporary"] = "permanent",
    restart_delay: Backoff | None = Backoff(initial=0.1, maximum=30.0),  # noqa: B008  # a frozen value
    **options: Any,
) -> ChildSpec:
    """The spec that puts a connection into a supervision tree, under *name*.

    `client(name)` gives a handle that survives restarts. The server is started again, after
    *restart_delay*, for as long as it takes; it never takes its supervisor down. The options are
    those of `connect`.

    Raises:
        TypeError: The target or an option has the wrong type.
        ValueError: An option has a wrong value.
        Error: The `protocol` option names a version this client does not speak.
    """
    opening = _read_opening(lambda _target: text("name", name), target, options, owned=False)
    if isinstance(opening, Error):
        raise opening
    return connection_spec(name, opening, restart=restart, restart_delay=restart_delay)


def client(name: str, *, when_down: WhenDown = "wait", **options: Any) -> Client:
    """A handle on the connection that is, or will be, called *name*; it survives restarts.

    While the connection is down, a call waits for it within its own time, or with
    `when_down="fail"` fails at once.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An option has a wrong value.
    """
    if when_down not in ("wait", "fail"):
        raise ValueError(f'when_down is "wait" or "fail", not {when_down!r}')
    return Client(
        current_node(),
        text("name", name),
        ClientOptions(**options),
        name=name,
        when_down=when_down,
    )


def _read_opening(
    who: Callable[[Any], str], target: Any, options: dict[str, Any], *, owned: bool = True
) -> Opening | Error:
    read = read_target(target)
    if not isinstance(read, Stdio):
        raise TypeError(f"only stdio targets can be connected to, not {read}")
    allowed = allowed_versions(options.pop("protocol")) if "protocol" in options else allowed_versions()
    if isinstance(allowed, Error):
        return allowed
    stdio = {name: options.pop(name) for name in tuple(options) if name in _STDIO_OPTIONS}
    client = ClientOptions(**options)
    checked = StdioOptions(**stdio)
    owner: Ref | None = None
    if checked.owner is None:
        owner = self_() if owned else None
    elif isinstance(checked.owner, Ref):
        owner = checked.owner
    elif not isinstance(checked.owner, Node):
        raise TypeError(
            f"owner must be the ref of a process or a node, not {checked.owner!r}: "
            "write owner=current_node()"
        )
    return Opening(who(read), read, allowed, client, checked, owner)


def _read_options(options: dict[str, Any]) -> RequestOptions:
    return RequestOptions(**options) if options else NO_OPTIONS


def _object(name: str, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {} if value is None else mapping(name, value)
